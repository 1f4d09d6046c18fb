"""Every language is complete: no text is missing, unused or in the code, and numbers follow its conventions."""

import json
import math
import re
from importlib.resources import files
from pathlib import Path
from random import Random

import pytest
from playwright.sync_api import expect

from page_modules import sent
from page_promises import random_manifest
from patience import until
from sottovoce.privacy.sentence import privacy_sentence
from sottovoce.protocol import Promise
from sottovoce.protocol.promise import sentence
from sottovoce.texts import LANGUAGES, texts_in

SOURCE = Path(str(files("sottovoce")))
GAP = re.compile(r"\{(\w+)\}")
# say("form.title"), say(`problem.${code}.title`), texts.say("results.title"), say(f"promise.what.{what}")
USED = re.compile(r"""\b(?:say|knows)\(\s*f?(["'`])(.+?)\1""")
ENGLISH = texts_in("en").texts


def forms(text):
    return [text] if isinstance(text, str) else list(text.values())


def gaps(text):
    return set(GAP.findall(" ".join(forms(text))))


def patterns():
    """Patterns for the keys that the code uses: an expression matches anything."""
    sources = [*SOURCE.glob("device/page/*.js"), *SOURCE.rglob("*.py"), *SOURCE.rglob("*.html")]
    keys = {key for path in sources for _, key in USED.findall(path.read_text())}
    return {re.sub(r"\\?\$?\\?\{.*?\\?\}", r"[\\w-]+", re.escape(key)) for key in keys}


def mentioned():
    """Keys that an instrument names and uses later."""
    sources = "".join(path.read_text() for path in SOURCE.glob("device/page/instrument-*.js"))
    keys = re.findall(r'(?<!\bh\()"(\w+\.\w[\w.]*)"', sources)  # h("p.quiet") makes an element
    return {re.escape(key) for key in keys if not key.endswith(".js")}


def test_no_text_is_missing_and_none_is_unused():
    asked = patterns() | mentioned()
    assert len(asked) > 80
    assert {pattern for pattern in asked if not any(re.fullmatch(pattern, key) for key in ENGLISH)} == set()
    rules = {key for key in ENGLISH if key.startswith("number.")}
    assert {key for key in ENGLISH if not any(re.fullmatch(one, key) for one in asked)} - rules == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_every_text_with_its_placeholders(language):
    texts = texts_in(language).texts
    assert texts.keys() == ENGLISH.keys()
    for key, text in texts.items():
        assert key.startswith("number.") or all(form and form.strip() == form for form in forms(text)), key
        assert gaps(text) == gaps(ENGLISH[key]), key
        assert isinstance(text, str) == isinstance(ENGLISH[key], str), key


def test_texts_are_translated():
    """What is the same in two languages is a name, a sign or a word that both have."""
    for language in LANGUAGES[1:]:
        texts = texts_in(language).texts
        same = [key for key, text in texts.items() if text == ENGLISH[key] and re.search(r"\w{9}.*\w{4}", str(text))]
        assert all(GAP.sub("", str(texts[key])).strip(" :.,·-") == "" for key in same), (language, same)


def literals(source):
    """String literals of a module, without comments."""
    code = re.sub(r"^\s*(//|/?\*).*$|\s// .*$", "", source, flags=re.MULTILINE)
    return re.findall(r'"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`', code)


