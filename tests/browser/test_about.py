"""Logo, contact, deadline and reminder in a real browser, from the wizard to the participant's page and the results."""

import pytest
from playwright.sync_api import expect

from browser.accessibility import assert_accessible
from browser.test_console import operator  # noqa: F401
from plans import SVG, drawn, encoded

BERLIN, NEW_YORK = {"timezone_id": "Europe/Berlin"}, {"timezone_id": "America/New_York"}


@pytest.fixture
def desk(operator):  # noqa: F811
    one = operator(bypass_csp=True, **BERLIN)
    one.sign_in()
    return one


def test_a_deadline_is_entered_and_shown_in_the_viewers_time_zone(desk, participant, server):
    page = desk.open(f"{server.url}/campaigns/new")
    expect(page.get_by_label("Time zone of the deadline")).to_have_value("Europe/Berlin")
    desk.fill_question("How long are they?")
    page.locator("#deadline").fill("2035-03-25T02:30")
    page.get_by_role("button", name="Save and choose privacy").click()
    expect(page.get_by_role("alert").first).to_contain_text("does not exist")
    expect(page.locator("#deadline")).to_have_value("2035-03-25T02:30")
    expect(page.get_by_label("Time zone of the deadline")).to_have_value("Europe/Berlin")
    page.locator("#deadline").fill("2035-07-01T18:00")
    page.get_by_role("button", name="Save and choose privacy").click()
    page.wait_for_url("**/privacy")
    campaign = page.url.split("/")[-2]
    assert server.status(campaign)["deadline"] == "2035-07-01T16:00:00Z"
    desk.open(f"{server.url}/campaigns/{campaign}/tasks")
    expect(page.get_by_label("Time zone of the deadline")).to_have_value("Europe/Berlin")
    expect(page.locator("#deadline")).to_have_value("2035-07-01T18:00")
    desk.open(f"{server.url}/campaigns/{campaign}")
    shown = page.locator("dd time")
    expect(shown).to_contain_text("18:00 GMT+2")
    expect(shown).to_have_attribute("title", "1 Jul 2035, 16:00 UTC")
    server.open(campaign)
    phone = participant(**NEW_YORK)
    phone.open(server.invite(campaign)[0]["url"])
    expect(phone.page.get_by_text("12:00 PM EDT")).to_be_visible()
    with phone.page.expect_download() as saved:
        phone.page.get_by_role("link", name="Add a reminder to your calendar").click()
    assert b"DTSTART:20350701T160000Z" in saved.value.path().read_bytes()
    public = phone.open(f"{server.url}/c/{campaign}")
    expect(public.locator("time[title$=UTC]").first).to_contain_text("EDT")


@pytest.mark.parametrize("content", [SVG, encoded(drawn())], ids=["svg", "png"])
def test_a_logo_and_a_contact_are_seen_by_participants(desk, participant, server, tmp_path, content):
    campaign = server.create(contact="ask@example.org")
    page = desk.open(f"{server.url}/campaigns/{campaign}/logo")
    (tmp_path / "logo").write_bytes(content)
    page.get_by_label("Picture").set_input_files(tmp_path / "logo")
    page.get_by_role("button", name="Upload").click()
    drawn_width = "(image) => image.complete && image.naturalWidth"
    expect(page.get_by_alt_text("Logo of the campaign")).to_be_visible()
    assert_accessible(page, "logo")
    page = desk.open(f"{server.url}/campaigns/{campaign}")
    expect(page.frame_locator("iframe").locator("img.logo")).to_be_visible()
    server.open(campaign)
    phone = participant()
    phone.open(server.invite(campaign)[0]["url"])
    logo = phone.page.locator("img.logo")
    expect(logo).to_be_visible()
    phone.page.wait_for_function("() => document.querySelector('img.logo').naturalWidth > 0")
    assert logo.evaluate("(image) => image.src").startswith("blob:")  # the bytes that were checked
    link = phone.page.get_by_role("link", name="ask@example.org")
    expect(link).to_have_attribute("href", "mailto:ask@example.org")
    public = phone.open(f"{server.url}/c/{campaign}")
    expect(public.locator("img.logo")).to_be_visible()
    public.wait_for_function("() => document.querySelector('img.logo').naturalWidth > 0")
    assert public.locator("img.logo").evaluate(drawn_width)


def test_a_logo_with_another_hash_is_not_shown(participant, server):
    campaign = server.create()
    for content in (SVG, encoded(drawn())):
        address = f"/api/campaigns/{campaign}/logo"
        assert server.client.put(address, content=content, headers=server.operator).status_code == 200
    server.open(campaign)
    phone = participant()
    phone.context.route("**/logo", lambda route: route.fulfill(body=SVG, content_type="image/svg+xml"))
    with phone.page.expect_response("**/logo"):
        phone.open(server.invite(campaign)[0]["url"])
    expect(phone.page.get_by_role("button", name="Join this campaign")).to_be_visible()
    expect(phone.page.locator("img.logo")).to_be_hidden()


def test_operators_are_managed_in_the_console(operator, server):  # noqa: F811
    desk = operator(bypass_csp=True)
    desk.sign_in()
    page = desk.page
    page.get_by_role("link", name="Operators", exact=True).click()
    page.get_by_label("Name", exact=True).fill("Ada")
    page.get_by_role("button", name="Add and show the token").click()
    expect(page.get_by_role("status")).to_contain_text("Token of Ada")
    assert_accessible(page, "operators")
    card = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Ada", exact=True)).last
    card.get_by_text("Revoke", exact=True).click()
    card.get_by_role("button", name="Revoke the access of Ada").click()
    expect(card.get_by_text("Give access again")).to_be_visible()
