"""The simulated building: every hallway is on its plan, to scale, always in the same place."""

import json
import math
from itertools import combinations

import pytest

from sottovoce.protocol.geojson import PlacesFile
from sottovoce.protocol.pictures import cleaned_picture
from sottovoce.worlds.building import Building
from sottovoce.worlds.floorplan import careful_floorplan, floorplan


@pytest.mark.parametrize("world", [floorplan(1), floorplan(2), careful_floorplan(1)], ids=["one", "two", "careful"])
def test_hallways_are_as_long_as_they_are_and_do_not_cross(world):
    halls = world.building.halls
    assert list(halls) == [str(label) for label in world.claims.object_labels]
    assert [math.dist(hall[:2], hall[2:]) for hall in halls.values()] == pytest.approx(world.truths.tolist())
    boxes = [(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)) for x1, y1, x2, y2 in halls.values()]
    for left, below, right, above in boxes:
        assert left >= 2
        assert below >= 2
        assert right <= world.building.width - 2
        assert above <= world.building.height - 2
    for one, two in combinations(boxes, 2):
        overlap = [min(one[2 + axis], two[2 + axis]) - max(one[axis], two[axis]) for axis in (0, 1)]
        assert min(overlap) <= 1e-9  # they may share an end, or a corner
        assert max(overlap) <= 1e-9 or min(overlap) < 1e-9
    assert 0.5 < world.building.width / world.building.height < 2


def test_the_same_lengths_give_the_same_building():
    assert floorplan(3).building == floorplan(3).building
    assert floorplan(3).building != floorplan(4).building


def test_plan_and_places_fit_each_other(tmp_path):
    world = floorplan(1)
    world.write(tmp_path)
    picture = cleaned_picture((tmp_path / "plan.svg").read_bytes())
    file = PlacesFile.parse("places", (tmp_path / "places.geojson").read_text(), world.building.halls)
    places = file.places()
    assert len(places) == 129
    for truth, place in zip(world.truths, places.values(), strict=True):
        (x1, y1), (x2, y2) = place
        pixels = math.hypot((x2 - x1) * picture.width, (y2 - y1) * picture.height) / 10_000
        assert pixels / 10 == pytest.approx(truth, abs=0.05)  # ten pixels to a metre, places to a ten-thousandth


def test_a_single_hallway_is_a_building_too():
    building = Building.of(["a"], [5.0])
    cleaned_picture(building.svg())
    assert json.loads(json.dumps(building.geojson()))["features"]
