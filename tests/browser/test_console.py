"""The console in a real browser: a campaign from the first sign-in to its closing, and how its pages look and feel."""

import re
from functools import partial

import pytest
from playwright.sync_api import expect

from browser.accessibility import assert_accessible, press_until
from browser.conftest import PHONE, Participant
from browser.people import at_browsers
from patience import until
from questions import MIXED
from server_under_test import OPERATOR_TOKEN

DESK = {"viewport": {"width": 1280, "height": 860}, "is_mobile": False, "has_touch": False, "device_scale_factor": 1}
TASKS = ("Entrance to library", "Library to canteen", "Canteen to lecture hall")


class Operator(Participant):
    """An operator's browser; like a participant's, it notes every fault and request."""

    def __init__(self, browser, server, **options):
        super().__init__(browser, server, **{**DESK, **options})

    def sign_in(self):
        self.open(self.server.url)
        self.page.get_by_label("Operator token").fill(OPERATOR_TOKEN)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("heading", name="Campaigns", exact=True)).to_be_visible()
        return self.page

    def fill_question(self, title):
        page = self.page
        page.get_by_label("Title").fill(title)
        for place, task in enumerate(TASKS):
            fields = {"title": task, "unit": "m", "low": "0", "high": "100", "grid": "0.1"}
            for name, text in fields.items():
                page.locator(f"#{name}-{place}").fill(text)


@pytest.fixture
def operator(browser, server):
    with at_browsers(partial(Operator, browser, server)) as make:
        yield make


@pytest.fixture(scope="module")
def measured(server):
    """A campaign with results, and a draft."""
    campaign = server.opened(title="How warm is it?", halls=3)
    server.crowd(campaign, 8, steps=(210, 640, 805))
    server.invite(campaign, 2)
    draft = server.create(title="How loud is it?", halls=2)
    until(lambda: server.results(campaign)["reports"] == 8, "results of all")
    return campaign, draft


def planned(page):
    """Wait until the planner has drawn its chart and shown the promise."""
    expect(page.locator("#plot canvas")).to_be_visible()
    expect(page.locator("#plot-waits")).to_be_hidden()
    expect(page.locator("#plan blockquote")).to_be_visible()


