"""The plan of the place in a real browser: tasks are put on it, results colour it, participants choose on it."""

import re

import pytest
from playwright.sync_api import expect

from browser.accessibility import assert_accessible
from browser.conftest import PHONE
from browser.test_console import operator  # noqa: F401
from patience import until
from plans import SVG, drawn, encoded, place, put

PLACES = {"hall-0": [[1000, 5000], [5000, 5000]], "hall-1": [[5000, 5000], [5000, 9000]], "hall-2": [[9000, 1000]]}


def places_of(server, campaign):
    return {task["id"]: task["place"] for task in server.status(campaign)["tasks"] if task["place"]}


@pytest.fixture
def desk(operator):  # noqa: F811
    one = operator(bypass_csp=True)
    one.sign_in()
    return one


def test_tasks_are_placed_by_mouse_and_keyboard(desk, server, tmp_path):
    campaign = server.create()
    page = desk.open(f"{server.url}/campaigns/{campaign}/plan")
    (tmp_path / "plan.png").write_bytes(encoded(drawn()))
    page.get_by_label("Picture", exact=True).set_input_files(tmp_path / "plan.png")
    page.get_by_role("button", name="Upload").click()
    plan = page.get_by_role("application", name="Plan of the place")
    page.locator(".plan-picture img").evaluate("(image) => image.decode()")
    box = plan.bounding_box()
    assert box["height"] == pytest.approx(box["width"] * 3 / 4, abs=3)  # the picture has loaded, in its shape
    plan.click(position={"x": box["width"] * 0.25, "y": box["height"] * 0.5})
    plan.click(position={"x": box["width"] * 0.75, "y": box["height"] * 0.5})
    expect(page.get_by_role("status").last).to_contain_text("Hallway 0: point 2 at 7")
    page.get_by_role("radio", name="Hallway 1").check()
    plan.focus()
    for key in ("ArrowLeft", "ArrowLeft", "Shift+ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("status").last).to_contain_text("Hallway 1: point 1 at 7")
    page.keyboard.press("n")
    expect(page.get_by_role("radio", name="Hallway 2")).to_be_checked()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")
    assert_accessible(page, "placing")
    page.get_by_role("button", name="Save the places").click()
    expect(page.get_by_role("heading", name="Open the campaign?")).to_be_visible()
    found = places_of(server, campaign)
    (left, middle), (right, also) = found["hall-0"]
    assert (left, right) == (pytest.approx(2500, abs=40), pytest.approx(7500, abs=40))
    assert middle == pytest.approx(5000, abs=40)
    assert middle == also or abs(middle - also) < 40
    assert found["hall-1"] == [[right - 200, also - 10]]
    assert found["hall-2"] == [[right - 200, also - 10]]
    page.goto(f"{server.url}/campaigns/{campaign}/plan")
    expect(page.locator(".plan-picture path.mark")).to_have_count(3)
    page.get_by_role("button", name="Take the task off the plan").click()
    page.get_by_role("button", name="Save the places").click()
    until(lambda: "hall-0" not in places_of(server, campaign), "saved places")


def test_tasks_are_placed_by_touch(operator, server):  # noqa: F811
    phone = operator(**PHONE)
    phone.sign_in()
    campaign = server.create(halls=1)
    put(server, campaign, encoded(drawn()))
    page = phone.open(f"{server.url}/campaigns/{campaign}/plan")
    plan = page.get_by_role("application")
    page.locator(".plan-picture img").evaluate("(image) => image.decode()")
    box = plan.bounding_box()
    plan.tap(position={"x": box["width"] / 2, "y": box["height"] / 4})
    page.get_by_role("button", name="Save the places").tap()
    expect(page.get_by_role("heading", name="Open the campaign?")).to_be_visible()
    ((x, y),) = places_of(server, campaign)["hall-0"]
    assert (x, y) == (pytest.approx(5000, abs=60), pytest.approx(2500, abs=60))


@pytest.fixture(scope="module")
def coloured(server):
    """A campaign whose results are on a plan."""
    campaign = server.create()
    put(server, campaign)
    place(server, campaign, PLACES)
    server.open(campaign)
    server.crowd(campaign, 10)
    until(lambda: server.results(campaign)["reports"] == 10, "results of all")
    return campaign


def stroke(locator):
    return locator.evaluate("(mark) => getComputedStyle(mark).stroke")


def test_results_colour_the_plan_and_print_in_both_ways(operator, server, coloured):  # noqa: F811
    anybody = operator(bypass_csp=True)
    page = anybody.open(f"{server.url}/c/{coloured}")
    first, second = page.locator("figure.map").all()
    expect(first).to_be_visible()
    expect(second).to_be_hidden()
    marks = first.locator("path.mark[d^='M']:has(title)").all()
    assert len(marks) == 3
    assert len({stroke(mark) for mark in marks}) == 3  # 10, 20 and 30 metres
    legend = {stroke(entry.locator("path.mark")): entry.inner_text() for entry in first.locator(".legend li").all()}
    for mark, metres in zip(marks, (10, 20, 30), strict=True):
        low, high = map(float, re.findall(r"[\d.]+", legend[stroke(mark)]))
        assert low - 1 <= metres <= high + 1
    # A point is as large as a line is wide, whatever the shape of the picture.
    picture, image = first.locator("svg[role=img]").bounding_box(), first.locator("img").bounding_box()
    assert picture == image
    assert_accessible(page, "results on the plan")
    page.get_by_text("How certain", exact=True).first.click()
    expect(first).to_be_hidden()
    expect(second).to_be_visible()
    page.get_by_role("radio", name="Truth (m)").focus()
    page.keyboard.press("ArrowRight")
    expect(second).to_be_visible()
    page.emulate_media(media="print")
    expect(first).to_be_visible()
    expect(second).to_be_visible()
    assert not [request.url for request in anybody.requests if not request.url.startswith(server.url)]


def test_a_hostile_drawing_opened_by_itself_runs_and_loads_nothing(operator, server, coloured):  # noqa: F811
    """Even if a script got into the database: the response's own policy forbids it everything."""
    import sqlite3

    evil = SVG.replace(
        b"</svg>",
        b'<script>document.documentElement.setAttribute("ran", "yes")</script>'
        b'<image href="/j/icon.svg" width="9" height="9"/></svg>',
    )
    database = server.database.removeprefix("sqlite:///")
    with sqlite3.connect(database, timeout=30) as connection:
        key = connection.execute("SELECT key FROM campaigns WHERE id = ?", [coloured]).fetchone()[0]
        (before,) = connection.execute("SELECT content FROM plans WHERE campaign_key = ?", [key]).fetchone()
        connection.execute("UPDATE plans SET content = ? WHERE campaign_key = ?", [evil, key])
        connection.commit()
    stranger = operator()
    stranger.faults = []
    try:
        page = stranger.open(f"{server.url}/api/campaigns/{coloured}/plan")
        assert page.evaluate("document.documentElement.getAttribute('ran')") is None
        assert {one.failure for one in stranger.requests if "/j/icon.svg" in one.url} <= {"csp"}
    finally:
        stranger.faults.clear()  # the browser reports what it refused
        with sqlite3.connect(database, timeout=30) as connection:
            connection.execute("UPDATE plans SET content = ? WHERE campaign_key = ?", [before, key])
            connection.commit()


@pytest.fixture
def planned(server):
    """A campaign with a plan, and a link to it."""
    campaign = server.create()
    put(server, campaign, encoded(drawn()))
    place(server, campaign, PLACES)
    server.open(campaign)
    return campaign, server.invite(campaign)[0]["url"]


def test_a_participant_chooses_a_task_on_the_plan(participant, planned, server):
    phone = participant(bypass_csp=True)
    page = phone.join(planned[1])
    marks = page.get_by_role("group", name="Tasks on the plan").get_by_role("button")
    expect(marks).to_have_count(3)
    image = page.locator(".plan-picture img")
    assert image.evaluate("(image) => image.decode().then(() => [image.naturalWidth, image.naturalHeight])") == [
        400,
        300,
    ]
    box = page.locator(".plan-picture svg").bounding_box()
    page.touchscreen.tap(box["x"] + 0.9 * box["width"], box["y"] + 0.1 * box["height"])  # hall-2
    expect(page.locator("#reading-2")).to_be_focused()
    page.keyboard.type("12.5")
    expect(page.get_by_role("button", name="Hallway 2: entered")).to_have_count(1)
    page.locator("#reading-0").focus()  # chosen in the list, shown on the plan
    expect(page.locator("path.mark.chosen")).to_have_attribute("d", "M1000 5000L5000 5000")
    page.get_by_role("button", name="Hallway 0").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="Hallway 1")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#reading-1")).to_be_focused()
    page.get_by_role("button", name="Larger plan").click()
    assert page.locator(".plan-picture").bounding_box()["width"] > 1.4 * box["width"]
    assert_accessible(page, "the plan")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_which_task_somebody_looks_at_stays_on_the_phone(participant, planned, server):
    phone = participant()
    page = phone.join(planned[1])
    expect(page.get_by_role("button", name="Hallway 1")).to_have_count(1)
    phone.wait_for_service_worker()
    before = len(phone.requests)
    for name in ("Hallway 1", "Hallway 2", "Hallway 0"):
        page.get_by_role("button", name=name).dispatch_event("click")
    page.wait_for_timeout(300)
    assert [one.url for one in phone.requests[before:] if "/api/" in one.url] == []
    (plan,) = [one for one in phone.requests if one.url.endswith("/plan")]
    assert "authorization" not in plan.headers
    assert "cookie" not in plan.headers


