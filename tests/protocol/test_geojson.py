"""Places from GeoJSON: any plane coordinates end up where they belong on the plan."""

import json

import pytest

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.geojson import Frame, PlacesFile, as_geojson
from sottovoce.protocol.pictures import cleaned_picture

TASKS = ("hall", "door", "7")


def feature(kind="Point", coordinates=(1, 2), **more):
    return {
        "type": "Feature",
        "properties": {"task": "hall"},
        "geometry": {"type": kind, "coordinates": coordinates},
    } | more


def collection(*features, **more):
    return json.dumps({"type": "FeatureCollection", "features": features, **more})


def read(text):
    return PlacesFile.parse("rooms.geojson", text, TASKS)


def test_points_and_lines_lie_where_the_frame_puts_them():
    file = read(
        collection(
            feature("LineString", [[100, 50], [140, 50, 3.5], [140, 80]]),
            feature("Point", [180, 20], properties={}, id="door"),
            feature("Point", [120, 35], properties={"id": 7}),
            feature("Polygon", [[[100, 20], [180, 20], [180, 80]]], properties=None),
            feature("Point", [0, 0], properties={"name": "a tree far away"}),
            {"type": "Feature", "properties": {}, "geometry": None},
            bbox=[100, 20, 180, 80],
        )
    )
    assert file.places() == {
        "hall": [[0, 5000], [5000, 5000], [5000, 0]], "door": [[10000, 10000]], "7": [[2500, 7500]],
    }  # fmt: skip
    assert file.places(Frame.parse("0:100:200:0"))["hall"] == [[5000, 5000], [7000, 5000], [7000, 8000]]  # pixels


def test_without_a_picture_a_plan_is_drawn_from_the_file():
    file = read(
        collection(feature("LineString", [[0, 0], [40, 0]]), feature("Point", [20, 10], properties={"task": "door"}))
    )
    content, frame = file.drawn()
    picture = cleaned_picture(content)
    assert picture.content.count(b"<path") == 1
    places = file.places(frame)
    # In the drawing, the door lies a quarter of the hall's length above its middle.
    (left, below), (right, _) = places["hall"]
    ((door, above),) = places["door"]
    assert abs(door - (left + right) / 2) <= 1
    assert (below - above) * picture.height / ((right - left) * picture.width) == pytest.approx(0.25, abs=0.001)


def test_a_single_point_or_a_straight_line_can_be_drawn_too():
    for shape in (feature("Point", [5, 5]), feature("LineString", [[3, 0], [3, 1e6]])):
        file = read(collection(shape))
        content, frame = file.drawn()
        cleaned_picture(content)
        assert all(0 <= part <= 10_000 for point in file.places(frame)["hall"] for part in point)


def test_places_survive_a_round_trip_through_a_file():
    places = {"hall": [[0, 1], [10_000, 9_999], [3, 3]], "door": [[1234, 5678]]}
    assert read(json.dumps(as_geojson(places))).places() == places


BAD = {
    "no JSON": ("{", "GeoJSON"),
    "a list": ("[]", "FeatureCollection"),
    "a geometry": ('{"type": "Point", "coordinates": [1, 2]}', "FeatureCollection"),
    "nested without end": ("[" * 100_000, "GeoJSON"),
    "not a feature": (collection(3), "feature 1"),
    "an unknown task": (collection(feature(properties={"task": "cellar"})), "cellar"),
    "no task": (collection(feature(properties={})), "no feature has the id of a task"),
    "a task twice": (collection(feature(), feature()), "two places"),
    "an area": (collection(feature("Polygon", [[[0, 0], [1, 1], [0, 1]]])), "Polygon"),
    "not a number": (collection(feature(coordinates=["1", 2])), "two numbers"),
    "one number": (collection(feature(coordinates=[1])), "two numbers"),
    "truths": (collection(feature(coordinates=[True, False])), "two numbers"),
    "infinity": (collection(feature(coordinates=[float("inf"), 0])), "Infinity"),
    "a huge number": (collection(feature(coordinates=[1e300, 0])), "two numbers"),
    "an empty line": (collection(feature("LineString", [])), "missing"),
    "a circle": (collection(feature("Circle", [1, 2])), "Circle"),
    "a box that is no box": (collection(feature(), bbox=[1, 2, 3]), "bbox"),
    "a box without width": (collection(feature(), bbox=[1, 2, 1, 4]), "with opposite edges apart; correct it"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_refused_with_the_place_of_its_mistake(case):
    text, words = BAD[case]
    with pytest.raises(UnreadableFile, match=r"rooms[.]geojson") as refused:
        read(text)
    assert words in str(refused.value)


def test_a_place_must_lie_on_the_picture_and_be_short():
    with pytest.raises(UnreadableFile, match=r"'hall' at 1, 2: it must lie on the picture, from 0, 0 to 1, 1"):
        read(collection(feature(), bbox=[0, 0, 1, 1])).places()
    with pytest.raises(UnreadableFile, match="101 points"):
        read(collection(feature("LineString", [[n, n % 2] for n in range(101)]))).places(Frame(0, 0, 100, 1))
    with pytest.raises(UnreadableFile, match="LEFT:BOTTOM:RIGHT:TOP"):
        read(collection(feature())).places()
    with pytest.raises(UnreadableFile, match="four numbers"):
        Frame.parse("1:2:3")
    with pytest.raises(UnreadableFile, match="frame"):
        Frame.parse("0:0:nan:1")