@pytest.mark.slow
def test_a_campaign_from_the_sign_in_to_the_closing(operator, participant, server, tmp_path):
    """Sign in, create with the planner, open, invite, join on a phone, send, see the result come, export, close."""
    desk = operator()
    page = desk.sign_in()
    page.get_by_role("link", name=re.compile("New campaign|Create the first campaign")).click()
    desk.fill_question("How long are our hallways?")
    page.get_by_role("button", name="Add rows").click()
    expect(page.locator("#title-3")).to_be_focused()
    page.locator("#title-3").fill("Lecture hall to gate")  # unit, range and step went on from the row before
    page.get_by_role("button", name="Save and choose privacy").click()

    planned(page)
    expect(page.locator("#plan blockquote")).to_contain_text("ε = 1, δ = 0")
    first = page.locator(".offer").first.locator(".cost b").inner_text()
    page.locator("#participants").fill("10000")
    expect(page.locator(".offer").first.locator(".cost b")).not_to_have_text(first)
    # A click on the chart chooses the strength under it.
    plot = page.locator(".u-over")
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] * 0.75, "y": box["height"] * 0.97})
    expect(page.locator("#epsilon")).not_to_have_value("1")
    expect(page.locator("#law-fresh")).to_be_checked()
    page.locator("#epsilon").fill("2")
    page.locator("#distance").fill("1")
    expect(page.locator("#plan blockquote")).to_contain_text("ε = 2, δ = 0")
    page.get_by_role("button", name="Save this promise").click()

    expect(page.get_by_text("fresh:2.0")).to_be_visible()
    page.get_by_role("button", name="Open the campaign").click()
    expect(page.get_by_role("heading", name="Waiting for reports")).to_be_visible()
    campaign = page.url.rpartition("/")[2]
    assert server.status(campaign)["noise"] == "fresh:2.0"
    assert [task["unit"] for task in server.status(campaign)["tasks"]] == ["m"] * 4

    watching = desk.new_tab()
    watching.goto(f"{server.url}/campaigns/{campaign}")
    watching.evaluate("window.sameDocument = true")
    page.get_by_role("link", name="Invite people").click()
    page.get_by_label("How many people?").fill("6")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Create invitations").click()
    sheet = opened.value
    expect(sheet.locator(".qr svg")).to_have_count(6)
    links = [link.get_attribute("href") for link in sheet.locator(".address a").all()]
    assert len(set(links)) == 6
    sheet.close()
    page.reload()
    expect(page.locator(".chip.unspent")).to_have_count(6)
    page.get_by_role("button", name="Revoke").first.click()  # the newest
    expect(page.locator(".chip.revoked")).to_have_count(1)

    for link, readings in zip(links[:5], (41.7, 41.9, 41.5, 42.0, 41.8), strict=True):
        phone = participant()
        phone.join(link)
        phone.send(str(readings), "62.5", "18.2", "90")
        expect(phone.page.locator("li .chip.delivered")).to_be_visible()
        phone.context.close()
    refused = participant()
    refused.open(links[5])
    expect(refused.page.locator("main .problem")).to_be_visible()

    expect(watching.locator("#progress")).to_contain_text("5")
    expect(watching.locator(".forest")).to_be_visible()
    expect(watching.locator("#findings .results tbody tr")).to_have_count(4)
    assert watching.evaluate("window.sameDocument")  # without a reload
    watching.get_by_role("link", name="Truth", exact=True).click()
    truths = [float(cell.split()[0]) for cell in watching.locator("#findings td.truth").all_inner_texts()]
    assert truths == sorted(truths)

    for kind, name in (("results", "CSV"), ("claims", "Parquet")):
        link = watching.locator(f'a[href$="{kind}.{name.lower()}"]')
        with watching.expect_download() as waiting:
            link.click()
        path = tmp_path / f"{kind}.{name.lower()}"
        waiting.value.save_as(path)
        assert path.stat().st_size > 100
    assert len((tmp_path / "results.csv").read_text().splitlines()) == 5

    watching.get_by_role("link", name="Close the campaign").click()
    watching.get_by_role("button", name="Close it").click()
    expect(watching.locator(".chip.closed")).to_be_visible()
    assert server.status(campaign)["state"] == "closed"
    watching.get_by_role("button", name="Sign out").click()
    expect(watching.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto(f"{server.url}/campaigns/{campaign}")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()  # in the other tab too
    assert {request.url.split("/")[2] for request in desk.requests} == {server.url.split("/")[2]}


def test_a_page_left_open_asks_to_sign_in_when_the_session_is_over(operator, server, measured):
    campaign, _ = measured
    desk = operator()
    page = desk.sign_in()
    page.goto(f"{server.url}/campaigns/{campaign}")
    desk.context.clear_cookies()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_scripts_and_other_sites_cannot_use_the_cookie(operator):
    desk = operator()
    page = desk.sign_in()
    (cookie,) = desk.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert page.evaluate("document.cookie") == ""


def test_another_site_can_neither_frame_the_console_nor_press_its_buttons(operator, server, measured):
    campaign, _ = measured
    desk = operator()
    page = desk.sign_in()
    elsewhere = f"http://unencrypted.example:{server.port}"
    page.route(
        f"{elsewhere}/trap",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<iframe src="{server.url}/"></iframe>'
            f'<form method="post" action="{server.url}/campaigns/{campaign}/close"><button>Win</button></form>',
        ),
    )
    page.goto(f"{elsewhere}/trap")
    expect(page.locator("iframe")).to_be_attached()
    framed = page.frames[1]
    assert "Campaigns" not in framed.content()
    desk.faults.clear()  # the browser says that it refused to frame
    page.get_by_role("button", name="Win").click()
    expect(page.locator("h1")).to_be_visible()
    assert server.status(campaign)["state"] == "open"


def test_a_title_with_html_in_it_is_text(operator, server):
    evil = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    task = {"id": "t", "title": evil, "unit": "m", "low": 0, "high": 9, "grid": 1}
    campaign = server.opened(title=evil, purpose=evil, tasks=[task])
    server.invite(campaign)
    desk = operator()
    page = desk.sign_in()
    for part in ("", "/invitations", "/history", "/close/confirm"):
        page.goto(f"{server.url}/campaigns/{campaign}{part}")
        expect(page.locator("main")).to_contain_text(evil)
        assert "owned" not in page.title().replace(evil, "")
        assert page.locator("main img[src=x]").count() == 0


def stages(desk, server, measured):
    """Every page of the console, one after the other, with its styles: without them it has another width."""
    for stage in walk(desk, server, measured):
        desk.page.wait_for_load_state()
        yield stage


