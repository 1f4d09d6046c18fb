"""Texts in other languages, entered in a real browser and read by a participant."""

from playwright.sync_api import expect

from browser.accessibility import assert_accessible
from browser.test_console import operator  # noqa: F401


def test_a_translation_is_entered_and_a_participant_reads_it(operator, participant, server):  # noqa: F811
    campaign = server.create(title="How long is it?", halls=1)
    desk = operator(bypass_csp=True)
    desk.sign_in()
    page = desk.open(f"{server.url}/campaigns/{campaign}/texts")
    row = page.get_by_role("row", name="Deutsch")
    expect(row).to_contain_text("everything")
    row.get_by_role("link").click()
    page.get_by_label("How long is it?").fill("Wie lang ist er?")
    page.get_by_label("Hallway 0").fill("Flur 0")
    assert_accessible(page, "texts")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("row", name="Deutsch")).to_contain_text("2 of 4 texts")
    server.open(campaign)
    phone = participant(locale="de-DE")
    offer = phone.open(server.invite(campaign)[0]["url"])
    expect(offer.get_by_role("heading", name="Wie lang ist er?")).to_be_visible()
    expect(offer.get_by_text("Flur 0")).to_be_visible()
