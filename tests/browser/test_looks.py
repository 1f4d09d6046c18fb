"""The page on narrow and wide screens, dark and light, by keyboard and by screen reader; and how much a phone loads."""

import json
import re
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from browser.accessibility import assert_accessible, press_until

PAGE = Path(str(files("sottovoce"))) / "device" / "page"
LARGEST_PAGE = 75_000  # bytes, as they travel, before a language, an instrument or a plan is loaded


def test_the_page_is_small(server):
    """All that a phone loads, once: what the service worker keeps for everybody, and that script itself."""
    worker = server.client.get(f"{server.url}/j/service-worker.js").text
    listed = json.loads(worker.removeprefix("const FILES=").partition("\n")[0])
    for_some = re.compile(r"texts/|instrument-|(plan|person)\.")
    sizes = {}
    with httpx.Client(base_url=server.url, headers={"Accept-Encoding": "gzip, br"}) as client:
        for name in [*listed, "service-worker.js"]:
            if for_some.match(name):
                continue
            with client.stream("GET", f"/j/{name}") as answer:
                sizes[name] = len(b"".join(answer.iter_raw()))
    assert len(sizes) > 10
    assert min(sizes.values()) > 100  # none is empty
    assert sum(sizes.values()) < LARGEST_PAGE


def test_the_page_starts_with_few_requests(participant, server):
    """On a slow network each further request costs as much as kilobytes: scripts come in bundles, all requested by the
    page itself and not by one another.
    """
    phone = participant()
    expect(phone.open(f"{server.url}/j/").locator("h1")).to_be_visible()
    loaded = phone.page.evaluate(
        "() => performance.getEntriesByType('resource').map(({ name }) => name.split('/').at(-1))"
    )
    scripts = {name for name in loaded if name.endswith(".js")} - {"noise-worker.js", "service-worker.js"}
    page = server.client.get(f"{server.url}/j/").text
    preloaded = set(re.findall(r'rel="modulepreload"[^>]* href="([\w-]+\.js)"', page))
    assert scripts == preloaded
    assert len(scripts) <= 5


def test_the_page_is_not_empty_before_its_scripts_arrive(participant, server):
    phone = participant()
    phone.context.route("**/*.js", lambda route: route.abort())
    page = phone.open(f"{server.url}/j/")
    expect(page.locator("main .loading")).to_be_visible()
    phone = participant(java_script_enabled=False)
    page = phone.open(f"{server.url}/j/")
    expect(page.locator("main .loading")).to_be_hidden()


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip", "gzip"),
        ("br, GZIP;q=0.5", "gzip"),
        ("gzip ; q = 1.0 , br", "gzip"),
        ("gzip;q=0", None),
        ("gzip;q=0.000, br", None),
        ("x-gzip", None),
        ("identity", None),
        ("", None),
    ],
)
def test_files_are_compressed_for_clients_that_accept_it(server, accepted, coding):
    """Compressed or not, the content has the service worker's hash, and each encoding has its own ETag."""
    for name in ("style.css", "instrument-step-counter.js"):
        answer = server.client.get(f"{server.url}/j/{name}", headers={"Accept-Encoding": accepted})
        assert answer.headers.get("content-encoding") == coding
        assert answer.headers["vary"] == "Accept-Encoding"
        assert answer.content == (PAGE / name).read_bytes()
        known = {"If-None-Match": answer.headers["etag"]}
        again = server.client.get(f"{server.url}/j/{name}", headers={"Accept-Encoding": accepted, **known})
        assert (again.status_code, again.content) == (304, b"")
        other = {"Accept-Encoding": "identity" if coding else "gzip", **known}
        assert server.client.get(f"{server.url}/j/{name}", headers=other).status_code == 200


def test_the_page_comes_from_its_server_alone(participant, invited, server):
    _, url = invited()
    phone = participant()
    page = phone.join(url)
    phone.wait_for_service_worker()
    assert {request.url.split("/")[2] for request in phone.requests} == {server.url.split("/")[2]}
    answer = server.client.get(url)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"  # its address is a secret
    assert answer.headers["referrer-policy"] == "no-referrer"
    worker = server.client.get(f"{server.url}/j/service-worker.js")
    assert worker.headers["content-type"].startswith("text/javascript")
    assert worker.headers["cache-control"] == "no-cache"
    again = server.client.get(f"{server.url}/j/style.css")
    tag = {"If-None-Match": again.headers["etag"]}
    assert server.client.get(f"{server.url}/j/style.css", headers=tag).status_code == 304
    for wrong in ("nothing.js", "../app.py", "a/b", "x" * 129):
        assert server.client.get(f"{server.url}/j/{wrong}").status_code == 404
    assert page.evaluate("document.querySelectorAll('[style]').length") == 0


