"""The plan in the console: uploads are checked, places are kept, and drafts are seen by their operator only."""

import json

import pytest

from plans import SVG, drawn, encoded, place, put


def upload(console, campaign, token=None, frame="", **contents):
    files = {name: (f"{name}.bin", content) for name, content in contents.items()}
    fields = {"form_token": token or console.form_token(), "frame": frame}
    return console.request("POST", f"/campaigns/{campaign}/plan", data=fields, files=files or {"none": ("", b"")})


def line(task, *points, **more):
    feature = {"type": "Feature", "properties": {"task": task}}
    feature["geometry"] = {"type": "LineString", "coordinates": points}
    return json.dumps({"type": "FeatureCollection", "features": [feature], **more}).encode()


def places_of(server, campaign):
    return {task["id"]: task["place"] for task in server.status(campaign)["tasks"] if task["place"]}


def test_a_picture_is_uploaded_and_its_operator_sees_it(server, console):
    campaign = server.create()
    assert upload(console, campaign, picture=encoded(drawn())).status_code == 303
    page = console.get(f"/campaigns/{campaign}/plan")
    assert f'src="/campaigns/{campaign}/plan/picture"' in page.text
    shown = console.get(f"/campaigns/{campaign}/plan/picture")
    assert shown.headers["content-type"] == "image/png"
    assert "sandbox" in shown.headers["content-security-policy"]
    stranger = server.client.get(f"/campaigns/{campaign}/plan/picture", follow_redirects=False)
    assert stranger.headers["location"].startswith("/sign-in")


def test_places_of_a_file_are_kept_with_the_picture_or_drawn_without(server, console):
    campaign = server.create()
    box = line("hall-0", [0, 0], [8, 6], bbox=[0, 0, 8, 6])
    assert upload(console, campaign, picture=SVG, places=box).status_code == 303
    assert places_of(server, campaign) == {"hall-0": [[0, 10_000], [10_000, 0]]}
    assert upload(console, campaign, places=line("hall-1", [4, 3], [8, 6]), frame="0:0:8:6").status_code == 303
    assert places_of(server, campaign)["hall-1"] == [[5000, 5000], [10_000, 0]]
    saved = console.get(f"/campaigns/{campaign}/plan/places.geojson")
    other = server.create()
    assert upload(console, other, picture=SVG, places=saved.content).status_code == 303
    assert places_of(server, other) == places_of(server, campaign)
    drawn_one = server.create()
    assert upload(console, drawn_one, places=line("hall-0", [0, 0], [8, 6])).status_code == 303
    assert server.status(drawn_one)["plan"]["type"] == "image/svg+xml"


def test_a_bad_upload_changes_nothing_and_says_why(server, console):
    campaign = server.create()
    for words, contents in {
        "no file": {},
        "nor valid SVG": {"picture": b"hello"},
        "active content": {"picture": b'<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'},
        "GeoJSON": {"picture": SVG, "places": b"\xff"},
        "cellar": {"picture": SVG, "places": line("cellar", [0, 0], [1, 1])},
        "LEFT:BOTTOM:RIGHT:TOP": {"picture": SVG, "places": line("hall-0", [0, 0], [1, 1])},
    }.items():
        page = upload(console, campaign, **contents)
        assert page.status_code == 422
        assert words in page.text
    assert server.status(campaign)["plan"] is None
    assert upload(console, campaign, token="wrong", picture=SVG).status_code == 403
    foreign = {"headers": {"Sec-Fetch-Site": "cross-site"}, "files": {"picture": ("a", SVG)}}
    assert console.request("POST", f"/campaigns/{campaign}/plan", **foreign).status_code == 403


def test_places_of_the_page_are_kept_and_taken_off(server, console):
    campaign = server.create()
    put(server, campaign)
    sent = {"hall-0": [[1, 2], [3, 4]], "hall-1": [[5, 6]], "hall-2": []}
    answer = console.post(f"/campaigns/{campaign}/plan/places", places=json.dumps(sent))
    assert answer.headers["location"] == f"/campaigns/{campaign}"
    assert places_of(server, campaign) == {"hall-0": [[1, 2], [3, 4]], "hall-1": [[5, 6]]}
    console.post(f"/campaigns/{campaign}/plan/places", places='{"hall-0": []}')
    assert places_of(server, campaign) == {"hall-1": [[5, 6]]}
    for bad in (
        "",
        "[]",
        '{"hall-0": 3}',
        '{"hall-0": [[1]]}',
        '{"hall-0": [[1, 10001]]}',
        '{"x": [[1, 1]]}',
        "[" * 9999,
    ):
        assert console.post(f"/campaigns/{campaign}/plan/places", places=bad).status_code == 422
    assert places_of(server, campaign) == {"hall-1": [[5, 6]]}
    assert console.post(f"/campaigns/{campaign}/plan/remove").status_code == 303
    assert server.status(campaign)["plan"] is None


def test_changing_the_tasks_keeps_their_places(server, console):
    campaign = console.create()
    put(server, campaign)
    task = server.status(campaign)["tasks"][0]["id"]
    place(server, campaign, {task: [[7, 7]]})
    row = {"id-0": task, "title-0": "Renamed", "unit-0": "m", "low-0": "0", "high-0": "100", "grid-0": "0.1"}
    answer = console.post(f"/campaigns/{campaign}/tasks", title="How long?", asked_by="Facility", **row)
    assert answer.status_code == 303, answer.text
    assert places_of(server, campaign) == {task: [[7, 7]]}
    assert server.status(campaign)["tasks"][0]["title"] == "Renamed"


@pytest.mark.slow
def test_an_open_campaign_is_not_changed(server, console):
    campaign = server.create()
    put(server, campaign)
    server.open(campaign)
    assert console.get(f"/campaigns/{campaign}/plan").status_code == 409
    assert upload(console, campaign, picture=encoded(drawn())).status_code == 409
    assert console.post(f"/campaigns/{campaign}/plan/remove").status_code == 409
    assert console.get(f"/campaigns/{campaign}/plan/picture").status_code == 200
