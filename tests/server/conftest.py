"""The server's fixtures, for tests of the server itself."""

from server_under_test import (  # noqa: F401
    clock,
    postgres,
    running_server,
    server,
    server_database,
    start_local,
    talk,
)