def stages(phone, url, server):
    """The page in all its states, one after the other."""
    page = phone.open(url)
    expect(page.get_by_role("button", name="Join this campaign")).to_be_visible()
    page.get_by_text("The figures").click()
    yield "offer"
    page.get_by_role("button", name="Join this campaign").click()
    expect(page.get_by_role("heading", name="Your readings")).to_be_visible()
    yield "form"
    phone.send("twelve", "", "")
    expect(page.locator("#reading-0-error")).not_to_be_empty()
    yield "mistake"
    phone.send("12.3", "45", "7")
    expect(page.locator("#pairs")).to_be_visible()
    yield "pairs"
    expect(page.locator("li .chip.delivered")).to_be_visible()
    yield "delivered"
    page.get_by_role("button", name="Withdraw…").click()
    yield "dialog"
    page.get_by_role("button", name="Keep taking part").click()
    for view in ("ledger", "limits", "how", "campaigns"):
        page.goto(f"{server.url}/j/#{view}")
        expect(page.locator("h1")).to_be_visible()
        yield view
    phone.open(url.partition("#")[0][:-2])
    expect(page.locator("h1")).to_be_visible()
    yield "problem"


@pytest.mark.slow
def test_axe_finds_nothing_serious(participant, invited, server):
    _, url = invited()
    phone = participant(bypass_csp=True, reduced_motion="reduce")
    for stage in stages(phone, url, server):
        assert_accessible(phone.page, stage)


@pytest.mark.slow
def test_nothing_is_cut_off_at_320_pixels(participant, invited, server):
    _, url = invited()
    phone = participant(viewport={"width": 320, "height": 640})
    for stage in stages(phone, url, server):
        width = phone.page.evaluate("document.documentElement.scrollWidth")
        assert width <= 320, stage
        heights = phone.page.eval_on_selector_all(
            "main button", "(all) => all.filter((one) => one.checkVisibility()).map((one) => one.offsetHeight)"
        )
        assert all(height >= 40 for height in heights), stage  # large enough for a finger


def test_everything_works_by_keyboard_alone(participant, invited, claims):
    campaign, url = invited(halls=2)
    phone = participant(viewport={"width": 1280, "height": 800}, is_mobile=False, has_touch=False)
    page = phone.open(url)
    expect(page.get_by_role("button", name="Join this campaign")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Skip to content")).to_be_focused()
    press_until(page, "Tab", "summary")
    page.keyboard.press("Enter")
    expect(page.locator("dl")).to_be_visible()
    press_until(page, "Tab", "main button")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your readings")).to_be_visible()
    expect(page.locator("#reading-0")).to_be_focused()
    page.keyboard.type("12.5")
    page.keyboard.press("Enter")
    expect(page.locator("#reading-1")).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#send")).to_be_focused()  # and not pressed
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("Space")
    expect(page.locator("#reading-1")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("30")
    press_until(page, "Tab", "#send")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Check again")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#send")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator("#yes")).to_be_visible()
    press_until(page, "Tab", "#yes")
    page.keyboard.press("Space")
    expect(page.locator("#pairs")).to_be_focused()
    expect(page.locator("li .chip.delivered")).to_be_visible()
    assert len(claims(campaign)) == 2
    press_until(page, "Tab", "main > div > button")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("button", name="Withdraw…")).to_be_focused()


def test_what_is_pressed_right_after_an_answer_is_not_lost(participant, invited):
    """A key or tap may come before the browser says that the dialog is closed."""
    _, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    phone.fill("12.5")
    page.locator("#send").click()
    expect(page.locator("#yes")).to_be_visible()
    page.evaluate("() => ['dialog button.plain', '#send'].forEach((each) => document.querySelector(each).click())")
    expect(page.locator("#yes")).to_be_visible()
    # It is being sent, so nothing is asked again. One moment later: soon the form is gone, and its button with it.
    page.evaluate("async () => { for (const each of ['#yes', '#send']) await document.querySelector(each).click(); }")
    expect(page.locator("li .chip.delivered")).to_be_visible()
    expect(page.locator("dialog")).to_have_count(0)


def test_skipping_to_the_content_does_not_lose_the_link(participant, invited):
    """The link's hash is in the fragment, which a skip link would replace."""
    _, url = invited()
    page = participant().open(url)
    expect(page.get_by_role("button", name="Join this campaign")).to_be_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert page.url == url
    expect(page.get_by_role("button", name="Join this campaign")).to_be_visible()
