"""Every attempt sends the same bytes, pauses grow and end, and nothing is lost on the way."""

import gzip
import random
import shutil
import subprocess

import pytest

from campaign_server import campaign_server
from hallways import manifest
from sottovoce.device import Client, RetryPolicy, TryLater
from sottovoce.protocol import Problem


@pytest.fixture
def joined(server, participant):
    participant.join(server.invite())
    return participant


@pytest.mark.parametrize("trouble", ["lost", "cut", 500, 503, 507, 429, 408])
def test_a_retry_sends_the_same_bytes(server, joined, trouble):
    server.trouble("/reports", trouble, times=3)
    assert joined.submit({"hall-1": "12", "hall-2": "13"}) == ["delivered"]
    assert len(joined.pauses) == 3
    assert len(server.bodies) == (1 if trouble == "cut" else 4)
    assert len(set(server.bodies)) == 1
    assert len(server.reports) == 1
    assert [release.state for release in joined.file.releases()] == ["delivered"]
    assert joined.flush() == []


def test_pauses_double_at_random_and_the_time_is_bounded():
    attempts, pauses, time = [], [], [0.0]

    def fail():
        attempts.append(time[0])
        raise TryLater("unavailable")

    def sleep(seconds):
        pauses.append(seconds)
        time[0] += seconds

    retries = RetryPolicy(60, first=0.5, longest=8, sleep=sleep, clock=lambda: time[0], random=random.Random(1).random)
    with pytest.raises(TryLater):
        retries.run(fail, retries.deadline())
    assert time[0] <= 60
    for pause, whole in zip(pauses, [0.5, 1, 2, 4, *[8] * 20], strict=False):
        assert whole / 2 <= pause <= whole
    assert len(set(pauses)) == len(pauses) > 8