def walk(desk, server, measured):
    campaign, draft = measured
    page = desk.page
    desk.open(f"{server.url}/sign-in")
    yield "sign in"
    page.get_by_label("Operator token").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    yield "wrong token"
    desk.sign_in()
    yield "campaigns"
    desk.open(f"{server.url}/campaigns/new")
    page.get_by_text("Many tasks?").click()
    yield "new campaign"
    page.locator("#title").fill("t")
    page.locator("#title-0").fill("One")
    page.get_by_role("button", name="Save and choose privacy").click()
    expect(page.get_by_role("alert")).to_be_visible()
    yield "mistake"
    desk.open(f"{server.url}/campaigns/{draft}/privacy")
    page.get_by_text("More options").click()
    planned(page)
    yield "privacy"
    asked = server.create(**MIXED, distance=1)
    desk.open(f"{server.url}/campaigns/{asked}/privacy")
    expect(page.locator(".curve")).to_have_count(2)
    yield "privacy of questions"
    for path in (f"{draft}", f"{draft}/delete/confirm", f"{campaign}", f"{campaign}/history", f"{campaign}/history/1"):
        desk.open(f"{server.url}/campaigns/{path}")
        yield path.replace(campaign, "campaign").replace(draft, "draft")
    desk.open(f"{server.url}/campaigns/{campaign}/invitations")
    yield "invitations"
    page.get_by_label("How many people?").fill("2")
    page.locator(".invite").evaluate("(form) => form.removeAttribute('target')")  # in this tab, to look at it
    page.get_by_role("button", name="Create invitations").click()
    expect(page.locator(".qr svg")).to_have_count(2)
    yield "sheet"
    desk.open(f"{server.url}/server")
    yield "server"
    desk.open(f"{server.url}/campaigns/nothing")
    yield "problem"


@pytest.mark.slow
def test_axe_finds_nothing_serious(operator, server, measured):
    desk = operator(bypass_csp=True, reduced_motion="reduce")
    for stage in stages(desk, server, measured):
        assert_accessible(desk.page, stage)


@pytest.mark.slow
def test_no_page_is_wider_than_its_window(operator, server, measured):
    desk = operator(viewport={"width": 320, "height": 640})
    for stage in stages(desk, server, measured):
        for width in (320, 390, 768, 1280, 2560):
            desk.page.set_viewport_size({"width": width, "height": 800})
            wide = desk.page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, (stage, width)
        desk.page.set_viewport_size({"width": 320, "height": 640})
        heights = desk.page.eval_on_selector_all(
            "main button", "(all) => all.filter((one) => one.checkVisibility()).map((one) => one.offsetHeight)"
        )
        assert all(height >= 40 for height in heights), stage  # large enough for a finger


def test_everything_works_by_keyboard_alone(operator, server):
    desk = operator()
    page = desk.open(server.url)
    expect(page.locator("#token")).to_be_focused()
    page.keyboard.type(OPERATOR_TOKEN)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Campaigns", exact=True)).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    press_until(page, "Tab", 'a[href="/campaigns/new"]')
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What do you want to know?")).to_be_visible()
    press_until(page, "Tab", "#title")
    page.keyboard.type("By keyboard")
    press_until(page, "Tab", "#title-0")
    for text in ("Hallway", "m", "0", "100", "0.1"):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # in a field: the form is sent
    planned(page)
    press_until(page, "Tab", "input[type=range][data-for=epsilon]")
    before = page.locator("#epsilon").input_value()
    page.keyboard.press("ArrowLeft")
    assert float(page.locator("#epsilon").input_value()) < float(before)
    expect(page.locator("#plan blockquote")).not_to_contain_text("ε = 1,")  # before the next one is asked for
    press_until(page, "Tab", "input[name=law]")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#plan blockquote")).to_contain_text("except with a chance")
    expect(page.locator("input[name=law]:checked")).to_be_focused()  # although the words were replaced
    press_until(page, "Tab", ".outcome button")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Open the campaign?")).to_be_visible()
    press_until(page, "Tab", 'form[action$="/open"] button')
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Waiting for reports")).to_be_visible()
    press_until(page, "Tab", 'a[href$="/close/confirm"]')
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Close this campaign?")).to_be_visible()
    press_until(page, "Tab", "main button")
    page.keyboard.press("Space")
    expect(page.locator(".chip.closed")).to_be_visible()


def test_the_console_works_without_javascript(operator, server):
    """Everything works except the chart and what updates by itself."""
    desk = operator(java_script_enabled=False, **PHONE)
    page = desk.sign_in()
    page.goto(f"{server.url}/campaigns/new")
    desk.fill_question("Without scripts")
    page.get_by_role("button", name="Save and choose privacy").click()
    page.locator("#epsilon").fill("0.5")
    page.get_by_role("button", name="Compute").click()
    expect(page.locator("#plan blockquote")).to_contain_text("ε = 0.5")
    page.locator("#law-gaussian").check()
    page.get_by_role("button", name="Save this promise").click()
    expect(page.get_by_text("gaussian:")).to_be_visible()
    page.get_by_role("button", name="Open the campaign").click()
    expect(page.get_by_role("heading", name="Waiting for reports")).to_be_visible()
