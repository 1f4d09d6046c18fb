"""The last step of the wizard in a real browser: the preview of the participant's page, and the planner's promise."""

import re

from playwright.sync_api import expect

from browser.accessibility import assert_accessible
from browser.test_console import operator, planned  # noqa: F401
from plans import place, put


def test_the_preview_is_the_participants_page_and_sends_nothing(operator, server):  # noqa: F811
    draft = server.create(title="How warm is it?", halls=2)
    desk = operator(bypass_csp=True, reduced_motion="reduce")
    page = desk.sign_in()
    page.goto(f"{server.url}/campaigns/{draft}")
    seen = page.frame_locator(".phone iframe")
    expect(seen.get_by_role("heading", name="How warm is it?")).to_be_visible()
    expect(seen.locator("main")).to_contain_text("differed by up to 1 m")
    seen.get_by_role("button", name="Join this campaign").click()
    page.get_by_role("link", name="The questions").click()
    expect(seen.locator("#reading-1")).to_be_visible()
    seen.locator("#reading-0").fill("12")
    seen.locator("#reading-0").press("Enter")
    seen.get_by_role("button", name="Add noise and send").click()
    expect(seen.locator("#reading-0")).to_have_value("12")
    seen.locator("#language").select_option("de")
    expect(seen.locator("main")).to_contain_text("Messwerte")
    assert_accessible(page, "draft")
    assert {request.method for request in desk.requests if "/api/" in request.url} == set()
    assert page.evaluate("indexedDB.databases().then((all) => all.length)") <= 1
    stored = page.frames[1].evaluate(
        """() => new Promise((done) => {
          const opening = indexedDB.open("sottovoce", 1);
          opening.onsuccess = () => {
            const all = opening.result.transaction("record").objectStore("record").getAll();
            all.onsuccess = () => done(all.result.length);
          };
        })"""
    )
    assert stored == 0  # nobody joined


def test_the_preview_shows_the_plan_of_the_draft(operator, server):  # noqa: F811
    """The plan is not public yet. Choosing a task on it shows the question of that task."""
    draft = server.create(halls=2)
    put(server, draft)
    place(server, draft, {"hall-0": [[1000, 5000], [9000, 5000]], "hall-1": [[5000, 1000]]})
    assert server.client.get(f"{server.url}/api/campaigns/{draft}/plan").status_code == 404
    desk = operator()
    page = desk.sign_in()
    page.goto(f"{server.url}/campaigns/{draft}")
    page.get_by_role("link", name="The questions").click()
    seen = page.frame_locator(".phone iframe")
    picture = seen.locator(".plan-picture img")
    expect(picture).to_be_visible()
    picture.evaluate("(image) => image.decode()")
    assert picture.evaluate("(image) => [image.naturalWidth, image.naturalHeight]") == [400, 300]
    seen.locator("path.area").nth(1).dispatch_event("click")
    expect(seen.locator("#reading-1")).to_be_focused()
    assert {request.method for request in desk.requests if "/api/" in request.url} == set()


def test_a_promise_that_devices_refuse_is_refused_in_the_preview(operator, server):  # noqa: F811
    draft = server.create(noise="fresh:50")
    page = operator().sign_in()
    page.goto(f"{server.url}/campaigns/{draft}")
    expect(page.frame_locator(".phone iframe").locator("main .problem")).to_be_visible()


def test_a_click_on_the_chart_keeps_the_kind_of_noise(operator, server):  # noqa: F811
    """While the words of a new promise are being loaded, the old ones are marked as busy."""
    draft = server.create(halls=2)
    page = operator().sign_in()
    page.goto(f"{server.url}/campaigns/{draft}/privacy")
    planned(page)
    page.locator("#law-gaussian").check()
    expect(page.locator("#plan")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#plan")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#plan blockquote")).to_contain_text("except with a chance")
    plot = page.locator(".u-over")
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] * 0.75, "y": box["height"] * 0.97})
    expect(page.locator("#plan")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#law-gaussian")).to_be_checked()
    chosen = page.locator("#epsilon").input_value()
    expect(page.locator("#plan blockquote")).to_contain_text(re.compile(rf"ε = {re.escape(chosen)}0*,"))
    expect(page.locator(".offer .cost b").first).to_contain_text(" m")
