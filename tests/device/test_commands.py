"""The participant's commands, run as a participant runs them."""

import json
import os

import pytest

from campaign_server import campaign_server
from command import run
from hallways import manifest
from sottovoce.protocol import Problem


@pytest.fixture
def ask(tmp_path):
    """Run a command with its own file, on a wide screen; returns the words it prints, without line breaks."""
    environment = {**os.environ, "SOTTOVOCE_PARTICIPANT_FILE": str(tmp_path / "p.db"), "COLUMNS": "250"}

    def asked(command, *arguments, **options):
        waiting = () if command == "limits" else ("--wait", "1")
        ran = run(command, *arguments, *waiting, env=environment, **options)
        ran.words = " ".join((ran.stdout + ran.stderr).split())
        return ran

    return asked


@pytest.mark.slow
def test_from_the_link_to_the_ledger(server, tmp_path, ask):
    joined = ask("join", server.invite(), "--yes")
    assert joined.returncode == 0, joined.stderr
    for words_shown in ("How long are the hallways?", "Facility management", "2.72 times as likely", manifest().sha256):
        assert words_shown in joined.words
    readings = tmp_path / "readings.csv"
    readings.write_text("task,value\nhall-1,12.3\nhall-2,45.6\n")
    sent = ask("submit", readings, "--json")
    assert json.loads(sent.stdout)["state"] == "delivered"
    (body,) = server.bodies
    again = ask("submit", "--reading", "hall-1=99")
    assert again.returncode == 2
    assert "'hall-1'" in again.words
    assert "second noisy copy" in again.words
    shown = ask("ledger")
    for words_shown in ("hall-1, hall-2", "delivered", "left: ε 9", "basic composition"):
        assert words_shown in shown.words
    ledger = json.loads(ask("ledger", "--json").stdout)
    assert ledger["spent"] == {"epsilon": 1.0, "delta": 0.0}
    (campaign,) = ledger["campaigns"]
    assert campaign["promise"] == {"epsilon": 1.0, "delta": 0.0, "distance": "1", "unit": "reading"}
    assert campaign["releases"][0]["tasks"] == ["hall-1", "hall-2"]
    withdrawn = ask("withdraw", "--yes", "--json")
    assert json.loads(withdrawn.stdout) == {"campaign": "hallways", "confirmed": True}
    assert "withdrawn" in ask("ledger").words
    assert server.bodies == [body]


def test_a_mistyped_reading_and_a_mistyped_task_are_shown(server, ask):
    ask("join", server.invite(), "--yes")
    unknown = ask("submit", "--reading", "hal-1=12")
    assert unknown.returncode == 2
    assert "task 'hal-1': campaign 'hallways' has no such task; there are 'hall-1'" in unknown.words
    sent = ask("submit", "--reading", "hall-1=1000", "--reading", "hall-2=100")
    assert "For readings outside the task's range, the nearest end of the range was used: hall-1." in sent.words
    assert json.loads(ask("submit", "--reading", "hall-3=-0.01", "--json").stdout)["clipped"] == ["hall-3"]


@pytest.mark.slow
def test_a_queue_is_sent_by_the_ledger_and_by_the_next_attempt(server, ask):
    ask("join", server.invite(), "--yes")
    server.trouble("/reports", 503, times=50)
    waiting = ask("submit", "--reading", "hall-1=12", "--reading", "hall-2=3")
    assert waiting.returncode == 0
    assert "waiting" in waiting.words
    assert "ledger --send" in waiting.words
    server.troubles.clear()
    assert "delivered" in ask("ledger", "--send").words
    server.trouble("/reports", 503, times=50)
    ask("submit", "--reading", "hall-3=12")
    server.troubles.clear()
    again = ask("submit", "--reading", "hall-3=12")
    assert again.returncode == 2  # a second release is refused, but the first one is sent
    assert "delivered" in again.words
    assert len(server.reports) == len(set(server.bodies)) == 2


@pytest.mark.slow
def test_declining_joins_nothing(server, ask):
    assert ask("join", server.invite(), input="n\n").returncode == 2
    assert json.loads(ask("ledger", "--json").stdout)["campaigns"] == []
    assert not server.enrolments


@pytest.mark.slow
def test_refusals_say_what_to_do(server, ask):
    server.offer = manifest(noise="fresh:5").bytes()
    other = ask("join", server.invite(), "--yes")
    assert other.returncode == 2
    assert "tell whoever gave you the link" in other.words
    server.offer = None
    without = ask("join", server.invite(with_hash=False), "--yes")
    assert without.returncode == 2
    assert "--trust-server" in without.words
    trusting = ask("join", server.invite(with_hash=False), "--yes", "--trust-server")
    assert trusting.returncode == 0
    assert "Warning" in trusting.words
    problem = Problem("campaign_not_open", "campaign 'hallways': it is closed")
    server.trouble("/reports", (409, {"content": problem.to_json()}))
    refused = ask("submit", "--reading", "hall-1=12")
    assert refused.returncode == 2
    assert "it is closed" in refused.words
    assert "refused: campaign_not_open" in ask("ledger").words


@pytest.mark.slow
def test_limits_are_set_and_kept(ask):
    assert json.loads(ask("limits", "--json").stdout)["epsilon"] == 3.0
    assert ask("limits", "--epsilon", "0.5", "--total-epsilon", "2").returncode == 0
    assert json.loads(ask("limits", "--json").stdout)["epsilon"] == 0.5
    assert ask("limits", "--epsilon", "-1").returncode == 2
    with campaign_server(manifest()) as server:
        refused = ask("join", server.invite(), "--yes")
    assert refused.returncode == 2
    assert "your limit is 0.5" in refused.words


@pytest.mark.slow
def test_the_campaign_is_named_where_there_are_several(ask):
    assert "you have not joined one yet" in ask("submit", "--reading", "hall-1=1").words
    with campaign_server(manifest(), manifest(campaign="stairs")) as server:
        for campaign in ("hallways", "stairs"):
            ask("join", server.invite(campaign), "--yes", "--json")
        unclear = ask("submit", "--reading", "hall-1=1")
        assert unclear.returncode == 2
        assert "hallways, stairs" in unclear.words
        assert ask("submit", "--reading", "hall-1=1", "--campaign", "stairs").returncode == 0
        assert ask("submit", "--reading", "hall-1", "--campaign", "stairs").returncode == 2


@pytest.mark.slow
def test_withdrawing_before_anything_was_sent_and_from_everything(ask):
    with campaign_server(manifest(), manifest(campaign="stairs")) as server:
        for campaign in ("hallways", "stairs"):
            ask("join", server.invite(campaign), "--yes", "--json")
        assert ask("submit", "--reading", "hall-1=12", "--campaign", "stairs").returncode == 0
        assert "You had sent no readings" in ask("withdraw", "hallways", "--yes").words
        assert "has confirmed that it erased your readings" in ask("withdraw", "stairs", "--yes").words
    nothing = ask("submit", "--reading", "hall-1=1")
    assert nothing.returncode == 2
    assert "you have withdrawn from all that you joined" in nothing.words
