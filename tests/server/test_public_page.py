"""The public page of results: truths, how they were made, the promise; only what everybody may see."""

import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import plans
from console_client import Console
from questions import ASKED_WIDTH, MIXED
from server_under_test import OPERATOR_TOKEN, LocalServer, SetClock
from sottovoce.protocol import Manifest, Promise
from sottovoce.protocol.promise import sentence
from sottovoce.server.app import create_app
from sottovoce.server.console.charts import forest_plot, weights_chart
from sottovoce.server.settings import Settings
from sottovoce.server.storage.campaigns import published_campaign
from sottovoce.server.storage.results import add_results, newest_results
from sottovoce.texts import LANGUAGES, texts_in

TEMPLATES = Path(str(files("sottovoce.server.console"))) / "templates"


class Page(HTMLParser):
    """A page taken apart: its elements with their attributes, and its text."""

    def __init__(self, answer):
        super().__init__()
        self.elements, self.texts = [], []
        self.feed(answer if isinstance(answer, str) else answer.text)
        self.text = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, text):
        self.texts.append(text)

    def all(self, tag, **wanted):
        return [had for name, had in self.elements if name == tag and wanted.items() <= had.items()]

    def links(self):
        return [link["href"] for link in self.all("a")]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for all tests in this file that change nothing."""
    database = f"sqlite:///{tmp_path_factory.mktemp('public')}/campaigns.db"
    clock = SetClock()
    app = create_app(Settings(database=database, operator_token=OPERATOR_TOKEN), clock=clock, background=False)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield LocalServer(client, clock)


@pytest.fixture(scope="module")
def campaign(shared):
    """Two tasks with enough claims, a third with too few."""
    campaign = shared.opened(asked_by="Facility management", purpose="For signs that are right.")
    for place, token in enumerate(shared.participants(campaign, 9)):
        values = {"hall-0": 100 + place, "hall-1": 200 - place} | ({"hall-2": 777} if place < 4 else {})
        assert shared.report(campaign, token, shared.body(campaign, values)).status_code == 201
    shared.recompute()
    return campaign


@pytest.fixture(scope="module")
def page(shared, campaign):
    answer = shared.client.get(f"/c/{campaign}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    return Page(answer)


def test_it_shows_what_the_api_says(shared, campaign, page):
    for task in shared.results(campaign)["results"][:2]:
        line = re.search(rf"{task['title']} (\S+) m (\S+) to (\S+) (\S+) (\S+) 9 ", page.text)
        shown = [float(number) for number in line.groups()]
        known = [task[name] for name in ("truth", "low", "high", "mean", "median")]
        assert shown == pytest.approx(known, abs=0.05)  # intervals of about a metre: at least one decimal is shown
        assert f"{task['title']} {shown[0]:g}" in page.text.replace("0 m", " m")  # and in the plot


def test_it_says_how_the_results_were_made(shared, campaign, page):
    results = shared.results(campaign)
    assert "Noise-aware: people who agree with the crowd count more" in page.text
    assert "9 reports from 9 participants" in page.text
    assert "17 Mar 2030, 17:46 UTC , version 2" in page.text
    assert "tasks with at least 5 claims" in page.text
    assert results["as_of"] in {element["datetime"] for element in page.all("time")}


def test_the_promise_stands_there_in_words_and_figures(shared, campaign, page):
    promise = shared.results(campaign)["guarantee"]
    assert promise["sentence"] in page.text
    assert "ε 1 δ 0 Distance values up to 1 m apart Protects each reading" in page.text
    assert "fresh:0.5" in page.text


def test_a_task_with_too_few_claims_is_named_without_its_truth(page):
    assert "Truths not shown: 1 of 3. The truth of a task is shown once the task has 5 claims" in page.text
    assert "Hallway 2 too few claims 0" in page.text
    assert "77.7" not in page.text


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_distance_is_that_of_numbers_also_beside_questions(shared, language):
    mixed = shared.opened(**MIXED)
    words = {"en": "Distance values up to 1 m apart", "de": "Abstand Werte bis zu 1 m auseinander"}
    assert words[language] in Page(shared.client.get(f"/c/{mixed}?lang={language}")).text


def test_several_distances_are_listed(shared):
    far = ASKED_WIDTH | {"id": "height", "distance": 2.5}
    several = shared.opened(tasks=[ASKED_WIDTH | {"distance": 1}, far], noise="fresh:0.5")
    assert "Distance values up to 1 / 2.5 m apart" in Page(shared.client.get(f"/c/{several}")).text


def test_where_every_claim_counts_at_once_there_is_no_talk_of_steps(start_local):
    server = start_local(least_claims=1)
    campaign = server.opened()
    address = f"/c/{campaign}"
    assert "in steps" not in Page(server.client.get(address)).text
    (token,) = server.participants(campaign, 1)
    server.report(campaign, token, server.body(campaign, {"hall-0": 100}))
    server.recompute()
    found = Page(server.client.get(address)).text
    assert "Truths not shown: 2 of 3." in found
    assert "in steps" not in found
    assert "single out" not in found
    nobody = server.opened()
    server.client.post(f"/api/campaigns/{nobody}/close", headers=server.operator)
    server.recompute()
    assert "Nobody reported before this campaign closed" in Page(server.client.get(f"/c/{nobody}")).text


def test_every_download_is_there(shared, page):
    downloads = [link for link in page.links() if link.startswith("/api/")]
    assert [link.rpartition(".")[2] for link in downloads[:3]] == ["csv", "parquet", "jsonl"]
    assert all(shared.client.get(link).status_code == 200 for link in downloads)


def test_plots_are_described_in_words_and_pages_hold_nothing_that_the_policy_forbids(shared, campaign, page):
    drawn = page.all("svg", role="img")
    assert len(drawn) == 3  # two tasks, and the weights
    titles = len(page.all("title")) - 1
    assert titles >= len(drawn)
    assert not [had for _, had in page.elements if "style" in had or any(name.startswith("on") for name in had)]
    assert not [had for had in page.all("script") if "src" not in had]
    assert not page.all("style")
    policy = shared.client.get(f"/c/{campaign}").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_texts_by_operators_are_shown_as_text(shared):
    nasty = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    campaign = shared.opened(
        title=nasty, asked_by=f"{nasty}", purpose=f"{nasty}\n{nasty}",
        tasks=[{"id": nasty, "title": f"{nasty}'\"", "unit": '"><b onclick=1>', "low": 0, "high": 100, "grid": 0.1}],
    )  # fmt: skip
    for token in shared.participants(campaign, 5):
        shared.report(campaign, token, shared.body(campaign, {nasty: 100}))
    shared.recompute()
    for address in (f"/c/{campaign}", f"/c/{campaign}?search=%3Cscript%3Ealert(3)%3C/script%3E&sort=%3Cb%3E"):
        page = Page(shared.client.get(address))
        assert not [had for had in page.all("script") if "src" not in had]
        assert not page.all("img", src="x")
        assert not page.all("b", onclick="1")
        assert nasty in page.text


@pytest.mark.parametrize("address", ["nothing", "draft", "a%00b", "x" * 65, "%3Cb%3E"])
def test_what_is_not_there_is_explained_kindly(shared, address):
    answer = shared.client.get(f"/c/{shared.create() if address == 'draft' else address}")
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no" in answer.text or "Not found" in answer.text


def test_a_draft_looks_like_a_campaign_that_does_not_exist(shared):
    title = "A secret plan of ours"
    draft = shared.client.get(f"/c/{shared.create(title=title)}")
    assert draft.text == shared.client.get("/c/nothing").text
    assert title not in draft.text


def test_before_the_first_report_there_is_a_page_that_says_so(shared):
    campaign = shared.opened()
    page = Page(shared.client.get(f"/c/{campaign}"))
    assert "No results yet 3 tasks. Results appear once at least" in page.text
    assert shared.results(campaign)["guarantee"]["sentence"] in page.text
    assert not page.all("table")


def test_an_unchanged_page_is_not_sent_again(server):
    campaign = server.opened()
    server.crowd(campaign, 5)
    server.recompute()
    address = f"/c/{campaign}"
    first = server.client.get(address)
    known = {"If-None-Match": first.headers["etag"]}
    again = server.client.get(address, headers=known)
    assert (again.status_code, again.content) == (304, b"")
    # A browser takes these for the headers of the page it keeps: they must still let its stylesheet in.
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]
    assert server.client.get(f"{address}?sort=truth", headers=known).status_code == 200
    server.crowd(campaign, 5)
    server.recompute()
    assert server.client.get(address, headers=known).status_code == 200


def test_results_are_final_only_when_every_report_is_in_them(server):
    campaign = server.opened()
    server.crowd(campaign, 5)
    server.recompute()
    server.crowd(campaign, 5)
    chip = r'<span class="chip \w+">([^<]+)'
    assert re.search(chip, server.client.get(f"/c/{campaign}").text)[1] == "still collecting"
    known = server.client.get(f"/c/{campaign}").headers["etag"]
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    closed = server.client.get(f"/c/{campaign}", headers={"If-None-Match": known})
    assert re.search(chip, closed.text)[1] == "being finalised"
    server.recompute()
    assert re.search(chip, server.client.get(f"/c/{campaign}").text)[1] == "final"


def test_an_earlier_version_says_that_it_is_one(shared, campaign, page):
    assert f"/c/{campaign}/versions/1" in page.links()
    earlier = Page(shared.client.get(f"/c/{campaign}/versions/1"))
    assert "This is version 1 of 2. See the newest version" in earlier.text
    assert "This is version" not in page.text
    assert shared.client.get(f"/c/{campaign}/versions/99").status_code == 404


def with_results(shared, tasks):
    """A campaign with this many tasks and results of 100,000 reports, which would take minutes to send."""
    campaign = shared.opened(halls=tasks)
    with shared.state.engine.execution_options(write=True).begin() as connection:
        key = published_campaign(connection, campaign).key
        results = json.loads(newest_results(connection, key).content)
        for place, task in enumerate(results["results"]):
            truth = (place * 7919) % tasks / 10  # each value once, in no order
            task |= {"truth": truth, "low": truth - 1, "high": truth + 1, "mean": truth, "median": truth, "claims": 9}
        results |= {"reports": 100_000, "participants": 100_000, "version": 2}
        add_results(connection, key, 2, "noise-aware", 100_000, 0, json.dumps(results).encode())
    return campaign


@pytest.mark.slow
def test_ten_thousand_tasks_come_a_page_at_a_time(shared):
    answer = shared.client.get(f"/c/{with_results(shared, 10_000)}")
    page = Page(answer)
    assert len(answer.content) < 150_000
    assert len(page.all("svg", role="img")) == 50
    assert "Tasks 1 to 50 of 10,000" in page.text
    following = next(had["href"] for had in page.all("a", rel="next"))
    assert "Tasks 51 to 100 of 10,000" in Page(shared.client.get(following)).text


@pytest.mark.parametrize(
    ("tag", "listed", "found"),
    [
        ("en", "Task 51 of 51.", "Task 51 of the 51 with “hallway” in their name."),
        ("de", "Aufgabe 51 von 51.", "Aufgabe 51 von 51 mit „hallway“ im Namen."),
        ("zh-Hans", "第 51 个任务，共 51 个。", "名称包含“hallway”的第 51 个任务，共 51 个。"),
    ],
)
def test_a_single_task_on_the_last_page_is_not_a_range(shared, tag, listed, found):
    campaign = with_results(shared, 51)
    for query, words in (("", listed), ("search=hallway&", found)):
        first = Page(shared.client.get(f"/c/{campaign}?{query}lang={tag}"))
        last = next(had["href"] for had in first.all("a", rel="next"))
        assert words in Page(shared.client.get(last)).text


def truths(answer):
    return [float(number) for number in re.findall(r'class="truth">([\d.]+)', answer.text)]


def test_tables_are_sorted_and_searched_by_plain_links(shared):
    campaign = with_results(shared, 200)
    page = Page(shared.client.get(f"/c/{campaign}"))
    by_truth = next(link for link in page.links() if "sort=truth" in link)
    upwards = shared.client.get(by_truth)
    assert truths(upwards) == pytest.approx([place / 10 for place in range(50)])
    assert Page(upwards).all("th", **{"aria-sort": "ascending"})
    down = next(link for link in Page(upwards).links() if "sort=truth&order=down" in link)
    assert truths(shared.client.get(down)) == pytest.approx([19.9 - place / 10 for place in range(50)])
    found = Page(shared.client.get(f"/c/{campaign}?search=hallway+199"))
    assert "One task has “hallway 199” in its name" in found.text
    assert "有 1 个任务" in Page(shared.client.get(f"/c/{campaign}?search=199&lang=zh-Hans")).text
    assert "No task has “attic” in its name" in Page(shared.client.get(f"/c/{campaign}?search=attic")).text


def row(name, truth, half=1.0, **changes):
    known = {"low": truth - half, "high": truth + half, "mean": truth, "median": truth, "claims": 9}
    return {"task": name, "title": "", "unit": "m", "truth": truth, **known, **changes}


def percents(text, pattern):
    return [float(found) for found in re.findall(pattern, text)]


def test_marks_stand_where_the_axis_says():
    """The ticks of the axis show where each number lies: a line through them must meet both ends of every interval."""
    rows = [row("a", 10.0, 2.0), row("b", 12.5, 3.0), row("c", 8.25, 1.5)]
    drawn = str(forest_plot(rows))
    ticks = re.findall(r'<text x="([\d.]+)%" y="14">([\d.]+)', drawn)
    (x0, first), (x1, last) = ((float(x), float(number)) for x, number in (ticks[0], ticks[-1]))
    ends = percents(drawn, r'class="interval" x1="([\d.]+)%" x2="[\d.]+%" y1="15" y2="15"')
    expected = [x0 + (entry["low"] - first) * (x1 - x0) / (last - first) for entry in rows]
    assert ends == pytest.approx(expected, abs=0.02)  # written with two decimals, as are the ticks


def test_each_unit_has_its_own_scale():
    drawn = forest_plot([row("a", 10.0), row("b", 20.0, unit="°C"), row("c", 11.0)])
    assert drawn.count('<ol class="forest">') == drawn.count("forest-axis") == 2


def test_truths_far_apart_are_drawn_each_around_its_own():
    drawn = str(forest_plot([row("a", 10.0), row("b", 1000.0)]))
    assert "Each task is plotted around its own truth" in drawn
    lows = percents(drawn, r'class="interval" x1="([\d.]+)%" x2="[\d.]+%" y1="15" y2="15"')
    assert lows[0] == lows[1]
    assert "Each around" not in forest_plot([row("a", 10.0), row("b", 12.0)])


def test_a_stray_mean_does_not_squeeze_the_intervals():
    drawn = str(forest_plot([row("a", 10.0, mean=1e9), row("b", 10.5, mean=-1e9)]))
    low, high = re.findall(r'class="interval" x1="([\d.]+)%" x2="([\d.]+)%" y1="15" y2="15"', drawn)[0]
    assert float(high) - float(low) > 25  # of the width: at worst the scale is twice as wide as it need be
    assert "›" in drawn
    assert "‹" in drawn


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [row("a", 10.0) | {"truth": None, "low": None, "high": None}],
        [row("a", 0.0, 0.0)],
        [row("a", 1e15, 0.0), row("b", -1e-12, 0.0)],
        [row("a", 10.0, low=None, high=None), row("b", 11.0, low=None, high=None)],
        [row("a", 5e149, 1e149)],
        [{"task": "old", "unit": "", "truth": 1.0, "low": 0.5, "high": 1.5, "claims": 5}],
    ],
    ids=["none", "withheld", "zero", "extremes", "no-interval", "huge", "version-without-averages"],
)
def test_any_results_can_be_drawn(rows):
    drawn = str(forest_plot(rows))
    shown = [one for one in rows if one["truth"] is not None]
    assert drawn.count("<li><span>") == len(shown)
    assert "nan" not in drawn
    assert "inf" not in drawn
    assert all(0 <= x <= 100 for x in percents(drawn, r'x[12]?="(-?[\d.]+)%"'))


def test_bars_are_as_high_as_their_counts():
    drawn = str(weights_chart({"edges": [0, 0.5, 1, None], "counts": [10, 0, 5]}))
    heights = percents(drawn, r'height="([\d.]+)" rx')
    assert heights[0] == 2 * heights[2]
    assert heights[1] == 0
    assert "The largest group, 10 of 15, has 0 to 0.5 times the mean weight" in drawn


LANGUAGE_NAMES = {
    "de": "Deutsch",
    "fr": "Français",
    "es": "Español",
    "it": "Italiano",
    "zh-Hans": "简体中文",
    "en": "English",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_it_speaks_the_browsers_language_or_the_chosen_one(shared, campaign, language):
    by_browser = shared.client.get(f"/c/{campaign}", headers={"Accept-Language": f"pt, {language};q=0.9, en;q=0.1"})
    assert by_browser.headers["content-language"] == language
    assert by_browser.headers["vary"] == "Accept-Language"
    chosen = shared.client.get(f"/c/{campaign}?lang={language}", headers={"Accept-Language": "it"})
    for answer in (by_browser, chosen):
        page = Page(answer)
        assert page.all("html", lang=language)
        assert texts_in(language).say("results.made.title") in page.text
        assert " ".join(sentence_in(shared, campaign, language).split()) in page.text
    assert {name for name in LANGUAGE_NAMES.values() if name in Page(chosen).text} == set(LANGUAGE_NAMES.values())
    # What was chosen stays when the table is sorted or another version is looked at.
    inner = [link for link in Page(chosen).links() if link.startswith(f"/c/{campaign}")]
    assert inner
    assert all(f"lang={language}" in link for link in inner)


def sentence_in(server, campaign, language):
    manifest = Manifest.parse(server.client.get(f"/api/campaigns/{campaign}/manifest").content)
    return sentence(manifest, Promise(1.0, 0.0), language)


def test_numbers_and_moments_are_written_as_the_language_does(shared):
    task = {"id": "a", "title": "A", "unit": "m", "low": 0, "high": 100_000, "grid": 0.1}
    campaign = shared.opened(tasks=[task])
    tokens = shared.participants(campaign, 5)
    for place, token in enumerate(tokens):
        shared.report(campaign, token, shared.body(campaign, {"a": 123_456 + place}))
    shared.recompute()
    shown = {tag: Page(shared.client.get(f"/c/{campaign}?lang={tag}")).text for tag in LANGUAGES}
    assert re.search(r"\b12,345\.\d", shown["en"])
    assert re.search(r"\b12\.345,\d", shown["de"])
    assert re.search(r"\b12 345,\d", shown["fr"])  # a narrow space in the page
    assert re.search(r"\b12\.345,\d", shown["es"])
    assert "17. März 2030, 17:46 UTC" in shown["de"]
    assert "2030年3月17日 17:46 UTC" in shown["zh-Hans"]
    assert "12,345." not in shown["de"]


def test_texts_of_the_campaign_are_in_that_language_where_it_has_them(shared):
    yes, no = {"en": "yes", "de": "ja"}, {"en": "no", "de": "nein"}
    body = {
        "language": "en", "title": {"en": "Paths", "de": "Wege"}, "asked_by": {"en": "We", "de": "Wir"},
        "noise": "response:1", "tasks": [{"id": "p", "title": {"en": "Icy?", "de": "Vereist?"}, "choices": [yes, no]}],
    }  # fmt: skip
    campaign = shared.client.post("/api/campaigns", json=body, headers=shared.operator).json()["id"]
    shared.open(campaign)
    for token in shared.participants(campaign, 6):
        assert shared.report(campaign, token, shared.body(campaign, {"p": 0})).status_code == 201
    shared.recompute()
    german, french = (Page(shared.client.get(f"/c/{campaign}?lang={tag}")).text for tag in ("de", "fr"))
    assert "Wege" in german
    assert "Anfrage von Wir" in german
    assert "Vereist?" in german
    assert re.search(r"\bja\b", german)
    assert not re.search(r"\byes\b", german)
    assert "Icy?" in french  # as the campaign says it where there is no other text
    assert shared.client.get(f"/c/{campaign}?lang=de&search=vereist").text.count("Vereist?") >= 1


@pytest.mark.parametrize("asked", ["lang=xx", "lang=", "lang=de&lang=zz", "lang=%00", "lang=" + "d" * 5000])
def test_unknown_languages_are_not_an_error(shared, campaign, asked):
    assert (
        shared.client.get(f"/c/{campaign}?{asked}", headers={"Accept-Language": b"\xe9;q=9,*;q=x,,"}).status_code == 200
    )


def words_left(template):
    """What a template says by itself: without its expressions, tags and comments."""
    return re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<[^>]*>", " ", template, flags=re.DOTALL)


def test_no_words_are_in_the_templates_of_the_public_page():
    """Nor in the templates that it includes. Signs and the program's name are the same in all languages."""
    names, seen = ["base.html", "public.html", "public_missing.html"], {}
    for name in names:
        seen[name] = (TEMPLATES / name).read_text()
        names += [other for other in re.findall(r'{% include "([\w.]+)"', seen[name]) if other not in names]
    assert "_results.html" in seen
    for name, template in seen.items():
        assert set(re.findall(r"[^\W\d_]{2,}", words_left(template))) <= {"Sottovoce", "public", "console"}, name
        assert not re.search(r'content: "[^"]*[A-Za-z]', (TEMPLATES.parent / "static" / "results.css").read_text())
        attributes = re.findall(r'(?:aria-label|title|alt|placeholder|data-label)="([^"]+)"', template)
        assert all("{{" in text for text in attributes), name


