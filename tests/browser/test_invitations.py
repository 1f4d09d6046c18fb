"""Making invitations in a real browser: sheets in their own tab, copied, saved and printed."""

import re

from playwright.sync_api import expect

from browser.test_console import operator  # noqa: F401

PAGES = re.compile(rb"/Type\s*/Page[^s]")


def test_a_sheet_opens_in_its_own_tab_and_can_be_saved_and_copied(operator, server, tmp_path):  # noqa: F811
    campaign = server.opened(
        title=f"How warm is it, and how long does a warm afternoon last in this building?{' And elsewhere?' * 8}",
        asked_by="The department of facility management of the old and the new buildings, with the students' union",
        contact="facility-management@buildings.university.example.org",
    )
    desk = operator()
    desk.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = desk.sign_in()
    page.goto(f"{server.url}/campaigns/{campaign}/invitations")
    expect(page.get_by_role("alert")).to_contain_text("no phone can reach")
    expect(page.get_by_label("At most this many people")).to_be_hidden()
    page.get_by_label("How many people?").fill("16")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Create invitations").click()
    sheet = opened.value
    expect(sheet.locator(".qr svg")).to_have_count(16)
    with sheet.expect_download() as waiting:
        sheet.get_by_role("button", name="Save as CSV").click()
    waiting.value.save_as(tmp_path / "links.csv")
    lines = (tmp_path / "links.csv").read_text().split()
    assert lines[0] == "number,link"
    assert len(lines) == 17
    sheet.get_by_role("button", name="Copy all").click()
    expect(sheet.get_by_role("button", name="Copied")).to_be_visible()
    assert sheet.evaluate("navigator.clipboard.readText()").split() == lines
    sheet.set_viewport_size({"width": 718, "height": 1000})  # A4 without margins
    sheet.emulate_media(media="print")
    cut = sheet.locator(".invitations li").evaluate_all("all => all.map((one) => one.scrollHeight - one.clientHeight)")
    assert cut == [0] * 16  # long texts leave room for the address and the number
    for paper in ("A4", "Letter"):
        assert len(PAGES.findall(sheet.pdf(format=paper))) == 2, paper  # eight cards to a page
    sheet.close()
    page.bring_to_front()
    page.reload()
    expect(page.locator(".chip.unspent")).to_have_count(16)


def test_the_fields_follow_the_kind(operator, server):  # noqa: F811
    campaign = server.opened()
    page = operator().sign_in()
    page.goto(f"{server.url}/campaigns/{campaign}/invitations")
    page.get_by_label("one open link for several people").check()
    expect(page.get_by_label("How many people?")).to_be_hidden()
    page.get_by_label("At most this many people").fill("30")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Create invitations").click()
    expect(opened.value.locator(".poster .address")).to_contain_text("#sha256=")
    expect(opened.value.locator(".poster")).to_contain_text("for 30 people")
    opened.value.close()
    page.get_by_label("short codes to type, each for one person").check()
    expect(page.get_by_label("How many people?")).to_have_attribute("max", "100")  # links may be 200 at once
    page.get_by_label("How many people?").fill("2")
    with page.expect_popup() as opened:
        page.get_by_role("button", name="Create invitations").click()
    expect(opened.value.locator(".short-code")).to_have_count(2)
