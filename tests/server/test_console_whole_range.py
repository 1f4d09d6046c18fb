"""The privacy page: any value is protected by comparisons, values up to a distance by noise."""

import json
import re

import pytest

from sottovoce.planning.comparisons import plan_comparisons
from sottovoce.protocol import Manifest
from sottovoce.protocol.promise import promise_of

pytestmark = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)


def shown(console, campaign, **asked):
    page = console.get(f"/campaigns/{campaign}/privacy/plan", params=asked)
    assert page.status_code == 200
    return page.text


def error_of(page, values):
    found = re.search(rf'id="values-{values}".*?<b>±&nbsp;([\d.,]+) m</b>', page, re.DOTALL)
    return float(found[1].replace(",", ""))


ASKED = {"epsilon": "1", "distance": "1", "unit": "reading", "participants": "500", "error": "1"}


def test_both_ways_are_shown_with_the_error_to_expect(server, console):
    campaign = server.create(halls=1)  # 0 to 100
    page = shown(console, campaign, **ASKED)
    expected = plan_comparisons(1.0, 0.0, 100.0, 1, 500, error_rate=1.0, simulations=0)
    assert error_of(page, "any") == pytest.approx(expected.predicted_error, rel=0.06)  # two digits are shown
    best = min(float(error) for error in re.findall(r'name="law".*?<b>± ([\d.]+) m</b>', page, re.DOTALL))
    assert error_of(page, "distance") == best
    # Laplace noise of scale 100: √(2/π)·√(2·100²/500) would be the mean's error; the median's is √½ of it.
    wide = float(re.search(r"any value in the range would give ±&nbsp;(\d+\.\d+)", page)[1])
    assert wide == pytest.approx(0.798 * 100 / 500**0.5, rel=0.1)
    assert 'id="values-distance" value="distance" checked' in page


@pytest.mark.slow
def test_any_value_is_promised_saved_and_changed_back(server, console):
    campaign = server.create(halls=2)
    page = shown(console, campaign, **ASKED, values="any")
    assert "In 27 of 100 cases your device sends the other answer" in page
    assert "find the truth in nine out of ten campaigns" in page
    assert "too few" not in page.split("strengths")[0]
    saved = console.post(f"/campaigns/{campaign}/privacy", **ASKED, values="any")
    assert saved.status_code == 303, saved.text
    made = server.status(campaign)
    assert (made["noise"], made["levels"], made["readings"]) == ("response:1.0", 2, 2)
    assert all(task.get("distance") is None for task in made["tasks"])
    again = console.get(f"/campaigns/{campaign}/privacy")
    assert again.status_code == 200
    assert 'name="epsilon" inputmode="decimal" required value="1"' in again.text
    assert 'id="values-any" value="any" checked' in shown(console, campaign)
    assert console.get(f"/campaigns/{campaign}").status_code == 200
    back = console.post(f"/campaigns/{campaign}/privacy", **ASKED | {"distance": "2.5"}, values="distance", law="fresh")
    assert back.status_code == 303, back.text
    made = server.status(campaign)
    assert made["noise"].startswith("fresh:")
    assert made.get("levels") is None
    server.open(campaign)
    public = server.client.get(f"/api/campaigns/{campaign}/manifest").json()
    assert (public["format"], public["distance"]) == ("sottovoce-manifest/1", "2.5")  # so that older devices can join


def test_too_few_people_are_warned_of(server, console):
    campaign = server.create(halls=1)
    page = shown(console, campaign, **ASKED | {"participants": "170"}, values="any")
    assert "170 answers per task are too few" in page
    assert "88 are needed to find the truth" in page
    enough = shown(console, campaign, **ASKED | {"participants": "176"}, values="any")
    assert "answers per task are too few" not in enough


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", ["0.3", "1", "2.9", "8"])
def test_for_a_participant_devices_draw_few_tasks_and_the_promise_is_kept(server, console, epsilon):
    campaign = server.create(halls=30)
    asked = ASKED | {"epsilon": epsilon, "unit": "participant", "participants": "20000", "values": "any"}
    assert "chosen at random before it has any reading" in shown(console, campaign, **asked)
    assert console.post(f"/campaigns/{campaign}/privacy", **asked).status_code == 303
    made = server.status(campaign)
    with server.state.engine.connect() as connection:
        stored = connection.exec_driver_sql("SELECT manifest FROM campaigns WHERE id = ?", (campaign,)).scalar()
    promise = promise_of(Manifest.parse(stored), 0.0)
    assert float(epsilon) * (1 - 1e-5) <= promise.epsilon <= float(epsilon) * (1 + 1e-9)
    # The best ε per answer is about 2.2 for bits, and there is at least one answer.
    assert made["answer"] == pytest.approx(max(1, float(epsilon) / 2.18), abs=1)


def test_the_widest_range_and_all_grids_count(server, console):
    campaign = console.create(table="id,low,high,grid\na,0,10,0.5\nb,-100,900,0.25")
    narrow = server.create(halls=1)
    asked = ASKED | {"values": "any", "unit": "participant"}
    assert console.post(f"/campaigns/{campaign}/privacy", **asked).status_code == 303
    several = int(re.search(r"each task needs ([\d,]+) answers", shown(console, campaign, **asked))[1])
    assert several > int(re.search(r"each task needs ([\d,]+) answers", shown(console, narrow, **asked))[1])


@pytest.mark.parametrize("wrong", [{"epsilon": "0"}, {"readings": "0"}, {"participants": "x"}, {"unit": "crowd"}])
def test_nonsense_is_refused_in_words(server, console, wrong):
    campaign = server.create()
    assert 'class="banner wrong"' in shown(console, campaign, **ASKED | wrong, values="any")
    assert console.post(f"/campaigns/{campaign}/privacy", **ASKED | wrong, values="any").status_code == 422


def test_a_question_beside_compared_numbers(server, console):
    """Numbers are compared under the law of the answers; the noise law and the distance are then not asked for."""
    table = "id,title,unit,low,high,grid,choices\npath,Passable?,,,,,yes|no\nwidth,How wide?,m,0,10,0.1,\n"
    campaign = console.create(table=table)
    asked = {"epsilon": "1", "unit": "reading", "answer": "2", "values": "any"}
    assert console.get(f"/campaigns/{campaign}/privacy", params=asked).status_code == 200
    assert console.post(f"/campaigns/{campaign}/privacy", **asked).status_code == 303
    made = server.status(campaign)
    assert (made["noise"], made["levels"]) == ("response:1.0", 2)
    page = console.get(f"/campaigns/{campaign}/privacy").text
    assert 'id="values-any" value="any" checked' in page
    back = {**asked, "values": "distance", "noise": "fresh:2", "distance": "0.5"}
    assert console.post(f"/campaigns/{campaign}/privacy", **back).status_code == 303
    made = server.status(campaign)
    assert made["noise"] == {"number": "fresh:2.0", "choice": "response:1.0"}
    assert json.dumps(made["tasks"]).count('"distance": "0.5"') == 1
