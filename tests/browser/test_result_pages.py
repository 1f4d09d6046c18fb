"""The public page of results and the analyst's page in a real browser: wide and narrow, dark and light, on paper."""

import re
from functools import partial
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from browser.accessibility import assert_accessible, press_until
from browser.people import at_browsers
from patience import until
from server_under_test import OPERATOR_TOKEN

WIDTHS = (320, 390, 768, 1280, 2560)
NASTY = "<img src=x onerror=alert(1)><script>alert(2)</script>"
CLAIMS = "\n".join(
    ["user,object,value"]
    + [f"user {n},object {place},{10 * place + n * (1 if n < 6 else 3)}" for n in range(7) for place in range(4)]
    + [f"user 1,{NASTY},5", f"user 2,{NASTY},6"]
)
TASKS = [
    {"id": "hall", "title": f"Entrance to library {NASTY}", "unit": "m", "low": 0, "high": 100, "grid": 0.1},
    {"id": "noise", "title": "Donaudampfschifffahrtsgesellschaftskapitän" * 3, "unit": "dB", "low": 0, "high": 100,
     "grid": 0.1},
    {"id": "rare", "title": "Attic", "unit": "m", "low": 0, "high": 100, "grid": 0.1},
]  # fmt: skip


@pytest.fixture(scope="module")
def addresses(server):
    """A campaign with results, one without, and none at all."""
    campaign = server.opened(title=f"How long are the hallways? {NASTY}", purpose="For signs.", tasks=TASKS)
    values = [{"hall": 400 + 5 * n, "noise": 600 - 3 * n} | ({"rare": 50} if n == 0 else {}) for n in range(7)]
    server.report_all(campaign, server.participants(campaign, 7), values)
    until(lambda: server.results(campaign)["reports"] == 7, "results of all")
    return {"results": f"/c/{campaign}", "empty": f"/c/{server.opened()}", "missing": "/c/nothing"}


@pytest.fixture(scope="module")
def cookie(server):
    """The session of an operator."""
    with httpx.Client(base_url=server.url) as client:
        assert client.post("/sign-in", data={"token": OPERATOR_TOKEN}).status_code == 303
        return {"name": "session", "value": client.cookies["session"], "url": server.url}


class Viewer:
    """A viewer's browser, which records whatever goes wrong on a page."""

    def __init__(self, browser, server, cookie, **options):
        self.url = server.url
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.context.add_cookies([cookie])
        self.page = self.context.new_page()
        self.faults = []
        self.page.on("pageerror", lambda mistake: self.faults.append(str(mistake)))
        self.page.on("dialog", lambda dialog: (self.faults.append(dialog.message), dialog.dismiss()))
        self.page.on("console", self._note)

    def _note(self, message):
        # What the browser itself reports about an intended error, or about a header without TLS.
        expected = ("Failed to load resource", "Cross-Origin-Opener-Policy header has been ignored")
        if message.type == "error" and not any(words in message.text for words in expected):
            self.faults.append(message.text)

    def open(self, address):
        self.page.goto(self.url + address)
        return self.page

    def choose(self, content=CLAIMS, name="claims.csv"):
        payload = {"name": name, "mimeType": "text/csv", "buffer": content.encode()}
        self.page.locator("#claims").set_input_files(payload)

    def find(self):
        self.page.get_by_role("button", name="Find the truth").click()

    def answer(self):
        self.open("/analyst")
        self.choose()
        self.page.get_by_label("CRH:").check()
        self.find()
        expect(self.page.get_by_role("heading", name="What the claims say")).to_be_visible()
        return self.page


@pytest.fixture
def viewer(browser, server, cookie):
    with at_browsers(partial(Viewer, browser, server, cookie)) as make:
        yield make


def stages(viewer, addresses):
    """Every page in all its states."""
    page = viewer.page
    for name, address in addresses.items():
        viewer.open(address)
        for summary in page.locator("summary").all():
            summary.click()
        yield name
    viewer.open("/analyst")
    page.locator("summary").click()
    yield "form"
    viewer.choose("who,what\n1,2\n")
    viewer.find()
    expect(page.locator("#answer .problem")).to_be_visible()
    yield "mistake"
    viewer.answer()
    for summary in page.locator("#answer summary").all():
        summary.click()
    yield "answer"


@pytest.mark.slow
def test_axe_finds_nothing_serious(viewer, addresses):
    one = viewer(bypass_csp=True, reduced_motion="reduce")
    for stage in stages(one, addresses):
        assert_accessible(one.page, stage)


