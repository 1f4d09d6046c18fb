"""Results on the plan: each task in the colour of its figures, with a legend that says what the colour means."""

import re
from itertools import pairwise

import pytest

from console_client import Console
from plans import SVG, place, put
from questions import MIXED, answered, mostly
from sottovoce.server.console.plan_maps import nice_edges, percent_edges, plan_maps
from sottovoce.texts import LANGUAGES, texts_in


def row(task, truth, half=1.0, **more):
    return {"task": task, "title": "", "unit": "m", "truth": truth, "low": truth - half, "high": truth + half} | more


def shown(rows, places=None, language="en"):
    places = places or {one["task"]: [[1, 2]] for one in rows}
    tasks = [{"id": one["task"], "place": places.get(one["task"])} for one in rows]
    manifest = {"tasks": tasks, "plan": {"sha256": "", "type": "image/png"}}
    return str(plan_maps({"campaign": "c", "results": rows}, manifest, language))


def marks(page, number=0):
    """Class and description of every mark of a map."""
    figure = page.split('<figure class="map">')[number + 1]
    return re.findall(r'<path class="mark ([\w-]+)" d="[^"]+"><title>(.*?)</title>', figure)


def legend(page, number=0):
    figure = page.split('<figure class="map">')[number + 1]
    return dict(re.findall(r'<path class="mark ([\w-]+)" d="[^"]+"/></svg>(.*?)</li>', figure))


@pytest.mark.parametrize("figures", [[3.7, 4.1, 9.9], [0.0, 1.0], [-5e9, 5e9], [1e-7, 3e-7], [1234.5, 1234.6]])
def test_edges_of_colours_are_round_and_hold_all_figures(figures):
    found = nice_edges(figures)
    assert len(found) <= 8
    assert found[0] <= min(figures)
    assert found[-1] >= max(figures)
    steps = {round((high - low) / (found[1] - found[0]), 6) for low, high in pairwise(found)}
    assert steps == {1.0}
    digits = f"{found[1] - found[0]:.3e}".partition("e")[0].rstrip("0").rstrip(".")
    assert digits in ("1", "2", "2.5", "5")


@pytest.mark.parametrize("figures", [[0.0], [7.5, 7.5], [-3.0], [1e-300], [1e300, -1e300]])
def test_edges_of_odd_figures_hold_them(figures):
    found = nice_edges(figures)
    assert found[0] <= min(figures) <= max(figures) <= found[-1]


def test_a_higher_truth_is_darker_and_a_narrower_interval_is_surer():
    page = shown([row("a", 10, 0.5), row("b", 20, 1.0), row("c", 30, 3.0)])
    truth = [name for name, _ in marks(page)]
    assert truth == sorted(truth)
    assert (truth[0], truth[-1]) == ("truth-0", "truth-6")
    sure = [name for name, _ in marks(page, 1)]
    assert sure == sorted(sure, reverse=True)
    assert (sure[0], sure[-1]) == ("sure-6", "sure-0")
    for number, values in ((0, (10, 20, 30)), (1, (0.5, 1.0, 3.0))):
        words = legend(page, number)
        for (name, _), value in zip(marks(page, number), values, strict=True):
            low, high = map(float, re.findall(r"\d+\.?\d*", words[name]))
            assert low <= value <= high, (words[name], value)


def test_a_task_without_a_truth_is_marked_as_unknown_and_one_without_a_place_is_not_there():
    rows = [row("a", 10), row("b", 20) | {"truth": None}, row("c", 30)]
    page = shown(rows, places={"a": [[0, 0]], "b": [[5, 5], [6, 6]]})
    assert {name for name, _ in marks(page)} == {"truth-3", "unknown"}
    assert "not known" in legend(page).values()
    assert len(marks(page)) == 2


def test_units_have_scales_of_their_own_and_names_are_escaped():
    page = shown([row("a", 1), row("b", 2), row("<i>c</i>", 900, unit="lx"), row("d", 10, unit="lx")])
    assert page.count('<figure class="map">') == 4
    assert "Truth (lx)" in page
    assert "<i>" not in page
    assert [len(marks(page, number)) for number in range(4)] == [2] * 4  # what has another unit is on other maps
    assert "unknown" not in {name for name, _ in marks(page)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_its_numbers(language):
    page = shown([row("a", 0.25), row("b", 1.5)], language=language)
    comma = "," in legend(page)["truth-0"]
    assert comma == (texts_in(language).texts["number.decimal"] == ",")


def test_nothing_is_drawn_without_a_plan_or_without_truths():
    rows = [row("a", 10)]
    tasks = {"tasks": [{"id": "a", "place": [[1, 1]]}]}
    assert plan_maps({"campaign": "c", "results": rows}, tasks) == ""
    nothing = [rows[0] | {"truth": None}]
    assert plan_maps({"campaign": "c", "results": nothing}, tasks | {"plan": {"sha256": ""}}) == ""


def test_chances_are_shown_in_tenths():
    assert percent_edges([0.55, 0.9])[0] == 0.5
    assert percent_edges([0.05])[0] == 0.3
    assert percent_edges([1.0]) == [0.9, 1.0]


def test_the_public_page_and_the_console_show_the_plan(server):
    campaign = server.create()
    put(server, campaign)
    place(server, campaign, {"hall-0": [[100, 100]], "hall-1": [[0, 0], [900, 900]]})
    server.open(campaign)
    server.crowd(campaign, 12)
    server.recompute()
    console = Console(server)
    pages = [server.client.get(f"/c/{campaign}"), console.get(f"/campaigns/{campaign}"),
             console.get(f"/campaigns/{campaign}/findings?version=1")]  # fmt: skip
    for page in pages:
        assert page.status_code == 200
        assert f'<img src="/api/campaigns/{campaign}/plan" alt="">' in page.text
        assert [words.partition(":")[0] for _, words in marks(page.text)] == ["Hallway 0", "Hallway 1"]
    assert server.client.get(f"/api/campaigns/{campaign}/plan").content != SVG  # rewritten


@pytest.mark.slow
def test_answers_have_a_colour_each_and_say_how_sure_they_are(server):
    campaign = server.create(**MIXED)
    put(server, campaign)
    place(server, campaign, {"path": [[1, 1]], "bird": [[2, 2]], "width": [[3, 3]]})
    server.open(campaign)
    answered(server, campaign, 30, mostly)
    server.recompute()
    page = server.client.get(f"/c/{campaign}").text
    assert page.count('<figure class="map">') == 6  # answer and chance of two questions, truth and interval of a number
    titles = re.findall(r'<label for="map-\d">(.*?)</label>', page)
    assert titles == [
        "Answer: yes / no", "How certain: yes / no", "Truth (m)", "How certain (m)",
        "Answer: finch / robin / wren / tit", "How certain: finch / robin / wren / tit",
    ]  # fmt: skip
    assert legend(page)["answer-0"] == "yes"
    assert legend(page, 4)["answer-0"] == "robin"
