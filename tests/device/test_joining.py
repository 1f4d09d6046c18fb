"""Joining: the link identifies the campaign, the participant agrees to it, and a lost answer locks nobody out."""

import pytest

from hallways import manifest
from sottovoce.device import Client, Limits, TryLater
from sottovoce.protocol import InvitationLink, Problem


def refusal(call, *arguments, **options):
    with pytest.raises(Problem) as caught:
        call(*arguments, **options)
    return caught.value


def enrolments(server):
    return [request for request in server.requests if request.endswith("/enrolments")]


def test_consent_is_recorded_with_its_manifest(server, participant):
    asked = []
    joined = participant.join(server.invite(), agree=lambda *seen: asked.append(seen) or True)
    assert joined.participant_token
    assert joined.enrolment_key is None  # a secret that has served its purpose
    (seen,) = asked
    assert seen[0].sha256 == manifest().sha256
    assert seen[1].epsilon == 1.0
    (consent,) = participant.file.consents("hallways")
    assert consent["manifest_sha256"] == manifest().sha256
    assert consent["given_at"].endswith("+00:00")
    assert not consent["server_trusted"]


def test_without_consent_nothing_is_joined(server, participant):
    assert refusal(participant.join, server.invite(), agree=lambda *_: False).code == "no_consent"
    assert participant.file.memberships() == []
    assert not enrolments(server)


def test_a_server_that_offers_each_participant_other_terms_is_detected(server, participant):
    link = server.invite()
    server.offer = manifest(noise="fresh:0.6").bytes()
    assert refusal(participant.join, link).code == "manifest_mismatch"
    server.offer = manifest().bytes() + b" "  # not even another spelling
    assert refusal(participant.join, link).code == "manifest_mismatch"
    assert not enrolments(server)


def test_a_link_without_a_hash_needs_a_participant_who_trusts_the_server(server, participant):
    link = server.invite(with_hash=False)
    assert refusal(participant.join, link).code == "link_without_hash"
    assert not server.requests
    participant.join(link, trust_server=True)
    assert participant.file.consents("hallways")[0]["server_trusted"]


def test_trusting_the_server_does_not_weaken_a_link_with_a_hash(server, participant):
    server.offer = manifest(noise="fresh:0.6").bytes()
    assert refusal(participant.join, server.invite(), trust_server=True).code == "manifest_mismatch"


def test_a_campaign_weaker_than_the_limits_is_never_joined(server, participant):
    participant.file.set_limits(Limits(epsilon=0.5))
    assert refusal(participant.join, server.invite()).code == "weaker_than_limits"
    participant.file.set_limits(Limits(epsilon=2, total_epsilon=0.9))
    assert refusal(participant.join, server.invite()).code == "budget_spent"
    assert not enrolments(server)


@pytest.mark.parametrize("trouble", ["lost", "cut", 503])
def test_a_lost_answer_locks_nobody_out(server, participant, trouble):
    link = server.invite()
    server.trouble("/enrolments", trouble)
    with pytest.raises(TryLater):
        participant.join(link)
    pending = participant.file.membership("hallways")
    assert pending.participant_token is None
    assert pending.enrolment_key
    joined = participant.join(link, agree=None)  # they agreed already, and are not asked again
    assert joined.participant_token
    assert len(server.enrolments) == 1
    assert len(participant.file.consents("hallways")) == 1


def test_an_unfinished_enrolment_is_completed_before_the_first_report(server, participant):
    server.trouble("/enrolments", "lost")
    with pytest.raises(TryLater):
        participant.join(server.invite())
    assert participant.submit({"hall-1": "12"}) == ["delivered"]


def test_joining_twice_spends_one_invitation(server, participant):
    link = server.invite()
    first = participant.join(link)
    assert participant.join(link, agree=None) == participant.join(server.invite(), agree=None) == first
    assert len(server.enrolments) == 1


def test_nobody_who_has_withdrawn_joins_again(server, participant):
    link = server.invite()
    participant.join(link)
    participant.withdraw()
    for again in (link, server.invite()):
        problem = refusal(participant.join, again)
        assert problem.code == "withdrawn"
        assert "you withdrew on" in problem.detail


def test_a_withdrawal_before_enrolment_stays_one(server, participant):
    link = server.invite()
    server.trouble("/enrolments", "lost")
    with pytest.raises(TryLater):
        participant.join(link)
    participant.withdraw()
    spent = len(server.enrolments)
    assert refusal(participant.join, link).code == "withdrawn"
    assert len(server.enrolments) == spent


def test_a_spent_invitation_can_be_replaced_by_another(server, participant):
    link = server.invite()
    server.enrolments[link.token] = ("somebody else's key", "x" * 43)
    assert refusal(participant.join, link).code == "invitation_spent"
    assert participant.join(server.invite()).participant_token


def test_other_terms_may_be_joined_until_something_was_released(server, participant):
    participant.join(server.invite())
    server.manifests["hallways"] = manifest(version=2, distance=2)
    assert participant.join(server.invite()).manifest.version == 2
    assert len(participant.file.consents("hallways")) == 2
    participant.release({"hall-1": "12"})
    server.manifests["hallways"] = manifest(version=3)
    problem = refusal(participant.join, server.invite())
    assert problem.code == "manifest_changed"
    assert participant.file.membership("hallways").manifest.version == 2


def test_a_manifest_of_another_campaign_is_refused(server, participant):
    server.offer = manifest(campaign="other").bytes()
    link = InvitationLink(server.url, server.invite().token, manifest(campaign="other").sha256)
    assert refusal(participant.join, link).code == "bad_answer"


@pytest.mark.parametrize(
    ("status", "content"),
    [(200, b""), (200, b"[]"), (200, b'{"campaign_id": 1}'), (200, b'{"campaign_id": "../../x"}'), (200, b"1.5"),
     (302, b""), (404, b"<html>"), (418, b'{"code": "teapot"}'), (400, b"[" * 100_000)],
)  # fmt: skip
def test_answers_that_make_no_sense_are_reported_as_such(server, participant, status, content):
    server.trouble("/look-up", (status, {"content": content, "Location": "http://127.0.0.1:1/"}))
    assert refusal(participant.join, server.invite()).code == "bad_answer"
    assert len(server.requests) == 1  # a redirect is not followed


def test_the_servers_words_cannot_take_over_the_terminal(server, participant):
    body = b'{"code": "invitation_revoked", "detail": "\\u001b[2Jhello\\u0007"}'
    server.trouble("/look-up", (410, {"content": body}))
    problem = refusal(participant.join, server.invite())
    assert problem.code == "invitation_revoked"
    assert "\x1b" not in str(problem)
    assert "hello" in str(problem)


def test_an_address_without_encryption_is_refused_unless_it_is_this_machine():
    assert refusal(Client, "http://sense.example").code == "insecure_address"
    Client("http://sense.example", insecure_http=True)
    Client("http://localhost:8000")
    Client("https://sense.example")