@pytest.mark.slow
def test_pages_fit_windows_of_any_width(viewer, addresses):
    one = viewer()
    for stage in stages(one, addresses):
        for width in WIDTHS:
            one.page.set_viewport_size({"width": width, "height": 900})
            assert one.page.evaluate("document.documentElement.scrollWidth") <= width, (stage, width)


def test_names_and_letters_keep_their_size_on_phones(viewer, addresses):
    page = viewer(viewport={"width": 320, "height": 640}).open(addresses["results"])
    drawn = page.locator(".forest svg[role=img]").first.bounding_box()
    assert drawn["width"] > 250
    size = page.locator(".forest-axis text").first.evaluate("(text) => text.getBoundingClientRect().height")
    assert size >= 12
    name = page.locator(".forest li > span").first.bounding_box()
    assert name["y"] + name["height"] <= drawn["y"] + 1  # above its strip …
    page.set_viewport_size({"width": 1280, "height": 900})
    drawn, name = (page.locator(f".forest li > {one}").first.bounding_box() for one in ("svg", "span"))
    assert name["x"] + name["width"] <= drawn["x"] + 1  # … or beside it


def test_texts_by_others_are_shown_as_text(viewer, addresses):
    one = viewer()
    page = one.open(addresses["results"])
    expect(page.locator("h1")).to_contain_text("<script>alert(2)</script>")
    expect(page.locator(".forest li").first).to_contain_text("<img src=x")
    assert page.locator("img[src=x]").count() == 0
    page = one.answer()
    expect(page.get_by_role("table", name="Objects with the truth")).to_contain_text("<img src=x")
    assert page.locator("img[src=x]").count() == 0


def colours(page):
    return page.evaluate(
        """() => [getComputedStyle(document.documentElement).backgroundColor,
        getComputedStyle(document.querySelector('.found-0')).color]"""
    )


def test_light_and_dark_mode_have_their_own_colours(viewer, addresses):
    light, dark = (colours(viewer(color_scheme=scheme).open(addresses["results"])) for scheme in ("light", "dark"))
    assert light[0] != dark[0]
    assert light[1] != dark[1]


def test_a_page_that_has_not_changed_still_has_its_style(viewer, addresses, server):
    """The second time the answer is only that nothing changed, and the browser applies the headers of that answer."""
    one = viewer()
    answers = []
    one.page.on(
        "response", lambda answer: answers.append(answer.status) if answer.url.endswith(addresses["results"]) else 0
    )
    first = colours(one.open(addresses["results"]))
    for _ in range(2):
        one.page.reload()
        assert colours(one.page) == first
    assert len(answers) == 3


def test_pages_print_well(viewer, addresses):
    one = viewer(color_scheme="dark")
    page = one.open(addresses["results"])
    expect(page.get_by_role("heading", name="Downloads")).to_be_visible()
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    expect(page.get_by_role("heading", name="Downloads")).to_be_hidden()
    expect(page.get_by_text("Noise law")).to_be_visible()  # what is folded on screens is open on paper
    expect(page.locator(".imprint")).to_contain_text(addresses["results"])
    printed = page.pdf(format="A4")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 4


def test_everything_works_by_keyboard_alone(viewer, addresses):
    one = viewer()
    page = one.open(addresses["results"])
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    press_until(page, "Tab", "thead th:nth-child(2) a")
    page.keyboard.press("Enter")
    expect(page.locator("thead th").nth(1)).to_have_attribute("aria-sort", "ascending")
    press_until(page, "Tab", "summary")
    page.keyboard.press("Space")
    expect(page.get_by_role("table", name="Participants by weight")).to_be_visible()

    one.open("/analyst")
    one.choose()  # the system's own window, which no page can open by itself
    page.locator("#claims").focus()
    press_until(page, "Tab", "#value")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What the claims say")).to_be_visible()
    press_until(page, "Tab", "table[data-sortable] th:nth-child(2) button")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.locator("table[data-sortable] th").nth(1)).to_have_attribute("aria-sort", "descending")
    truths = page.locator("table[data-sortable] td.truth").all_inner_texts()
    numbers = [float(truth.replace("−", "-")) for truth in truths]
    assert numbers == sorted(numbers, reverse=True)


def test_a_mistake_keeps_the_form_and_its_file(viewer):
    one = viewer()
    page = one.open("/analyst")
    one.choose(CLAIMS.replace("user,object,value", "who,object,value", 1), "mine.csv")
    page.get_by_label("GTM:").check()
    one.find()
    expect(page.locator("#answer .problem")).to_contain_text("mine.csv: there is no column 'user' among 'who'")
    expect(page.get_by_label("GTM:")).to_be_checked()
    page.get_by_label("who", exact=True).fill("who")
    one.find()  # the file is still chosen
    expect(page.get_by_role("heading", name="Methods side by side")).to_be_visible()
    expect(page.locator("#answer .problem")).to_have_count(0)
    expect(page.locator(".legend")).to_contain_text("gtm")


