"""For every eye, hand and ear: narrow and wide, dark and light, by keyboard, by screen reader; and light to load."""

import json
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

VENDOR = Path(__file__).with_name("vendor")
PAGE = Path(str(files("sottovoce"))) / "device" / "page"
LARGEST_PAGE = 60_000  # bytes, uncompressed


def test_vendored_files_are_those_that_were_recorded():
    recorded = json.loads((VENDOR / "vendored.json").read_text())
    found = {path.name for path in VENDOR.iterdir()} - {"vendored.json"}
    assert found == set(recorded)
    for name, origin in recorded.items():
        assert sha256((VENDOR / name).read_bytes()).hexdigest() == origin["sha256"], name


def test_the_page_is_small(server):
    """All that a phone loads, once."""
    client = httpx.Client(base_url=server.url, headers={"Accept-Encoding": "identity"})
    sizes = {path.name: len(client.get(f"/j/{path.name}").content) for path in PAGE.iterdir()}
    client.close()
    assert len(sizes) > 15
    assert sum(sizes.values()) < LARGEST_PAGE


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
    page.get_by_role("button", name="Stay").click()
    for view in ("ledger", "limits", "how", "campaigns"):
        page.goto(f"{server.url}/j/#{view}")
        expect(page.locator("h1")).to_be_visible()
        yield view
    phone.open(url.partition("#")[0][:-2])
    expect(page.locator("h1")).to_be_visible()
    yield "problem"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(participant, invited, server, scheme):
    _, url = invited()
    phone = participant(color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")  # the tool is put into the page
    axe = (VENDOR / "axe.min.js").read_text()
    for stage in stages(phone, url, server):
        phone.page.evaluate(axe)
        found = phone.page.evaluate("() => axe.run(document)")
        wrong = [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"] if one["impact"] != "minor"
        ]
        assert not wrong, stage
        assert len(found["passes"]) > 10


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
        assert all(height >= 40 for height in heights), stage  # a finger must hit it


def press_until(page, key, selector, most=40):
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector}: the keyboard does not lead there")


def test_by_keyboard_alone(participant, invited, claims):
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
    press_until(page, "Tab", "#reading-0")
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#reading-0")).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("12.5")
    page.keyboard.press("Tab")
    page.keyboard.type("30")
    press_until(page, "Tab", "#send")
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
