"""Tasks from a spreadsheet in the wizard, mistakes at their fields, and a campaign asked again."""

import re

import openpyxl
from playwright.sync_api import expect

from browser.accessibility import assert_accessible
from browser.test_console import operator  # noqa: F401


def book(path, *rows):
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(list(row))
    made.save(path)
    return path


def test_tasks_from_a_spreadsheet_are_shown_before_they_are_saved(operator, server, tmp_path):  # noqa: F811
    desk = operator(bypass_csp=True)
    page = desk.sign_in()
    page.goto(f"{server.url}/campaigns/new")
    page.locator("#title").fill("Our building")
    page.get_by_text("Many tasks?").click()
    bad = book(tmp_path / "bad.xlsx", ["Task", "Unit", "Lowest", "Highest", "Step"], ["Hall", "m", 9, "2,5", "0,1"])
    page.locator("#file").set_input_files(bad)
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    expect(summary).to_contain_text("Row 2, “Hall”, Highest: '2,5': it must be above the lowest value, 9")
    summary.get_by_role("link").click()
    expect(page.locator("#cell-high-0")).to_be_focused()
    assert_accessible(page, "cells with mistakes")

    good = book(
        tmp_path / "good.xlsx", ["Task", "Unit", "Lowest", "Highest", "Step", "Choices", "Known"],
        ["Hall", "m", 0, "2,5", "0,1", None, 1.2], ["Which bird?", None, None, None, None, "finch; robin", None],
    )  # fmt: skip
    page.locator("#file").set_input_files(good)
    expect(page.locator("#preview-title")).to_have_text("2 tasks read from good.xlsx, not saved yet")
    expect(page.locator("#preview-title")).to_be_focused()
    expect(page.locator("#title")).to_have_value("Our building")
    assert_accessible(page, "preview")
    page.get_by_role("button", name="Save and choose privacy").click()
    expect(page).to_have_url(re.compile("/privacy$"))
    made = server.status(page.url.split("/")[-2])
    assert [(task["id"], task["high"]) for task in made["tasks"]] == [("hall", "2.5"), ("which-bird", None)]
    assert made["known"] == {"hall": "1.2"}


def test_the_summary_of_mistakes_leads_to_each_field(operator, server):  # noqa: F811
    desk = operator(bypass_csp=True)
    page = desk.sign_in()
    page.goto(f"{server.url}/campaigns/new")
    page.locator("#title").fill("Our building")
    page.locator("#title-0").fill("Hall")
    page.locator("#low-0").fill("0")
    page.locator("#high-0").fill("wide")
    page.locator("#title-1").fill("Bird")
    page.locator("#choices-1").fill("finch")
    page.get_by_role("button", name="Save and choose privacy").click()
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    expect(summary.get_by_role("link")).to_have_count(3)
    summary.get_by_role("link", name=re.compile("“Bird”, choices")).click()
    expect(page.locator("#choices-1")).to_be_focused()
    expect(page.locator("#choices-1")).to_have_accessible_description(re.compile("a question has 2 to 100 choices"))
    expect(page.locator("#title-0")).to_have_value("Hall")
    assert_accessible(page, "fields with mistakes")
    page.get_by_role("button", name="Add rows").click()
    expect(page.locator("#title-3")).to_be_focused()
    expect(page.locator(".task").last.locator(".wrong-field, [aria-invalid]")).to_have_count(0)


def test_a_campaign_is_duplicated_from_its_page(operator, server):  # noqa: F811
    campaign = server.opened(title="Every spring")
    desk = operator(bypass_csp=True)
    page = desk.sign_in()
    page.goto(f"{server.url}/campaigns/{campaign}")
    page.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_role("heading", name="What do you want to know?")).to_be_visible()
    expect(page.locator("#title")).to_have_value("Every spring")
    expect(page.locator("#title-2")).to_have_value("Hallway 2")
    made = server.status(page.url.split("/")[-2])
    assert (made["state"], made["previous"]) == ("draft", None)
