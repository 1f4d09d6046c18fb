"""The plan of a campaign over the API: uploaded, placed, frozen, served as a picture and nothing else."""

import hashlib

import pytest

from plans import SVG, drawn, encoded, place, put
from server_under_test import bearer, campaign_body

PLACES = {"hall-0": [[100, 200]], "hall-1": [[0, 0], [10_000, 10_000]]}


def placed(server, **changes):
    campaign = server.create(**changes)
    assert put(server, campaign).status_code == 200
    assert place(server, campaign, PLACES).status_code == 200
    return campaign


def places_of(campaign):
    return {task["id"]: task["place"] for task in campaign["tasks"] if task["place"]}


@pytest.mark.parametrize("content", [SVG, encoded(drawn()), encoded(drawn(), "JPEG")], ids=["svg", "png", "jpeg"])
def test_a_plan_is_under_the_manifests_hash_and_everybody_sees_it(server, content):
    campaign = server.create()
    answer = put(server, campaign, content)
    assert answer.status_code == 200, answer.text
    plan = answer.json()["plan"]
    assert server.client.get(f"/api/campaigns/{campaign}/plan").status_code == 404  # a draft is nobody else's business
    assert places_of(place(server, campaign, PLACES).json()) == PLACES
    server.open(campaign)
    manifest = server.client.get(f"/api/campaigns/{campaign}/manifest").json()
    assert manifest["plan"] == plan
    assert places_of({"tasks": [{"place": None, **task} for task in manifest["tasks"]]}) == PLACES
    shown = server.client.get(f"/api/campaigns/{campaign}/plan")
    assert hashlib.sha256(shown.content).hexdigest() == plan["sha256"]
    assert shown.headers["content-type"] == plan["type"]
    assert shown.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
    assert shown.headers["x-content-type-options"] == "nosniff"
    again = server.client.get(f"/api/campaigns/{campaign}/plan", headers={"If-None-Match": shown.headers["etag"]})
    assert again.status_code == 304


def test_the_promise_and_the_distances_stay_when_a_plan_makes_it_the_second_format(server):
    plain, planned = server.create(), placed(server)
    assert server.open(planned)["guarantee"]["epsilon"] == server.open(plain)["guarantee"]["epsilon"]
    assert {task["distance"] for task in server.status(planned)["tasks"]} == {"1"}


def test_an_open_campaign_keeps_its_plan(server):
    campaign = placed(server)
    server.open(campaign)
    address = f"/api/campaigns/{campaign}/plan"
    assert put(server, campaign, encoded(drawn())).json()["code"] == "frozen"
    assert place(server, campaign, {"hall-2": [[1, 1]]}).json()["code"] == "frozen"
    assert server.client.delete(address, headers=server.operator).json()["code"] == "frozen"
    assert server.client.get(address).headers["content-type"] == "image/svg+xml"


def test_a_new_version_has_the_plan_and_quotas_stay(server):
    tasks = campaign_body()["tasks"]
    tasks[0]["quota"] = 7
    campaign = placed(server, tasks=tasks)
    server.open(campaign)
    versions = f"/api/campaigns/{campaign}/versions"
    made = server.client.post(versions, json={"title": "Again"}, headers=server.operator).json()
    assert places_of(made) == PLACES
    assert made["tasks"][0]["quota"] == 7
    server.open(made["id"])
    old, new = (server.client.get(f"/api/campaigns/{one}/plan") for one in (campaign, made["id"]))
    assert old.content == new.content


def test_a_plan_can_be_replaced_and_removed(server):
    campaign = placed(server)
    assert places_of(put(server, campaign, encoded(drawn())).json()) == PLACES
    assert places_of(place(server, campaign, {"hall-0": None, "hall-2": [[5, 5]]}).json()) == {
        "hall-1": PLACES["hall-1"], "hall-2": [[5, 5]],
    }  # fmt: skip
    removed = server.client.delete(f"/api/campaigns/{campaign}/plan", headers=server.operator).json()
    assert removed["plan"] is None
    assert not places_of(removed)
    assert server.rows("plans") == 0
    assert server.open(campaign)["state"] == "open"
    draft = placed(server)
    server.client.delete(f"/api/campaigns/{draft}", headers=server.operator)
    assert server.rows("plans") == 0


def test_a_hash_without_its_picture_cannot_be_opened(server):
    campaign = server.create(plan={"sha256": "ab" * 32, "type": "image/png"})
    answer = server.client.post(f"/api/campaigns/{campaign}/open", headers=server.operator)
    assert answer.json()["code"] == "bad_manifest"
    assert "picture" in answer.json()["detail"]
    placed_one = placed(server)  # nor one whose hash was changed after the upload
    changed = {"plan": {"sha256": "ab" * 32, "type": "image/png"}}
    server.client.patch(f"/api/campaigns/{placed_one}", json=changed, headers=server.operator)
    assert server.client.post(f"/api/campaigns/{placed_one}/open", headers=server.operator).status_code == 422


def test_what_is_wrong_changes_nothing(server):
    campaign = placed(server)
    before = server.status(campaign)
    assert put(server, campaign, b"<html></html>").json()["code"] == "bad_picture"
    assert put(server, campaign, b"").json()["code"] == "bad_picture"
    assert place(server, campaign, {"cellar": [[1, 1]]}).json()["code"] == "unknown_task"
    assert place(server, campaign, {"hall-0": [[1, 10_001]]}).json()["code"] == "bad_manifest"
    assert place(server, campaign, {"hall-0": [[1, 1, 1]]}).json()["code"] == "bad_manifest"
    assert place(server, campaign, {"hall-0": [[1, 1]] * 101}).json()["code"] == "bad_manifest"
    assert place(server, campaign, {"hall-0": "here"}).status_code == 422
    assert place(server, server.create(), {"hall-0": [[1, 1]]}).json()["code"] == "bad_manifest"  # it has no plan
    twice = {"places": [{"task": "hall-0", "place": [[n, n]]} for n in range(2)]}
    answer = server.client.put(f"/api/campaigns/{campaign}/places", json=twice, headers=server.operator)
    assert answer.json()["code"] == "repeated_task"
    assert server.status(campaign) == before
    stranger = bearer("somebody-elses-token-0123456789")
    address = f"/api/campaigns/{campaign}/plan"
    assert server.client.put(address, content=SVG, headers=stranger).status_code == 401
    too_much = put(server, campaign, bytes((8 << 20) + 1))
    assert too_much.status_code == 413
