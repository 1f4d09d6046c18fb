"""Questions at the console: the wizard, a table of tasks, the promise, and results with a bar per answer."""

import html
import re

import pytest

from questions import MIXED, answered, mostly

pytestmark = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)


QUESTION = {
    "title-0": "Is the path passable?",
    "choices-0": "yes | no",
    "unit-0": "",
    "low-0": "",
    "high-0": "",
    "grid-0": "",
}
WIDTH = {"title-1": "How wide?", "unit-1": "m", "low-1": "0", "high-1": "10", "grid-1": "0,1"}


def test_the_wizard_asks_a_question_beside_a_number(server, console):
    campaign = console.create(**QUESTION, **WIDTH)
    made = server.status(campaign)
    assert made["tasks"][0]["choices"] == ["yes", "no"]
    assert (made["tasks"][1]["grid"], made["tasks"][1]["distance"]) == ("0.1", "1")
    assert made["noise"]["choice"] == "response:1.0"
    page = console.get(f"/campaigns/{campaign}/privacy").text
    assert "In 27 of 100 cases your device sends the other answer on purpose" in page
    shown = console.get(f"/campaigns/{campaign}/privacy?epsilon=2&unit=participant&answer=1").text
    assert "In 12 of 100 cases" in shown
    saved = console.post(
        f"/campaigns/{campaign}/privacy", epsilon="2", unit="participant", answer="1", noise="fresh:2", distance="0.5"
    )
    assert saved.status_code == 303, saved.text
    made = server.status(campaign)
    assert (made["noise"], made["answer"], made["unit"]) == (
        {"number": "fresh:2.0", "choice": "response:2.0"}, 1, "participant",
    )  # fmt: skip
    assert made["tasks"][1]["distance"] == "0.5"
    draft = console.get(f"/campaigns/{campaign}").text
    assert "yes / no" in draft
    form = console.get(f"/campaigns/{campaign}/tasks").text
    assert 'value="yes | no"' in form


def test_a_question_alone_and_a_number_that_comes_later(server, console):
    campaign = console.create(**QUESTION)
    made = server.status(campaign)
    assert made["noise"] == "response:1.0"
    kept = {"id-0": made["tasks"][0]["id"], "title": "How long?", "asked_by": "Facility"}
    changed = console.post(f"/campaigns/{campaign}/tasks", **kept, **QUESTION, **WIDTH)
    assert changed.status_code == 303, changed.text
    made = server.status(campaign)
    assert made["noise"]["choice"] == "response:1.0"
    assert made["noise"]["number"].startswith("fresh:")


def test_questions_come_in_a_table_too(server, console):
    table = "id,title,unit,low,high,grid,choices\npath,Passable?,,,,,yes|no\nwidth,How wide?,m,0,10,0.1,\n"
    campaign = console.create(table=table)
    assert [task["kind"] for task in server.status(campaign)["tasks"]] == ["choice", "number"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({**QUESTION, "low-0": "0"}, "lowest value: '0': a question with choices has no lowest value; leave it empty"),
        ({**QUESTION, "choices-0": "yes"}, "a question has 2 to 100 choices"),
        ({**QUESTION, "choices-0": "yes | Yes"}, "must differ in more than spaces, case and"),
        ({**QUESTION, "choices-0": " | ".join(f"c{n}" for n in range(101))}, "a question has 2 to 100 choices"),
        ({"table": "id,choices,low\npath,yes|no,0\n"}, "low: '0': a question with choices has no lowest value"),
        (
            {"table": "id,choices,low\npath,,0\n"},
            "a number needs a lowest value, a highest value and a step",
        ),
    ],
)
def test_a_mistake_is_shown_at_the_form_and_nothing_is_stored(server, console, fields, words):
    page = console.post("/campaigns/new", **{"title": "Paths", "asked_by": "City", **fields})
    assert page.status_code == 422
    assert words in page.text.replace("&#39;", "'")
    assert server.rows("campaigns") == 0


def test_an_impossible_promise_is_reported_at_its_form(server, console):
    campaign = console.create(**QUESTION)
    for fields in ({"epsilon": "strong"}, {"epsilon": "-1"}, {"answer": "7"}):
        page = console.post(
            f"/campaigns/{campaign}/privacy", **{"epsilon": "1", "unit": "reading", "answer": "1", **fields}
        )
        assert page.status_code == 422, fields
        assert "banner wrong" in page.text
    assert server.status(campaign)["noise"] == "response:1.0"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"epsilon": "nan"}, "strength (ε) 'nan': it must be a number from 1e-9 to 1e7."),
        ({"answer": "3"}, "tasks that each participant answers '3': it must be a whole number from 1 to 2, in digits"),
        ({"answer": "0,5"}, "tasks that each participant answers '0,5': it must be a whole number from 1 to 2"),
        ({"distance": "far"}, "protected distance 'far': it must be a number from 1e-9 to 1e12."),
        ({"noise": "response:1"}, "noise law 'response:1': it is for answers, but here noise is added to numbers"),
    ],
)
def test_a_mistake_in_a_promise_is_reported_with_the_name_of_its_field(server, console, fields, words):
    campaign = console.create(**QUESTION, **WIDTH)
    sent = {"epsilon": "1", "unit": "reading", "answer": "2", "noise": "fresh:2", "distance": "0.5", **fields}
    page = console.post(f"/campaigns/{campaign}/privacy", **sent)
    assert page.status_code == 422
    assert words in html.unescape(page.text)


