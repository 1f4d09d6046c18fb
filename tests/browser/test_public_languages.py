"""The public page of results in every language: everything comes from its file, and nothing breaks."""

import json
import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.test_languages import pseudo
from patience import until
from plans import place, put
from questions import ASKED_PATH, ASKED_WIDTH, answered
from sottovoce.texts import LANGUAGES, texts_in

_KEPT = ("language.", "number.", "date.", "percent")  # signs and rules, not words
_SEEN = """() => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = [];
    for (let node; (node = walk.nextNode()); )
        if (!node.parentElement.closest(".brand, .languages, code, blockquote")) seen.push(node.data.trim());
    return seen.filter((text) => /[A-Za-z]{3}/.test(text));
}"""


def unbracketed(text):
    """What does not come from the language: texts are in brackets, also within each other."""
    shorter = re.sub(r"⟦[^⟦⟧]*⟧", "", text)
    return text if shorter == text else unbracketed(shorter)


@pytest.fixture
def pseudo_server(start_server, tmp_path):
    """A server whose English is made up: longer, in brackets, read from right to left."""
    package = tmp_path / "made_up" / "sottovoce"
    shutil.copytree(Path(str(files("sottovoce"))), package, ignore=shutil.ignore_patterns("__pycache__"))
    texts = package / "texts" / "en.json"
    made_up = {
        key: text if key.startswith(_KEPT) else pseudo(text) for key, text in json.loads(texts.read_text()).items()
    }
    texts.write_text(json.dumps(made_up | {"language.direction": "rtl"}))
    database = f"sqlite:///{tmp_path}/campaigns.db"
    return start_server(database, PYTHONPATH=str(package.parent), PYTHONDONTWRITEBYTECODE="1")


# What makes the page wider than the screen.
_TOO_WIDE = """(width) => document.documentElement.scrollWidth <= width ? [] : [...document.body.querySelectorAll("*")]
    .filter((one) => !one.closest("svg") && one.getBoundingClientRect().width > width)
    .filter((one, _, all) => !all.some((other) => other !== one && one.contains(other)))
    .map((one) => one.outerHTML.slice(0, 120))"""
LONG = "QQQ" * 14  # a word of 42 letters: German has longer ones
LONG_TASKS = {
    "tasks": [
        {**ASKED_PATH, "title": LONG, "choices": [LONG, LONG + "-", "Q"]},
        {**ASKED_WIDTH, "title": LONG, "unit": LONG[:20], "high": 1_000_000},
    ],
    "noise": {"number": "fresh:0.00001", "choice": "response:2"},
    "readings": 2,
}


@pytest.mark.slow
def test_right_to_left_long_words_and_large_letters_break_nothing(participant, pseudo_server):
    server = pseudo_server
    words = {"title": LONG, "purpose": LONG * 3, "asked_by": LONG}
    numbers = server.opened(**words)
    server.crowd(numbers, 6)
    both = server.create(**words, **LONG_TASKS, distance=1)
    put(server, both)
    place(server, both, {"path": [[1000, 5000]], "width": [[5000, 2000], [5000, 9000]]})
    server.open(both)
    answered(server, both, 8, lambda number: {"path": number % 3, "width": 9_000_000 + number})
    for campaign in (numbers, both):
        until(lambda campaign=campaign: server.results(campaign)["reports"] >= 6, "results")
    page = participant(server=server, viewport={"width": 360, "height": 740}, locale="en-GB").page
    for address in (f"/c/{numbers}", f"/c/{both}", "/c/nothing"):
        page.goto(f"{server.url}{address}")
        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        assert page.evaluate(_TOO_WIDE, 360) == [], address
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })")
        known = re.compile(
            r"Q{2,}|path|width|Hallway \d|hall-\d|\d+ \w+ \d{4}, \d\d:\d\d [A-Z]+\S*|noise-aware|https?://\S+"
        )
        left = [known.sub("", unbracketed(text)) for text in page.evaluate(_SEEN)]
        assert [text for text in left if re.search(r"[A-Za-z]{3}", text)] == []
        for size in ("100%", "200%"):  # as browsers and phones offer it
            page.evaluate("(size) => { document.documentElement.style.fontSize = size }", size)
            assert page.evaluate(_TOO_WIDE, 360) == [], (address, size)


def test_the_switch_leads_to_the_same_page_in_another_language(participant, invited, server):
    campaign, _ = invited()
    page = participant(locale="fr-CA").page
    page.goto(f"{server.url}/c/{campaign}?sort=task")
    expect(page.locator("h2").first).to_have_text(texts_in("fr").say("results.noneYet"))
    for tag in LANGUAGES:
        page.locator(f".languages a[lang={tag}]").click()
        expect(page.locator("html")).to_have_attribute("lang", tag)
        assert f"sort=task&lang={tag}" in page.url
        expect(page.locator(".languages a[aria-current]")).to_have_attribute("lang", tag)
