"""A campaign like another one: the same questions and promise, other people."""

from console_client import Console
from plans import place, put

NOON_DAY = "2030-03-17"
TASKS = [
    {"id": "hall", "title": {"en": "Main hall", "de": "Halle"}, "unit": "m", "low": 0, "high": 50, "grid": 0.1,
     "quota": 40},
    {"id": "bird", "title": "Which bird?", "choices": ["finch", {"en": "robin", "de": "Rotkehlchen"}]},
]  # fmt: skip
COPIED = ("title", "asked_by", "purpose", "tasks", "noise", "distance", "unit", "readings", "answer", "language",
          "contact", "public_results", "retention", "plan", "method", "target", "known")  # fmt: skip


def whole(server, **changes):
    """An open campaign with everything that a campaign can have."""
    campaign = server.create(
        tasks=TASKS, noise={"number": "fresh:0.5", "choice": "response:1"}, language="en", purpose="To know.",
        contact="hall@example.org", retention=30, public_results=False, known={"hall": "12.5", "bird": "robin"},
        method="crh", target="mean", readings=2, answer=1, **changes,
    )  # fmt: skip
    assert put(server, campaign).status_code == 200
    assert place(server, campaign, {"hall": [[10, 20]]}).status_code == 200
    server.open(campaign)
    return campaign


def duplicate(server, campaign, **changes):
    answer = server.client.post(f"/api/campaigns/{campaign}/duplicate", json=changes, headers=server.operator)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_duplicate_has_everything_but_the_people(server):
    campaign = whole(server)
    for token in server.participants(campaign, 6):
        assert server.report(campaign, token, server.body(campaign, {"hall": 100})).status_code == 201
    server.recompute()
    before, made = server.status(campaign), duplicate(server, campaign)
    assert {name: made[name] for name in COPIED} == {name: before[name] for name in COPIED}
    assert made["tasks"][0]["place"] == [[10, 20]]
    assert (made["state"], made["version"], made["previous"]) == ("draft", 1, None)
    assert made["id"] != campaign
    assert made["reports"] == 0
    assert set(made["counts"].values()) == {0}
    listed = server.client.get(f"/api/campaigns/{made['id']}/invitations", headers=server.operator)
    assert listed.json()["invitations"] == []
    server.open(made["id"])
    one, other = (server.client.get(f"/api/campaigns/{each}/plan").content for each in (campaign, made["id"]))
    assert one == other
    assert server.status(campaign) == before  # as it was


def test_any_campaign_can_be_duplicated_and_changed_on_the_way(server):
    draft = server.create()
    assert duplicate(server, draft, title="Again")["title"] == "Again"
    third = duplicate(server, duplicate(server, draft)["id"])["id"]
    server.open(third)
    server.client.post(f"/api/campaigns/{third}/close", headers=server.operator)
    version = server.client.post(f"/api/campaigns/{third}/versions", headers=server.operator).json()
    assert version["version"] == 2
    assert (duplicate(server, version["id"])["version"], duplicate(server, third)["version"]) == (1, 1)
    refused = server.client.post(f"/api/campaigns/{draft}/duplicate", json={"noise": "loud:3"}, headers=server.operator)
    assert refused.json()["code"] == "bad_manifest"


def test_a_deadline_that_has_passed_is_left_out(server):
    campaign = server.opened(deadline=f"{NOON_DAY}T20:00:00Z")
    assert duplicate(server, campaign)["deadline"] == f"{NOON_DAY}T20:00:00Z"
    server.clock.pass_time(days=1)
    made = duplicate(server, campaign)
    assert made["deadline"] is None
    server.open(made["id"])
    second = whole(server, deadline="2030-03-18T20:00:00Z")
    server.clock.pass_time(days=1)
    assert duplicate(server, second)["deadline"] is None


def test_the_console_duplicates_and_goes_to_the_first_step(server):
    console = Console(server)
    for campaign in (whole(server), server.create()):
        assert f'action="/campaigns/{campaign}/duplicate"' in console.get(f"/campaigns/{campaign}").text
        answer = console.post(f"/campaigns/{campaign}/duplicate")
        assert answer.status_code == 303
        made = answer.headers["location"].split("/")[2]
        assert made != campaign
        assert answer.headers["location"] == f"/campaigns/{made}/tasks"
        assert console.get(answer.headers["location"]).status_code == 200
        assert server.status(made)["state"] == "draft"