def test_no_words_are_in_the_code_of_the_page():
    """Two words in a row are a text. What remains is for machines: fields of a document, headers, selectors."""
    machine = re.compile(r"^(?:[\w? ]*(?:asked_by|choices|grid high|help id)[\w? ]*|not for canonical JSON)$")
    for path in SOURCE.glob("device/page/*.js"):
        for pair in literals(path.read_text()):
            text = "".join(pair)
            words = re.sub(r"\$\{[^}]*\}", "", text)
            if re.search(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", words):
                assert machine.match(words), f"{path.name}: {text}"


@pytest.fixture(scope="module")
def cases():
    """The cases, made once for all languages: that takes longer than the rest of the test."""
    draw = Random(20)
    promises = [
        Promise(10 ** draw.uniform(-3, 2), draw.choice([0.0, 0.4, 10 ** draw.uniform(-9, -1)])) for _ in range(60)
    ]
    # On both sides of where words change: factors of 3, 25 and a million, and chances of one in a hundred.
    edges = [math.log(factor) + side for factor in (3, 25, 10**6) for side in (-0.01, 0.01)]
    promises += [Promise(edge, 0.0) for edge in edges] + [Promise(0.5, 0.0099), Promise(0.5, 0.0101)]
    return [(random_manifest(draw), promise) for promise in promises]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_and_the_installed_client_state_the_same_promise(ask, cases, language):
    asked = [
        {"manifest": sent(one), "epsilon": str(promise.epsilon), "delta": promise.delta, "tag": language}
        for one, promise in cases
    ]
    assert ask("sentence", asked) == [sentence(one, promise, language) for one, promise in cases]


def test_the_promise_in_german():
    promise = privacy_sentence(1.0, 1e-5, "1500 m", "participant", 30, "de")
    assert promise.startswith(
        "Wer alles sieht, was Ihr Gerät sendet, erfährt fast nichts über Ihre Messwerte, selbst über alle 30 zusammen: "
        "Wäre jeder um höchstens 1.500 m anders gewesen, wäre keine Schlussfolgerung mehr als 2,72-mal so "
        "wahrscheinlich, außer mit einer Wahrscheinlichkeit von höchstens 1 zu 100.000. "
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_server_writes_numbers_as_browsers_do(ask, language):
    texts = texts_in(language)
    numbers = ["0", "7", "-3.50", "999", "1000", "1234.5", "-12345.678", "1234567", "9007199254740993.25"]
    assert ask("written", [{"tag": language, "name": "decimal", "values": numbers}]) == [
        [texts.decimal(number) for number in numbers]
    ]
    counts = [0, 1, 2, 3, 5, 11, 21, 100, 101, 9999]
    forms = ask("plural", [{"tag": language, "count": count} for count in counts])
    assert [form == "one" for form in forms] == [str(n) in texts.texts["number.singular"].split() for n in counts]


@pytest.mark.parametrize(
    ("language", "typed", "meant"),
    [
        ("de", "2,7", "2.7"),
        ("de", "2.7", "2.7"),
        ("de", "1.234,5", "1234.5"),
        ("de", "1.234.567", "1234567"),
        ("de", "1.234", None),
        ("de", "0.234", "0.234"),
        ("de", "1,234", "1.234"),
        ("en", "1,234", None),
        ("en", "1.234", "1.234"),
        ("en", "1,234.5", "1234.5"),
        ("en", "2,7", "2.7"),
        ("en", "−3,25", "-3.25"),
        ("fr", "12\u202f345,6", "12345.6"),
        ("fr", "1 234", "1234"),
        ("it", "1.234", None),
        ("zh-Hans", "２．７", "2.7"),
        ("zh-Hans", "2。7", "2.7"),
        ("de", "1'234.5", "1234.5"),
    ],
)
def test_numbers_are_read_as_people_write_them(ask, language, typed, meant):
    (found,) = ask("typed", [{"tag": language, "typed": typed}])
    assert found.get("reading") == meant
    if meant is None:
        assert {float(found["whole"]), float(found["part"])} == {1234.0, 1.234}


@pytest.mark.parametrize("typed", ["1.2.3", "1,2.3", "12 34", "1,23,456", "1.234,5,6", "zwei"])
def test_what_is_not_a_number_is_not_read_as_one(ask, typed):
    (found,) = ask("typed", [{"tag": "de", "typed": typed}])
    assert ask("number", [found["reading"]]) == [None]


@pytest.mark.parametrize(
    ("locale", "language"),
    [("de-CH", "de"), ("fr-CA", "fr"), ("zh-CN", "zh-Hans"), ("zh-TW", "zh-Hans"), ("pt-BR", "en"), ("es-419", "es")],
)
def test_the_browsers_language_comes_first(participant, server, locale, language):
    phone = participant(locale=locale)
    page = phone.open(f"{server.url}/j/")
    expect(page.locator("h1")).to_have_text(str(texts_in(language).texts["campaigns.title"]))
    assert page.evaluate("document.documentElement.lang") == language
    loaded = {request.url.rpartition("/")[2] for request in phone.requests if "/texts/" in request.url}
    assert loaded == {f"{language}.json"}  # and no other language


def test_switching_the_language_keeps_what_was_typed_and_is_remembered(participant, invited, server):
    _, url = invited(halls=2)
    phone = participant(locale="en-GB")
    page = phone.join(url)
    phone.fill("12.5")
    page.locator("#language").select_option("fr")
    expect(page.get_by_role("heading", name="Vos mesures")).to_be_visible()
    expect(page.locator("#reading-0")).to_have_value("12.5")
    expect(page.locator("main")).to_contain_text("par pas de 0,1")
    page.get_by_role("button", name="Ajouter du bruit et envoyer").click()
    phone.confirm()
    expect(page.locator(".stays b")).to_have_text("12,5 m")
    phone.wait_for_service_worker()
    page.goto(f"{server.url}/j/#ledger")
    expect(page.locator("h1")).to_have_text("Registre")
    expect(page.locator("nav")).to_contain_text("Campagnes")


def test_the_chosen_language_is_available_without_a_network(participant, server):
    phone = participant(locale="it-IT")
    page = phone.open(f"{server.url}/j/")
    phone.wait_for_service_worker()
    until(lambda: page.evaluate("async () => Boolean(await caches.match('texts/it.json'))"), "Italian kept for later")
    phone.context.set_offline(True)
    page.reload()
    expect(page.locator("h1")).to_have_text("Le tue campagne")


def test_a_language_that_fails_to_load_is_requested_again(participant, server):
    phone = participant(locale="it-IT", service_workers="block")
    failures = iter([True, True])
    phone.context.route("**/texts/it.json", lambda route: route.abort() if next(failures, None) else route.continue_())
    expect(phone.open(f"{server.url}/j/").locator("h1")).to_have_text("Le tue campagne")


def test_without_the_chosen_language_the_page_continues_in_another(participant, server):
    phone = participant(locale="it-IT", service_workers="block")
    phone.context.route("**/texts/it.json", lambda route: route.fulfill(status=503))
    page = phone.open(f"{server.url}/j/")
    expect(page.locator("h1")).to_have_text("Your campaigns")
    expect(page.locator("#language")).to_have_value("en")
    page.locator("#language").select_option("it")
    expect(page.get_by_text("That language could not be loaded.")).to_be_visible()
    expect(page.locator("#language")).to_have_value("en")
    phone.context.unroute("**/texts/it.json")
    page.locator("#language").select_option("it")
    expect(page.locator("h1")).to_have_text("Le tue campagne")
    expect(page.locator("header .banner:visible")).to_have_count(0)


def test_without_any_language_the_page_says_so_in_all(participant, server):
    phone = participant(locale="it-IT", service_workers="block")
    phone.context.route("**/texts/*.json", lambda route: route.abort())
    page = phone.open(f"{server.url}/j/")
    expect(page.get_by_text("This page could not be loaded completely.")).to_be_visible()
    expect(page.get_by_text("Non è stato possibile caricare tutta la pagina.")).to_be_visible()
    expect(page.locator(".loading")).to_be_hidden()
    phone.faults.clear()  # an error in the console belongs to it


def pseudo(text):
    """Longer, in brackets, and with words that do not break: what is not in brackets was not translated."""
    if isinstance(text, dict):
        return {form: pseudo(one) for form, one in text.items()}
    return f"⟦{text} {'verylongword' * max(1, len(text) // 60)}⟧"


def test_right_to_left_long_words_and_large_letters_break_nothing(participant, invited, server):
    """A made-up language that is read from right to left: everything that people see comes from its file."""
    kept = ("language.", "promise.learns", "promise.what", "promise.likely", "promise.chance")
    made_up = {key: text if key.startswith(kept) else pseudo(text) for key, text in ENGLISH.items()}
    made_up["language.direction"] = "rtl"
    _, url = invited(halls=2)
    phone = participant(viewport={"width": 360, "height": 740}, service_workers="block")
    phone.context.route("**/texts/en.json", lambda route: route.fulfill(body=json.dumps(made_up)))

    def check():
        assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        seen = page.evaluate(
            """() => {
                const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
                const seen = [];
                for (let node; (node = walk.nextNode()); )
                    if (!node.parentElement.closest("#language, #broken, noscript, .brand")) seen.push(node.data);
                return seen;
            }"""
        )
        seen = [text.strip() for text in seen if re.search(r"[A-Za-z]{3}", text)]
        assert seen
        of_the_campaign = re.compile(r"How long are the hallways|Hallway \d|[0-9a-f]{64}|^\w{3} \d+, 20\d\d, ")
        assert [text for text in seen if not text.startswith("⟦") and not of_the_campaign.search(text)] == []

    page = phone.open(url)
    page.locator("main button").first.click()
    expect(page.locator("#reading-0")).to_be_visible()
    check()
    # Letters at 200 %, as browsers and phones offer it.
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    check()
    phone.fill("12.5", "wrong")
    page.locator("#send").click()
    expect(page.locator("#reading-1-error")).not_to_be_empty()
    check()
    phone.fill("12.5", "7")
    page.locator("#send").click()
    check()
    phone.confirm()
    expect(page.locator("li .chip.delivered")).to_be_visible()
    check()
    for view in ("ledger", "limits", "how"):
        page.goto(f"{server.url}/j/#{view}")
        expect(page.locator("h1")).to_contain_text("⟦")
        check()