DOORS = "\n".join(
    ["user,object,value"]
    + [f"user {n},door {place},{'open' if place % 2 or n > 4 else 'closed'}" for n in range(7) for place in range(4)]
    + [f"user {n},{NASTY},{NASTY if n else 'open'}" for n in range(5)]
)


def test_choices_are_drawn_as_bars_and_sorted_by_their_answer(viewer):
    one = viewer()
    page = one.open("/analyst")
    one.choose(DOORS, "doors.csv")
    page.get_by_label("Dawid–Skene").check()
    one.find()
    expect(page.get_by_role("heading", name="What the claims say")).to_be_visible()
    expect(page.locator("#answer ul.answers")).to_have_count(5)
    expect(page.locator("table[data-sortable] thead")).to_contain_text("Runner-up")
    page.locator("table[data-sortable] th button", has_text="noise-aware").click()
    expect(page.locator("table[data-sortable] th").nth(1)).to_have_attribute("aria-sort", "ascending")
    truths = page.locator("table[data-sortable] td.truth").all_inner_texts()
    assert truths == sorted(truths)
    assert {"open", "closed", NASTY} == {*truths}
    for width in (320, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as CSV").click()
    assert "runner_up" in Path(waiting.value.path()).read_text()


def test_what_is_shown_can_be_saved_and_copied(viewer):
    one = viewer(permissions=["clipboard-read", "clipboard-write"])
    page = one.answer()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as CSV").click()
    assert waiting.value.suggested_filename == "truths.csv"
    content = Path(waiting.value.path()).read_text()
    assert content == page.locator("textarea").input_value()
    assert content.startswith('"object","truth","low","high","claims","effective_users","mean","median","crh"\n')
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.splitlines() == [
        f"sottovoce discover claims.csv --method {method} --out truths-{method}.csv"
        for method in ("noise-aware", "crh")
    ]


def test_a_file_that_is_too_large_is_not_even_sent(viewer):
    one = viewer()
    page = one.open("/analyst")
    sent = []
    page.on("request", lambda request: sent.append(request.method))
    one.choose("x" * 9_000_000, "large.csv")
    expect(page.locator("#claims-error")).to_contain_text(
        "large.csv: its size is 9.0 MB, but at most 8.4 MB can be uploaded here"
    )
    one.find()
    page.wait_for_timeout(200)
    assert "POST" not in sent
    one.choose()
    expect(page.locator("#claims-error")).to_be_empty()
    one.find()
    expect(page.get_by_role("heading", name="What the claims say")).to_be_visible()


def test_without_scripts_everything_is_still_there(viewer, addresses):
    one = viewer(java_script_enabled=False)
    page = one.open(addresses["results"])
    expect(page.locator(".forest li")).to_have_count(2)
    page = one.answer()
    expect(page.locator("textarea")).to_have_count(1)
    expect(page.get_by_role("heading", name="The same on the command line")).to_be_visible()
    expect(page.get_by_label("CRH:")).to_be_checked()


def test_the_columns_of_a_file_are_offered(viewer):
    one = viewer()
    page = one.open("/analyst")
    one.choose(CLAIMS.replace("user,object,value", '"who, really",object,value', 1), "mine.csv")
    pick = page.get_by_label("Columns of the file: who")
    assert pick.locator("option").all_inner_texts() == ["columns of the file …", "who, really", "object", "value"]
    expect(page.get_by_label("Columns of the file: about what")).to_have_value("object")
    pick.select_option("who, really")
    expect(page.locator("#user")).to_have_value("who, really")
    one.find()
    expect(page.get_by_role("heading", name="What the claims say")).to_be_visible()
    page.locator("#user").fill("nobody")
    expect(pick).to_have_value("")
    one.choose('{"a": 1, "b": 2, "c": 3}\n', "mine.jsonl")
    expect(pick.locator("option")).to_have_count(4)
    one.choose("PAR1", "mine.parquet")  # no text: names are typed
    expect(page.locator("select.columns")).to_have_count(0)


def test_the_answer_is_saved_as_a_self_contained_page(viewer, tmp_path):
    one = viewer()
    page = one.answer()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as a page").click()
    assert waiting.value.suggested_filename == "truths.html"
    waiting.value.save_as(tmp_path / "truths.html")
    text = (tmp_path / "truths.html").read_text()
    assert "<script" not in text
    assert "<button" not in text
    page.goto((tmp_path / "truths.html").as_uri())
    expect(page.get_by_role("heading", name="What the claims say")).to_be_visible()
    expect(page.get_by_role("table", name="Users by weight")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"