@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_people_never_see_the_ids_of_tasks(server):
    """Titles are for people; the files have both, since a title may change with the language, and an id never does."""
    tasks = [
        {"id": "zz-hall", "title": "Main hall", "unit": "m", "low": 0, "high": 50, "grid": 0.1, "distance": 1},
        {"id": "zz-bird", "title": "Which bird?", "choices": ["finch", "robin"]},
        {"id": "zz-few", "title": "The other hall", "unit": "m", "low": 0, "high": 50, "grid": 0.1, "distance": 1},
    ]
    campaign = server.create(
        tasks=tasks, noise={"number": "fresh:0.5", "choice": "response:1"}, known={"zz-hall": "10"}
    )
    plans.put(server, campaign)
    plans.place(server, campaign, {task["id"]: [[10, 20]] for task in tasks})
    server.open(campaign)
    for token in server.participants(campaign, 8):
        body = server.body(campaign, {"zz-hall": 100, "zz-bird": 1})
        assert server.report(campaign, token, body).status_code == 201
    server.recompute()
    console = Console(server)
    for closed in (False, True):
        if closed:
            server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
            server.recompute()
        for language in ("en", "de", "zh-Hans"):
            page = server.client.get(f"/c/{campaign}?lang={language}").text
            assert "Which bird?" in page
            assert "Main hall" in page
            assert "zz-" not in page
        assert "zz-" not in console.get(f"/campaigns/{campaign}").text
    header = server.client.get(f"/api/campaigns/{campaign}/results.csv").text.splitlines()[0]
    assert header.split(",")[:2] == ['"task"', '"title"']
