"""A full disk, imitated by a limit on the size of files: a clear message, nothing half stored, and recovery."""

import resource
import sqlite3

import pytest

LARGE = 400  # readings per report: a few kilobytes each in the database


def limit_files(pid, size):
    """Make any write that enlarges a file fail, as on a full disk; the hard limit stays, so this can be undone."""
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("again", ["lifted", "restarted"])
def test_a_full_disk_is_reported_and_nothing_is_half_stored(running_server, tmp_path, again):
    server = running_server()
    campaign = server.opened(halls=LARGE, readings=LARGE)
    tokens = server.participants(campaign, 12)
    bodies = [server.body(campaign, [place] * LARGE) for place in range(12)]
    stored = [0]
    assert server.report(campaign, tokens[0], bodies[0]).status_code == 201
    largest = max(path.stat().st_size for path in tmp_path.glob("campaigns.db*"))
    limit_files(server.process.pid, largest + 4096)
    refused = []
    for place in range(1, 12):
        answer = server.report(campaign, tokens[place], bodies[place])
        if answer.status_code == 201:  # a little room may be left, or be freed by a clean-up
            stored.append(place)
            continue
        refused.append(place)
        assert (answer.status_code, answer.json()["code"]) == (507, "storage_full"), answer.text
        assert answer.headers["retry-after"]
    assert len(refused) >= 5
    assert server.client.get("/healthz").status_code == 200
    assert rows(tmp_path) == (len(stored), LARGE * len(stored))  # reading still works
    if again == "lifted":
        limit_files(server.process.pid, resource.RLIM_INFINITY)
    else:
        server.stop()
        server = running_server()
    for place in range(12):
        expected = 200 if place in stored else 201
        assert server.report(campaign, tokens[place], bodies[place]).status_code == expected
    assert rows(tmp_path) == (12, LARGE * 12)
    server.stop()
    with sqlite3.connect(tmp_path / "campaigns.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def rows(folder):
    connection = sqlite3.connect(folder / "campaigns.db")
    counts = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("reports", "readings")]
    connection.close()
    return tuple(counts)
