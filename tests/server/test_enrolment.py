"""Joining: once per invitation, repeatable by whoever holds the key."""

from sottovoce.protocol.tokens import participant_token

KEY = "a-key-of-some-device-0123456789"


def test_the_same_key_gets_the_same_answer(server):
    campaign = server.opened()
    invitation = server.invite(campaign)[0]["token"]
    answers = [server.enrol(invitation, KEY) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {201}
    assert all(answer.json() == answers[0].json() for answer in answers)
    assert answers[0].json() == {
        "campaign_id": campaign,
        "participant_token": participant_token(invitation, KEY),
    }
    assert server.rows("participants") == 1


def test_a_spent_invitation_lets_nobody_else_in(server):
    invitation = server.invite(server.opened())[0]["token"]
    server.enrol(invitation, KEY)
    for key in (None, KEY + "x"):
        answer = server.enrol(invitation, key)
        assert (answer.status_code, answer.json()["code"]) == (409, "invitation_spent")
    assert server.rows("participants") == 1


def test_without_a_key_an_invitation_serves_once(server):
    invitation = server.invite(server.opened())[0]["token"]
    assert server.enrol(invitation).status_code == 201
    assert server.enrol(invitation).json()["code"] == "invitation_spent"


def test_a_key_that_could_be_guessed_is_refused(server):
    invitation = server.invite(server.opened())[0]["token"]
    for key in ("short", "x" * 21, "with spaces in a long key", "x" * 129, ""):
        answer = server.client.post("/api/enrolments", json={"invitation": invitation, "enrolment_key": key})
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_request")
    assert server.enrol(invitation, KEY).status_code == 201


def test_looking_up_spends_nothing(server):
    campaign = server.opened()
    invitation = server.invite(campaign)[0]["token"]
    for _ in range(2):
        found = server.client.post("/api/invitations/look-up", json={"invitation": invitation})
        known = {"campaign_id": campaign, "manifest_sha256": server.manifest_hash(campaign)}
        assert found.json() == known | {"state": "open"}
    server.enrol(invitation)
    server.participants(campaign, 4)  # who joins is shown for five at once
    server.tick()
    spent = server.client.post("/api/invitations/look-up", json={"invitation": invitation})
    assert spent.json()["code"] == "invitation_spent"
    unknown = server.client.post("/api/invitations/look-up", json={"invitation": "x" * 43})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "invitation_unknown")


def test_whether_a_campaign_is_open_is_public(server, clock):
    campaign = server.opened(deadline="2030-03-18T00:00:00Z")  # some hours after the clock's time
    invitations = [entry["token"] for entry in server.invite(campaign, 6)]

    def states():
        asked = [server.client.post("/api/invitations/look-up", json={"invitation": one}) for one in invitations]
        return {
            server.client.get(f"/api/campaigns/{campaign}/state").json()["state"],
            *(one.json().get("state") for one in asked),
        }

    assert states() == {"open"}
    for invitation in invitations[:5]:
        server.enrol(invitation)
    server.tick()
    assert states() == {"open", None}  # some are spent
    clock.pass_time(days=1)
    assert states() == {"closed"}  # the deadline has passed, and that comes before anything else
    assert server.client.get("/api/campaigns/nothing/state").status_code == 404
    draft = server.create()
    assert server.client.get(f"/api/campaigns/{draft}/state").status_code == 404


def test_nobody_joins_a_closed_campaign_but_a_lost_answer_can_be_had_again(server):
    campaign = server.opened()
    early, late = (entry["token"] for entry in server.invite(campaign, 2))
    first = server.enrol(early, KEY)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    assert server.enrol(late, KEY).json()["code"] == "campaign_not_open"
    assert server.enrol(early, KEY).json() == first.json()


def test_nobody_joins_after_the_deadline(server):
    campaign = server.opened(deadline="2030-03-18T00:00:00Z")
    invitation = server.invite(campaign)[0]["token"]
    server.clock.pass_time(days=1)
    assert server.enrol(invitation).json()["code"] == "deadline_passed"
