"""Draft, open, closed: what an operator can do to a campaign, and when."""

import hashlib

import pytest

from server_under_test import campaign_body
from sottovoce.protocol import InvitationLink, Manifest


def test_a_campaign_from_draft_to_results(server):
    campaign = server.create()
    assert server.status(campaign)["state"] == "draft"
    opened = server.open(campaign)
    assert opened["state"] == "open"
    assert opened["guarantee"]["epsilon"] == 1
    assert "2.72 times" in opened["guarantee"]["sentence"]
    server.crowd(campaign, 7)
    server.recompute()
    results = server.results(campaign)
    assert [entry["truth"] for entry in results["results"]] == pytest.approx([10, 20, 30], abs=0.3)
    assert all(entry["low"] < entry["truth"] < entry["high"] for entry in results["results"])
    assert [entry["claims"] for entry in results["results"]] == [7, 7, 7]
    assert results["reports"] == 7
    assert results["method"] == "noise-aware"
    closed = server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    assert (closed.json()["state"], closed.json()["final"]) == ("closed", False)
    server.tick()
    assert server.status(campaign)["final"]
    assert server.status(campaign)["counts"] == {
        "invitations": 7, "spent": 7, "revoked": 0, "participants": 7, "withdrawn": 0,
    }  # fmt: skip


