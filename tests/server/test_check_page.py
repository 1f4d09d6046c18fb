"""The last step of the wizard: the figures that an operator can expect, warnings, and the preview."""

import html
import math
import re

import numpy as np
import pytest

from console_client import Console
from sottovoce.discovery import NoiseAware
from sottovoce.privacy.laws import parse_answer_law, parse_noise_law
from sottovoce.protocol.drafting import drafted
from sottovoce.server.console.check import expectations, warnings_of
from sottovoce.worlds import choice_crowd

pytestmark = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
LENGTH = {"id": "length", "title": "Length", "unit": "m", "low": 0, "high": 100, "grid": "0.1"}
WARMTH = {"id": "warmth", "title": "Warmth", "unit": "°C", "low": -10, "high": 40, "grid": "0.1"}
BIRD = {"id": "bird", "title": "Which bird?", "choices": ["finch", "robin", "wren"]}


def draft(*tasks, **fields):
    parts = {
        "campaign": "c",
        "title": "t",
        "asked_by": "a",
        "readings": len(tasks),
        "noise": "fresh:0.5",
        "distance": 1,
    }
    return drafted({**parts, "readings": len(tasks), **fields, "tasks": list(tasks)})


def text_of(answer):
    return html.unescape(re.sub(r"<[^>]+>", "", answer.text))


def test_the_page_shows_error_quota_deadline_and_promise_in_the_tasks_units(server, console):
    campaign = console.create(**{"quota-0": "40"}, deadline="2035-06-30T18:00")
    page = text_of(console.get(f"/campaigns/{campaign}?participants=1000"))
    assert "at most 40 readings" in page
    assert "30 Jun 2035, 18:00 UTC" in page
    assert re.search(r"± [\d.]+ m · 40 readings", page)  # the quota, not the crowd
    assert "differed by up to 10 m" in page
    assert "Worth a second look" not in page
    for wrong in ("0", "000", "-1", "x", "1" * 13, "²"):
        refused = console.get(f"/campaigns/{campaign}?participants={wrong}")
        assert refused.status_code == 422
        assert "API" not in refused.text  # advice for people


def test_the_expected_error_of_numbers_is_what_a_crowd_shows(server):
    """Simulated plain means of the same readings: weighting is better than that, but not by more than a quarter."""
    manifest = draft(LENGTH)
    (found,) = expectations(manifest, {}, 100)
    stated = float(re.search(r"± ([\d.]+) m", found.error)[1])
    rng = np.random.default_rng(5)
    law = parse_noise_law("fresh:0.5")
    variances = rng.exponential(0.5, (2000, 100))  # error rate 2 / distance²
    noise = law.simulate(np.zeros(200_000), np.arange(200_000), rng).reshape(2000, 100)
    of_mean = abs((rng.normal(0, np.sqrt(variances)) + noise).mean(axis=1)).mean()
    assert 0.75 * of_mean < stated < of_mean
    assert float(found.noise.split()[1]) == pytest.approx(noise.std(), rel=0.05)


def test_a_single_number_beside_questions_is_expected_to_be_as_far_off_as_with_fresh_noise(server):
    """Each participant's only reading under shared noise: nobody can estimate its variance."""
    questions, errors = [BIRD, {**BIRD, "id": "tree"}], {}
    for law in ("shared:0.5", "fresh:0.5"):
        manifest = draft(*questions, LENGTH, noise={"number": law, "choice": "response:1"})
        errors[law] = expectations(manifest, {}, 100)[-1].error
    assert errors["shared:0.5"] == errors["fresh:0.5"]
    two = draft(*questions, LENGTH, {**LENGTH, "id": "width"}, noise={"number": "shared:0.5", "choice": "response:1"})
    assert expectations(two, {}, 100)[-1].error != errors["shared:0.5"]


@pytest.mark.slow
@pytest.mark.parametrize("cells", [2, 4, 12])
def test_the_expected_share_of_wrong_answers_is_what_a_crowd_shows(server, cells):
    """Compared with the method on simulated crowds: within five points, and three standard errors."""
    question = BIRD | {"choices": [f"c{n}" for n in range(cells)]}
    (found,) = expectations(draft(question, noise="response:1", distance=None), {}, 60)
    stated = int(re.search(r"about (\d+)%", found.error)[1]) / 100
    wrong = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        world = choice_crowd(60, 40, cells, seed=rng).with_simulated_noise(parse_answer_law("response:1"), rng)
        wrong.append(1 - np.mean(np.asarray(NoiseAware(noise="response:1").fit(world.claims).truths_) == world.truths))
    seen, margin = np.mean(wrong), 3 * np.std(wrong) / math.sqrt(len(wrong))
    assert abs(stated - seen) < 0.05 + margin


