"""The server's fixtures, for tests of the server itself."""

import pytest

from console_client import Console
from server_under_test import (  # noqa: F401
    clock,
    postgres,
    running_server,
    server,
    server_database,
    start_local,
    talk,
)


@pytest.fixture
def console(server):  # noqa: F811
    """The operator at the console."""
    return Console(server)