def test_the_manifest_is_canonical_and_tagged_with_its_hash(server):
    campaign = server.opened(purpose="To order carpets", deadline="2031-01-01T01:00:00+01:00")
    answer = server.client.get(f"/api/campaigns/{campaign}/manifest")
    assert answer.headers["etag"] == f'"{hashlib.sha256(answer.content).hexdigest()}"'
    manifest = Manifest.parse(answer.content)
    assert (manifest.campaign, manifest.deadline, manifest.asked_by) == (campaign, "2031-01-01T00:00:00Z", "operator")
    again = server.client.get(f"/api/campaigns/{campaign}/manifest", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_numbers_as_text_or_as_numbers_mean_the_same(server):
    as_numbers, as_text = server.create(distance=2.50), server.create(distance="2.5")
    for field in ("tasks", "distance", "noise"):
        assert server.status(as_numbers)[field] == server.status(as_text)[field]
    assert server.status(as_text)["tasks"][0]["grid"] == "0.1"


def test_drafts_have_no_manifest_and_no_invitations(server):
    campaign = server.create()
    assert server.client.get(f"/api/campaigns/{campaign}/manifest").status_code == 404
    assert server.client.get(f"/api/campaigns/{campaign}/results").status_code == 404
    answer = server.client.post(f"/api/campaigns/{campaign}/invitations", json={}, headers=server.operator)
    assert (answer.status_code, answer.json()["code"]) == (409, "campaign_not_open")


def test_a_draft_can_be_changed_and_deleted(server):
    campaign = server.create()
    address = f"/api/campaigns/{campaign}"
    answer = server.client.patch(address, json={"title": "Shorter", "distance": "0.5"}, headers=server.operator)
    assert (answer.json()["title"], answer.json()["distance"]) == ("Shorter", "0.5")
    assert len(answer.json()["tasks"]) == 3
    answer = server.client.patch(address, json={"noise": None}, headers=server.operator)
    assert answer.status_code == 422
    assert server.client.delete(address, headers=server.operator).status_code == 204
    assert server.client.get(address, headers=server.operator).status_code == 404
    assert server.rows("tasks") == 0


def test_an_open_campaign_is_frozen(server):
    campaign = server.opened()
    before = server.manifest_hash(campaign)
    address = f"/api/campaigns/{campaign}"
    for change in ({"title": "Other"}, {"tasks": [{"id": "x", "low": 0, "high": 1, "grid": 1}]}, {"deadline": None}):
        answer = server.client.patch(address, json=change, headers=server.operator)
        assert (answer.status_code, answer.json()["code"]) == (409, "frozen")
    assert server.client.delete(address, headers=server.operator).json()["code"] == "frozen"
    assert server.client.post(f"{address}/open", headers=server.operator).json()["code"] == "wrong_state"
    assert server.manifest_hash(campaign) == before


def test_closed_means_closed(server):
    campaign = server.opened()
    address = f"/api/campaigns/{campaign}/close"
    assert server.client.post(address, headers=server.operator).status_code == 200
    assert server.client.post(address, headers=server.operator).json()["code"] == "wrong_state"
    answer = server.client.post(f"/api/campaigns/{campaign}/invitations", json={}, headers=server.operator)
    assert answer.json()["code"] == "campaign_not_open"


def test_a_change_makes_a_new_version(server):
    first = server.opened()
    answer = server.client.post(
        f"/api/campaigns/{first}/versions", json={"title": "Second try"}, headers=server.operator
    )
    assert answer.status_code == 201
    second = answer.json()
    assert second["id"] != first
    assert (second["version"], second["state"], second["previous"]) == (2, "draft", first)
    assert (second["title"], second["tasks"]) == ("Second try", server.status(first)["tasks"])
    assert server.client.post(f"/api/campaigns/{second['id']}/versions", headers=server.operator).status_code == 409
    listed = server.client.get("/api/campaigns", headers=server.operator).json()["campaigns"]
    assert [entry["id"] for entry in listed] == [second["id"], first]


BAD_DRAFTS = [
    ({"noise": "loud:3"}, "bad_manifest"),
    ({"distance": 0}, "bad_manifest"),
    ({"distance": "1e400"}, "bad_manifest"),
    ({"tasks": []}, "bad_request"),
    ({"tasks": [{"id": "a", "low": 1, "high": 0, "grid": 1}]}, "bad_manifest"),
    ({"tasks": [{"id": "a", "low": 0, "high": 9, "grid": 1}] * 2}, "bad_manifest"),
    ({"title": ""}, "bad_request"),
    ({"unit": "crowd"}, "bad_request"),
    ({"surprise": 1}, "bad_request"),
    ({"deadline": "tomorrow"}, "bad_manifest"),
    ({"method": "guess"}, "bad_request"),
]


def test_a_bad_draft_is_refused_by_name(server):
    good = {
        "title": "t", "tasks": [{"id": "a", "low": 0, "high": 9, "grid": 1}], "noise": "fresh:0.5", "distance": 1,
    }  # fmt: skip
    for change, code in BAD_DRAFTS:
        answer = server.client.post("/api/campaigns", json=good | change, headers=server.operator)
        assert (answer.status_code, answer.json()["code"]) == (422, code), change
        assert answer.headers["content-type"] == "application/problem+json"
    assert server.rows("campaigns") == 0
    assert server.client.post("/api/campaigns", json=good, headers=server.operator).status_code == 201


def test_a_campaign_has_a_limited_number_of_grids(server):
    """Each has its own promise: 3,000 of them delayed a page for minutes."""
    tasks = [{"id": f"t{n}", "low": 0, "high": 100, "grid": f"{0.001 + n / 10_000:.4f}"} for n in range(101)]
    answer = server.client.post("/api/campaigns", json=campaign_body(tasks=tasks), headers=server.operator)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_manifest")
    assert "101 different pairs of grid and distance: devices check at most 100" in answer.json()["detail"]
    server.create(tasks=tasks[:100])


def test_a_campaign_cannot_open_after_its_deadline(server):
    campaign = server.create(deadline="2020-01-01T00:00:00Z")
    answer = server.client.post(f"/api/campaigns/{campaign}/open", headers=server.operator)
    assert answer.json()["code"] == "bad_manifest"


def test_invitations_are_links_with_the_hash_and_a_code_to_scan(server):
    campaign = server.opened()
    plain, coded = server.invite(campaign), server.invite(campaign, 2, qr=True)
    link = InvitationLink.parse(plain[0]["url"])
    assert (link.token, link.manifest_sha256) == (plain[0]["token"], server.manifest_hash(campaign))
    assert plain[0]["qr"] is None
    assert len({entry["token"] for entry in plain + coded}) == 3
    assert coded[0]["qr"].startswith("<svg")


def test_links_carry_the_public_address(start_local):
    server = start_local(public_url="https://Sense.example/crowd/")
    link = InvitationLink.parse(server.invite(server.opened())[0]["url"])
    assert link.server == "https://sense.example/crowd"


def test_invitations_are_listed_revoked_and_rotated(server):
    campaign = server.opened()
    spent, *others, revoked, rotated = server.invite(campaign, 7)
    for entry in (spent, *others):
        server.enrol(entry["token"])
    server.tick()
    address = f"/api/campaigns/{campaign}/invitations"
    assert server.client.delete(f"{address}/{revoked['id']}", headers=server.operator).status_code == 204
    new = server.client.post(f"{address}/{rotated['id']}/rotate", headers=server.operator).json()
    listed = server.client.get(address, headers=server.operator).json()["invitations"]
    assert [entry["state"] for entry in listed] == [*["spent"] * 5, "revoked", "revoked", "unspent"]
    assert listed[-1]["id"] == new["id"]
    assert server.enrol(revoked["token"]).json()["code"] == "invitation_revoked"
    assert server.enrol(rotated["token"]).json()["code"] == "invitation_revoked"
    looked_up = server.client.post("/api/invitations/look-up", json={"invitation": revoked["token"]})
    assert looked_up.json()["code"] == "invitation_revoked"
    first = server.enrol(new["token"], "k" * 22)
    assert first.status_code == 201
    # Until the next step nobody is shown that it is spent; revoking it does not touch whoever used it.
    assert server.client.delete(f"{address}/{new['id']}", headers=server.operator).status_code == 204
    assert server.enrol(new["token"], "k" * 22).json() == first.json()
    for action in (server.client.delete, lambda *args, **options: server.client.post(args[0] + "/rotate", **options)):
        assert action(f"{address}/{spent['id']}", headers=server.operator).json()["code"] == "invitation_spent"
    assert server.client.delete(f"{address}/999", headers=server.operator).status_code == 404
