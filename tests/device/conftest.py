"""A participant and a server."""

import pytest

from campaign_server import campaign_server
from hallways import manifest
from participant import Participant


@pytest.fixture
def server():
    with campaign_server(manifest()) as running:
        yield running


@pytest.fixture
def participant(tmp_path):
    made = Participant(tmp_path / "participant.db")
    yield made
    made.file.close()
