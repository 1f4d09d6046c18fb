"""A plan from files, on the command line: everything is set, or nothing."""

import json

import pytest

from plans import SVG, drawn, encoded

PLACES = {"hall-1": [[1000, 5000], [9000, 5000]], "hall-2": [[5000, 5000], [5000, 9000]], "hall-3": [[0, 10_000]]}


def collection(**more):
    lines = {"hall-1": [[10, 50], [90, 50]], "hall-2": [[50, 50], [50, 10]]}
    features = [
        {"type": "Feature", "properties": {"task": task}, "geometry": {"type": "LineString", "coordinates": line}}
        for task, line in lines.items()
    ]
    corner = {"type": "Feature", "id": "hall-3", "properties": {}, "geometry": {"type": "Point", "coordinates": [0, 0]}}
    return json.dumps({"type": "FeatureCollection", "features": [*features, corner], **more})


@pytest.fixture
def files(tmp_path):
    (tmp_path / "plan.svg").write_bytes(SVG)
    (tmp_path / "halls.geojson").write_text(collection(bbox=[0, 0, 100, 100]))
    (tmp_path / "no-box.geojson").write_text(collection())
    return tmp_path


def test_a_plan_is_set_shown_written_and_removed(campaigns, draft, files):
    made = campaigns("plan", draft, "--picture", files / "plan.svg", "--places", files / "halls.geojson")
    assert made["plan"]["type"] == "image/svg+xml"
    assert made["places"] == PLACES
    shown = campaigns.run("campaign", "plan", draft).stdout
    assert "3 of 3 tasks are on the plan" in shown
    out = files / "out.geojson"
    campaigns("plan", draft, "--out", out)
    other = campaigns("plan", draft, "--clear")
    assert (other["plan"], other["places"]) == (None, {})
    again = campaigns("plan", draft, "--picture", files / "plan.svg", "--places", out)
    assert again["places"] == PLACES
    assert again["plan"] == made["plan"]


def test_without_a_picture_the_plan_is_drawn(campaigns, draft, files):
    made = campaigns("plan", draft, "--places", files / "no-box.geojson")
    assert made["plan"]["type"] == "image/svg+xml"
    (x1, y1), (x2, y2) = made["places"]["hall-1"]
    assert y1 == y2
    assert 0 < x1 < x2 < 10_000


def test_a_campaign_can_be_created_with_its_plan(campaigns, files):
    task = {"id": "hall-1", "low": 0, "high": 9, "grid": 1, "place": [[7, 8]]}
    whole = {"title": "t", "noise": "fresh:0.5", "distance": 1, "tasks": [task]}
    (files / "whole.json").write_text(json.dumps(whole))
    made = campaigns("create", files / "whole.json", "--picture", files / "plan.svg")
    assert made["tasks"][0]["place"] == [[7, 8]]
    assert campaigns("open", made["id"])["state"] == "open"
    before = campaigns("list")["campaigns"]
    (files / "page.svg").write_text("<html/>")
    assert "page.svg" in campaigns.refused("create", files / "whole.json", "--picture", files / "page.svg")
    assert campaigns("list")["campaigns"] == before  # no half-made draft is left


def test_what_is_wrong_is_refused_before_anything_is_sent(campaigns, draft, files):
    photograph = files / "photo.jpg"
    photograph.write_bytes(encoded(drawn(), "JPEG")[:500])
    assert "damaged" in campaigns.refused("plan", draft, "--picture", photograph)
    refused = campaigns.refused("plan", draft, "--picture", files / "plan.svg", "--places", files / "no-box.geojson")
    assert "LEFT:BOTTOM:RIGHT:TOP" in refused
    assert "four numbers" in campaigns.refused("plan", draft, "--places", files / "halls.geojson", "--frame", "1:2")
    assert "add --places FILE" in campaigns.refused("plan", draft, "--frame", "0:0:1:1")
    both = campaigns.refused("plan", draft, "--clear", "--picture", files / "plan.svg")
    assert "leave out --clear, or the others" in both
    assert "nothing.png" in campaigns.refused("plan", draft, "--picture", files / "nothing.png")
    assert campaigns("plan", draft)["plan"] is None
    framed = campaigns("plan", draft, "--picture", files / "plan.svg", "--places", files / "no-box.geojson",
                       "--frame", "0:0:100:100")  # fmt: skip
    assert framed["places"] == PLACES