def warned(manifest, quotas=None, deadline=None):
    return [*warnings_of(manifest, quotas or {}, 5, deadline, 1_000_000)]


def test_warnings_name_what_an_operator_did_not_mean(server):
    assert warned(draft(LENGTH)) == []
    (wide,) = warned(draft(LENGTH, noise="fresh:0.00001"))
    assert "“Length”" in wide
    assert "wider than the range" in wide
    (units,) = warned(draft(LENGTH, WARMTH))
    assert "(m, °C) share the protected distance 1" in units
    assert warned(draft(LENGTH | {"distance": 2}, WARMTH | {"distance": 1})) == []
    assert "larger than the range" in warned(draft(LENGTH, distance=200))[0]
    assert warned(draft(LENGTH, LENGTH | {"id": "longest", "high": 500}, distance=200)) == []
    assert "quota of “Length”" in warned(draft(LENGTH), {"length": 4})[0]
    assert "has passed" in warned(draft(LENGTH), deadline=999_999)[0]
    assert "30 minutes away" in warned(draft(LENGTH), deadline=1_000_000 + 30 * 60_000)[0]
    assert "1 minute away" in warned(draft(LENGTH), deadline=1_000_000 + 60_000)[0]
    assert warned(draft(BIRD, noise="response:1", distance=None)) == []


@pytest.mark.slow
def test_each_unit_gets_its_own_distance(server, console):
    campaign = console.create(**{"title-1": "Warmth", "unit-1": "°C", "low-1": "-10", "high-1": "40", "grid-1": "0.1"})
    page = text_of(console.get(f"/campaigns/{campaign}"))
    assert "Tasks with different units" in page
    assert "(m, °C), no conclusion" in page  # units in every promise
    before = server.status(campaign)["tasks"]
    for wrong in ("x", "0", "-1", ""):
        answer = console.post(f"/campaigns/{campaign}/distances", **{"distance-0": "5", "distance-1": wrong})
        assert answer.status_code == (303 if not wrong else 422)
    answer = console.post(f"/campaigns/{campaign}/distances", **{"distance-0": "5", "distance-1": "0,5"})
    assert answer.status_code == 303, answer.text
    tasks = server.status(campaign)["tasks"]
    assert [task["distance"] for task in tasks] == ["5", "0.5"]
    assert [task["title"] for task in tasks] == [task["title"] for task in before]
    assert "Tasks with different units" not in text_of(console.get(f"/campaigns/{campaign}"))
    assert 'value="5"' in console.get(f"/campaigns/{campaign}/privacy").text  # what the promise depends on
    answer = console.post(f"/campaigns/{campaign}/privacy", epsilon="0.5", distance="2", unit="reading", law="fresh")
    assert answer.status_code == 303, answer.text
    status = server.status(campaign)  # one distance for all again, said once
    assert (status["distance"], {task["distance"] for task in status["tasks"]}) == ("2", {None})
    assert console.post(f"/campaigns/{campaign}/open").status_code == 303
    assert console.post(f"/campaigns/{campaign}/distances", **{"distance-0": "1"}).status_code == 409


def test_only_the_operators_own_pages_can_frame_the_preview_and_only_of_drafts(server, console):
    campaign = console.create()
    page = console.get(f"/campaigns/{campaign}/preview")
    assert "frame-ancestors 'self'" in page.headers["content-security-policy"]
    assert page.headers["x-frame-options"] == "SAMEORIGIN"
    assert console.get(f"/campaigns/{campaign}/preview/manifest").json()["campaign"] == campaign
    made = server.client.post("/api/operators", json={"name": "Second"}, headers=server.operator).json()
    assert Console(server, made["token"]).get(f"/campaigns/{campaign}/preview").status_code == 404
    server.open(campaign)
    assert console.get(f"/campaigns/{campaign}/preview").status_code == 409