@pytest.mark.slow
def test_results_show_a_bar_for_each_answer_with_the_majority(server, console):
    campaign = server.opened(**MIXED)
    answered(server, campaign, 20, mostly)
    server.recompute()
    for page in (server.client.get(f"/c/{campaign}").text, console.get(f"/campaigns/{campaign}").text):
        bars = re.findall(r"<title>((?:yes|no|finch|robin|wren|tit): [^<]*)</title>", page)
        assert len(bars) == 6
        assert sum("the most frequent answer" in bar for bar in bars) == 2
        assert "Interval or chance" in page
    for sort in ("truth", "width", "claims", "task"):
        assert server.client.get(f"/c/{campaign}?sort={sort}&order=down").status_code == 200


def test_texts_in_several_languages_survive_the_wizard(server, console):
    title = {"en": "Paths", "de": "Wege"}
    path = {"id": "path", "title": {"en": "Passable?", "de": "Begehbar?"}, "help": "Look twice.",
            "choices": [{"en": "yes", "de": "ja"}, "no"]}  # fmt: skip
    campaign = server.create(title=title, tasks=[path], noise="response:1", readings=1)
    assert "Passable?" in console.get(f"/campaigns/{campaign}").text
    fields = {"id-0": "path", "title-0": "Passable?", "choices-0": "yes | no", "title": "Paths", "asked_by": "City"}
    assert console.post(f"/campaigns/{campaign}/tasks", **fields).status_code == 303
    (task,) = server.status(campaign)["tasks"]
    assert (task["title"], task["choices"], task["help"]) == (path["title"], path["choices"], "Look twice.")


def test_open_questions_are_listed_among_the_campaigns(server, console):
    titled = {"title": {"en": "Paths in the park", "de": "Wege im Park"}, "asked_by": "City gardens", "language": "en"}
    made = server.client.post("/api/campaigns", headers=server.operator, json={**MIXED, "distance": 1, **titled})
    assert made.status_code == 201, made.text
    opened = server.client.post(f"/api/campaigns/{made.json()['id']}/open", headers=server.operator)
    assert opened.status_code == 200, opened.text
    listed = console.get("/")
    assert listed.status_code == 200
    assert "Paths in the park" in listed.text
    assert "Wege" not in listed.text


def test_the_console_offers_the_methods_that_take_the_tasks(server, console):
    def offered(**terms):
        page = console.get(f"/campaigns/{server.opened(**terms)}").text
        return re.findall(r'<option value="([a-z-]+)"', re.search(r'<select id="method".*?</select>', page, re.S)[0])

    questions = offered(tasks=[MIXED["tasks"][0]], noise="response:1", readings=1)
    assert {"majority", "dawid-skene", "noise-aware"} <= {*questions}
    assert not {"gtm", "median"} & {*questions}
    assert {"gtm", "median"} <= {*offered(**MIXED)}


def wrong_shares(page):
    """The table beside the chart: strength and, for each number of choices, the share of wrong results."""
    table = re.search(r'<table class="strengths">(.*?)</table>', page, re.S)[1]
    rows = re.findall(r"<tr[^>]*><th scope=\"row\">([\d.]+)</th>(.*?)</tr>", table)
    return {float(epsilon): re.findall(r"<td>([^<]+)</td>", cells) for epsilon, cells in rows}


def test_the_cost_of_a_promise_for_answers_is_drawn(server, console):
    birds = {"title-2": "Which bird?", "choices-2": "finch | robin | wren | tit"}
    campaign = console.create(**QUESTION, **WIDTH, **birds)
    page = console.get(f"/campaigns/{campaign}/privacy?epsilon=1&answer=3").text
    assert page.count('class="curve') == 2  # questions with two choices, and with four
    # With 100 answers, 2 choices and ε = 1: a report names the truth with chance ½ + ½·tanh(½)·½ = 0.616, so votes
    # differ by 23.1 ± 9.7, and the truth loses with the chance Φ(-2.38) = 0.9 %.
    assert wrong_shares(page)[1.0][0] == "1%"
    fewer = wrong_shares(console.get(f"/campaigns/{campaign}/privacy?epsilon=1&answer=1").text)
    assert fewer[1.0][0] == "9%"  # 33 answers: Φ(-2.38 / √3) = 8.6 %
    assert "Numbers: the expected error of a truth is ±&nbsp;" in page
    for participants in ("none", "0", "1.5", "1e99"):
        refused = console.get(f"/campaigns/{campaign}/privacy?participants={participants}")
        assert refused.status_code == 422
        assert "participants" in refused.text


def test_a_single_number_beside_questions_has_the_error_of_fresh_noise(server, console):
    """Each participant's only reading under shared noise: nobody can estimate its variance."""
    campaign = console.create(**QUESTION, **WIDTH, **{"title-2": "Which bird?", "choices-2": "finch | robin | wren"})
    pages = [
        console.get(f"/campaigns/{campaign}/privacy", params={"noise": law}) for law in ("shared:0.5", "fresh:0.5")
    ]
    shared, fresh = (re.search(r"error of a truth is ±&nbsp;([\d.]+ m)", page.text)[1] for page in pages)
    assert shared == fresh


def test_the_cost_is_drawn_for_extreme_promises(server, console):
    many = {**QUESTION, "choices-0": " | ".join(f"answer {n}" for n in range(100))}
    campaign = console.create(**many)
    for epsilon in ("0.001", "700"):
        for participants in ("1", "1000000000"):
            page = console.get(f"/campaigns/{campaign}/privacy?epsilon={epsilon}&participants={participants}")
            assert page.status_code == 200, page.text
            assert "nan" not in page.text
            assert len(wrong_shares(page.text)[float(epsilon)]) == 1