def test_a_server_that_asks_for_a_pause_gets_it_up_to_a_limit(server, joined):
    server.trouble("/reports", (503, {"Retry-After": "3"}))
    assert joined.submit({"hall-1": "12"}) == ["delivered"]
    assert joined.pauses == [3]
    date = {"Retry-After": "Wed, 21 Oct 2015 07:28:02 GMT", "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    server.trouble("/reports", (429, date))
    assert joined.submit({"hall-2": "12"}) == ["delivered"]
    assert len(joined.pauses) == 2
    for absurd in ("999999999", "9" * 500, "Fri, 31 Dec 9999 23:59:59 GMT"):
        server.trouble("/reports", (503, {"Retry-After": absurd, "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}))
        before = len(joined.pauses)
        if absurd == "999999999":
            joined.release({"hall-3": "1"})
        assert [sent.state for sent in joined.flush()] == ["queued"]
        assert len(joined.pauses) == before
    assert [sent.state for sent in joined.flush()] == ["delivered"]


def test_what_is_made_offline_waits_and_is_sent_later(participant):
    with campaign_server(manifest()) as server:
        participant.join(server.invite())
        port = int(server.url.rpartition(":")[2])
        invitations, enrolments = server.invitations, server.enrolments
    made = [participant.release({f"hall-{n}": str(n)}) for n in (1, 2)]
    waiting = participant.flush()
    assert [sent.state for sent in waiting] == ["queued", "queued"]
    assert waiting[0].problem.code == "unreachable"
    with campaign_server(manifest(), port=port) as server:
        server.invitations, server.enrolments = invitations, enrolments
        assert [sent.state for sent in participant.flush()] == ["delivered", "delivered"]
        assert server.bodies == [release.body for release in made]


REFUSALS = ["report_conflict", "task_already_reported", "stale_manifest", "campaign_not_open", "deadline_passed",
            "quota_reached", "withdrawn", "unauthorised", "bad_report", "too_large"]  # fmt: skip


@pytest.mark.parametrize("code", REFUSALS)
def test_a_refusal_is_final_and_its_code_is_kept(server, joined, code):
    problem = Problem(code, "the value: the rule")
    server.trouble("/reports", (problem.status, {"content": problem.to_json()}))
    joined.release({"hall-1": "12"})
    (sent,) = joined.flush()
    assert (sent.state, sent.problem.code) == ("refused", code)
    (kept,) = joined.file.releases()
    assert (kept.state, kept.problem, kept.detail) == ("refused", code, "the value: the rule")
    assert joined.flush() == []
    assert len(server.bodies) == 1
    with pytest.raises(Problem, match="released on"):
        joined.release({"hall-1": "12"})


def test_the_advice_shown_is_the_one_that_the_server_gives_for_this_case(server, joined):
    problem = Problem("unauthorised", "the token: nobody has it", fix="join again with a new invitation")
    server.trouble("/reports", (401, {"content": problem.to_json()}))
    joined.release({"hall-1": "12"})
    (sent,) = joined.flush()
    assert str(sent.problem) == "the token: nobody has it; join again with a new invitation"


@pytest.mark.parametrize(("status", "content"), [(302, b""), (404, b"<html>no such page"), (403, b'{"code": 7}')])
def test_a_response_from_elsewhere_cannot_make_a_report_fail_for_good(server, joined, status, content):
    """The sign-in page of a wireless network, for example: not an answer of the protocol, so the report waits."""
    server.trouble("/reports", (status, {"content": content, "Location": "/"}))
    joined.release({"hall-1": "12"})
    (sent,) = joined.flush()
    assert (sent.state, sent.problem.code) == ("queued", "bad_answer")
    assert [sent.state for sent in joined.flush()] == ["delivered"]


def test_one_refused_report_does_not_hold_up_the_next(server, joined):
    problem = Problem("quota_reached")
    server.trouble("/reports", (409, {"content": problem.to_json()}))
    joined.release({"hall-1": "12"})
    joined.release({"hall-2": "12"})
    assert [sent.state for sent in joined.flush()] == ["refused", "delivered"]


def test_the_server_refuses_a_report_for_another_manifest(server, joined):
    server.manifests["hallways"] = manifest(version=2)
    joined.release({"hall-1": "12"})
    (sent,) = joined.flush()
    assert (sent.state, sent.problem.code) == ("refused", "stale_manifest")


def test_a_withdrawal_stops_everything_and_stays_in_the_ledger(server, joined):
    assert joined.submit({"hall-1": "12"}) == ["delivered"]
    joined.release({"hall-2": "13"})
    assert joined.withdraw()
    assert len(server.withdrawn) == 1
    assert joined.flush() == []
    assert len(server.bodies) == 1
    assert [release.state for release in joined.file.releases()] == ["withdrawn", "withdrawn"]
    with pytest.raises(Problem, match="you withdrew"):
        joined.release({"hall-3": "13"})
    with pytest.raises(Problem, match="you withdrew"):
        joined.join(server.invite())


def test_an_unanswered_withdrawal_is_sent_again_later(server, joined):
    server.trouble("/participation", 503, times=20, method="DELETE")
    joined.release({"hall-1": "12"})
    assert not joined.withdraw()
    server.troubles.clear()
    assert joined.flush() == []
    assert len(server.withdrawn) == 1
    assert server.bodies == []
    joined.flush()
    assert len(server.withdrawn) == 1


@pytest.mark.parametrize(("code", "confirmed"), [("unauthorised", 0), ("withdrawn", 1)])
def test_a_refused_withdrawal_is_shown_and_does_not_count_as_confirmed(server, joined, code, confirmed):
    problem = Problem(code, "the value: the rule")
    server.trouble("/participation", (problem.status, {"content": problem.to_json()}), method="DELETE")
    if confirmed:
        assert joined.withdraw()
    else:
        with pytest.raises(Problem, match="the value: the rule"):
            joined.withdraw()
    (membership,) = joined.file.memberships()
    assert membership.withdrawal_confirmed == confirmed


@pytest.mark.skipif(not shutil.which("openssl"), reason="making a certificate takes openssl")
def test_certificates_are_verified(tmp_path, participant):
    """A server with a self-signed certificate is accepted only by devices that are configured to trust it."""
    pem = tmp_path / "server.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         *subject, "-keyout", pem, "-out", tmp_path / "ca.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    pem.write_text(pem.read_text() + (tmp_path / "ca.pem").read_text())
    with campaign_server(manifest(), certificate=pem) as server:
        link = server.invite()
        with pytest.raises(TryLater, match="CERTIFICATE_VERIFY_FAILED"):
            participant.join(link)
        assert server.requests == []
        with Client(server.url, ca=tmp_path / "ca.pem") as client:
            assert client.look_up(link.token) == "hallways"


def test_an_invalid_certificate_authority_is_reported(tmp_path):
    (tmp_path / "ca.pem").write_text("nonsense")
    with pytest.raises(OSError, match="PEM"):
        Client("https://127.0.0.1", ca=tmp_path / "ca.pem")


def test_an_endless_answer_is_cut_off(server, participant):
    server.trouble("/look-up", (200, {"content": b" " * (9 << 20)}))
    with pytest.raises(Problem, match="too large"):
        participant.join(server.invite())


def test_a_compressed_answer_is_not_expanded(server, participant):
    """A few kilobytes of gzip can unpack to more than the memory of a phone."""
    bomb = gzip.compress(b" " * (64 << 20))
    server.trouble("/look-up", (200, {"content": bomb, "Content-Encoding": "gzip"}))
    with pytest.raises(Problem, match="compressed"):
        participant.join(server.invite())


def test_a_long_refusal_is_cut_off(server, participant):
    server.trouble("/look-up", (404, {"content": b"[" + b"[]," * 40_000 + b"[]]"}))
    with pytest.raises(Problem, match="too large"):
        participant.join(server.invite())


def test_a_retry_date_beyond_all_calendars_is_ignored(server, joined):
    never = {"Retry-After": "Thu, 01 Jan 99999999999999999999 00:00:00 GMT"}
    server.trouble("/reports", (503, never))
    assert joined.submit({"hall-1": "24"}) == ["delivered"]