def test_the_plan_is_available_without_a_network(participant, planned, server):
    phone = participant()
    page = phone.join(planned[1])
    expect(page.get_by_role("button", name="Hallway 1")).to_have_count(1)
    phone.wait_for_service_worker()
    kept = "async () => Boolean((await caches.match('plan.js')) && (await caches.match('plan.css')))"
    until(lambda: page.evaluate(kept), "plan kept for later")
    phone.context.set_offline(True)
    page.reload()
    expect(page.get_by_role("button", name="Hallway 1")).to_have_count(1)
    phone.context.set_offline(False)


def test_a_picture_other_than_the_promised_one_is_not_shown(participant, planned):
    phone = participant()
    other = encoded(drawn().rotate(180))
    phone.context.route("**/api/campaigns/*/plan", lambda route: route.fulfill(body=other, content_type="image/png"))
    page = phone.join(planned[1])
    expect(page.get_by_text("The plan does not match the campaign’s terms")).to_be_visible()
    expect(page.locator(".plan-picture")).to_have_count(0)
    phone.send("12.5", "", "")
    expect(page.locator("#pairs")).to_be_visible()  # measuring works without it


def test_a_campaign_without_a_plan_loads_nothing_of_it(participant, invited):
    _, url = invited()
    phone = participant()
    phone.join(url)
    phone.wait_for_service_worker()
    assert not [one.url for one in phone.requests if re.search(r"/plan[.](js|css)$|/plan$", one.url)]
