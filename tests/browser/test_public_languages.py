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


@pytest.mark.slow
def test_right_to_left_and_long_words_break_nothing(participant, pseudo_server):
    server = pseudo_server
    campaign = server.opened(title="QQQ", purpose="QQQ", asked_by="QQQ")
    server.crowd(campaign, 6)
    until(lambda: server.results(campaign)["reports"] >= 6, "results")
    page = participant(server=server, viewport={"width": 360, "height": 740}, locale="en-GB").page
    for address in (f"/c/{campaign}", "/c/nothing"):
        page.goto(f"{server.url}{address}")
        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address
        page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true })")
        known = re.compile(r"QQQ|Hallway \d|hall-\d|\d+ \w+ \d{4}, \d\d:\d\d UTC|noise-aware|https?://\S+")
        left = [known.sub("", unbracketed(text)) for text in page.evaluate(_SEEN)]
        assert [text for text in left if re.search(r"[A-Za-z]{3}", text)] == []


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
