"""Three servers on one PostgreSQL, as processes: killed under load, started together, closed from any of them."""

import signal
import time

import psycopg
import pytest

from sottovoce.server.storage.engine import RESULTS_LOCK
from storm import Storm

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("server_database", ["postgresql"], indirect=True)]
PATIENCE = 120  # seconds; what a loaded machine may need


@pytest.fixture
def storm(server_database):
    storm = Storm(server_database)
    yield storm
    storm.end()


def test_servers_are_killed_while_reports_come_to_all_of_them(storm):
    with psycopg.connect(storm.database) as connection:  # though all of them started on an empty database
        assert connection.execute("SELECT count(*) FROM operators").fetchone() == (1,)
    storm.round(kills=1)
    campaign = storm.round(kills=0)
    assert not [status for status in storm.statuses if status >= 500], storm.statuses
    # The results, computed by one of them, are the same everywhere, even after that one is killed.
    wait_for_results(storm.servers, campaign)
    mark = f'"message": "running jobs", "lock": {RESULTS_LOCK}'
    at_work = [server for server in storm.servers if mark in server.log][: len(storm.servers) - 1]
    assert at_work
    for server in at_work:
        server.stop(signal.SIGKILL)
    others = [server for server in storm.servers if server not in at_work]
    another = others[0].opened()
    others[0].crowd(another, 6)
    wait_for_results(others, another)


def wait_for_results(servers, campaign):
    """Wait until all servers show the same version, later than the first, which is empty."""
    end = time.monotonic() + PATIENCE
    while len(versions := {server.results(campaign)["version"] for server in servers}) > 1 or versions == {1}:
        assert time.monotonic() < end
        time.sleep(0.1)
