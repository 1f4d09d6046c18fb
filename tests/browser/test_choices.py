"""Questions with choices on the page: answered by touch and by keyboard, one after the other, and privately."""

import json
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from browser.accessibility import assert_accessible
from campaign_server import CampaignServer
from questions import BIRD, PATH, WIDTH, only, second
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.protocol import Problem, Report
from sottovoce.texts import LANGUAGES


@pytest.fixture
def asked(participant, server):
    """A participant and a link to a campaign of the second format; the requests are answered as the protocol says."""

    def ask(manifest):
        phone, state = participant(), CampaignServer(manifest)
        state.url = server.url

        def answer(route):
            request = route.request
            token = request.headers.get("authorization", "").removeprefix("Bearer ")
            try:
                status, content = state.answer(
                    request.method, urlsplit(request.url).path, token, request.post_data_buffer
                )
            except Problem as problem:
                status, content = problem.status, problem.to_json()
            body = content if isinstance(content, bytes) else json.dumps(content)
            route.fulfill(status=status, body=body, content_type="application/json")

        phone.context.route("**/api/**", answer)
        return phone, str(state.invite(manifest.campaign))

    return ask


def test_an_answer_from_the_link_to_the_report(asked):
    phone, url = asked(only(PATH, BIRD))
    page = phone.join(url)
    expect(page.get_by_role("heading", name="Your answers")).to_be_visible()
    page.get_by_role("group", name="Is the path passable?").get_by_text("yes").tap()
    page.get_by_role("group", name="Which bird is it?").get_by_label("wren").check()
    page.get_by_role("button", name="Send my answers privately").click()
    page.locator("#yes").click()
    expect(page.locator("#pairs")).to_be_focused()
    expect(page.locator(".stays b")).to_have_text(["wren", "yes"])
    expect(page.locator("li .chip.delivered")).to_have_count(1)
    (body,) = phone.bodies()
    sent = {reading.task: reading.value for reading in Report.parse(body).readings}
    shown = page.locator(".sent b").all_inner_texts()
    assert shown == [BIRD["choices"][sent["bird"]], PATH["choices"][sent["path"]]]
    expect(page.locator("form.card")).to_have_count(0)  # each question is answered once


def test_the_card_says_what_happens_to_an_answer(asked):
    phone, url = asked(only(PATH))
    page = phone.open(url)
    words = "In 27 of 100 cases your device sends the other answer on purpose, so nobody can be sure of yours."
    expect(page.get_by_text(words)).to_be_visible()
    expect(page.get_by_text("one of your answers is one of two")).to_be_visible()
    page.get_by_text("The figures").click()
    expect(page.get_by_text("any one answer: had it been any other")).to_be_visible()
    expect(page.locator(".dots circle")).to_have_count(100)
    expect(page.locator(".dots circle.other")).to_have_count(27)
    assert "73 stand for cases in which your own answer is sent" in page.locator(".dots").get_attribute("aria-label")


def test_numbers_and_choices_are_answered_together(asked):
    phone, url = asked(second())
    page = phone.join(url)
    page.locator("#reading-2").fill("4.2")
    page.get_by_label("robin").check()
    page.get_by_role("button", name="Add noise and send").click()
    page.locator("#yes").click()
    expect(page.locator(".stays b")).to_have_text(["4.2 m", "robin"])
    expect(page.locator("li .chip.delivered")).to_have_count(1)
    assert len(Report.parse(phone.bodies()[0]).readings) == 2
    expect(page.locator("fieldset:visible")).to_have_count(1)  # the question that was left out
    page.get_by_label("no", exact=True).check()
    page.get_by_role("button", name="Send my answers privately").click()
    page.locator("#yes").click()
    expect(page.locator("li .chip.delivered")).to_have_count(2)


def many(count):
    return only(*({**PATH, "id": f"path-{n}", "title": f"Path {n}?"} for n in range(count)), readings=count)


def test_many_questions_come_one_after_the_other_by_keyboard(asked):
    phone, url = asked(many(7))
    page = phone.join(url)
    expect(page.locator("fieldset:visible")).to_have_count(1)
    expect(page.get_by_text("1 of 7")).to_be_visible()
    expect(page.locator("#send")).to_be_hidden()
    page.locator("#reading-0").focus()
    page.keyboard.press("ArrowDown")  # the second choice
    for _ in range(6):
        page.get_by_role("button", name="Next").press("Enter")
        page.keyboard.press("Space")  # the first choice of the next question, which has the focus
    expect(page.get_by_text("7 of 7")).to_be_visible()
    page.get_by_role("button", name="Back", exact=True).click()
    expect(page.get_by_text("6 of 7")).to_be_visible()
    expect(page.locator("#reading-5")).to_be_checked()
    page.get_by_role("button", name="Next").click()
    page.locator("#send").press("Enter")
    page.locator("#yes").click()
    expect(page.locator(".stays b")).to_have_text(["no", *["yes"] * 6])


def test_an_answer_can_be_taken_back_before_it_is_sent(asked):
    phone, url = asked(only(PATH))
    page = phone.join(url)
    page.get_by_label("yes").check()
    page.get_by_role("button", name="Clear the answer").click()
    expect(page.get_by_label("yes")).not_to_be_checked()
    page.locator("#send").click()
    expect(page.get_by_role("alert")).to_have_text("Answer at least one task.")
    assert not phone.bodies()


def test_the_device_asks_only_the_questions_that_it_drew(asked):
    described = many(6)
    phone, url = asked(only(*json.loads(described.bytes())["tasks"], readings=6, answer=2, unit="participant"))
    page = phone.open(url)
    expect(page.get_by_text("Your device draws 2 of them at random")).to_be_visible()
    page.get_by_role("button", name="Join this campaign").click()
    expect(page.locator("fieldset:visible")).to_have_count(2)
    drawn = page.locator("legend").all_inner_texts()
    page.reload()
    expect(page.locator("fieldset:visible")).to_have_count(2)
    assert page.locator("legend").all_inner_texts() == drawn  # once and for all
    for group in page.locator("fieldset").all():
        group.get_by_label("yes").check()
    page.locator("#send").click()
    page.locator("#yes").click()
    expect(page.locator("li .chip.delivered")).to_have_count(1)
    expect(page.locator("form.card")).to_have_count(0)


@pytest.mark.parametrize(("noise", "unit"), [("response:3.5", "reading"), ("twolayer:uniform", "participant")])
def test_a_law_that_promises_too_little_is_refused(asked, noise, unit):
    tasks = [{**PATH, "id": f"path-{n}"} for n in range(9)]
    phone, url = asked(only(*tasks, noise=noise, readings=9, unit=unit))
    page = phone.open(url)
    expect(page.get_by_role("alert")).to_contain_text("limit")
    expect(page.get_by_role("button", name="Join this campaign")).to_have_count(0)


def test_the_page_with_choices_is_accessible(asked):
    phone, url = asked(second(tasks=[PATH, BIRD, {**WIDTH, "help": "At its narrowest."}]))
    page = phone.open(url)
    assert_accessible(page, "offer with choices")
    phone.join(url)
    assert_accessible(page, "form with choices")


LAWS = ["response:1.0", "response:4.0", "response:0.1", "response:12.0", "response:1000.0", "response:6.0:3",
        "response:1.0:3", "twolayer:uniform"]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_and_the_installed_client_use_the_same_words(ask, language):
    cases = [(law, cells) for law in LAWS for cells in ((2,) if "twolayer" in law else (4, 10, 100))]
    found = ask("answer_words", [{"law": law, "cells": cells, "tag": language} for law, cells in cases])
    assert found == [parse_answer_law(law).in_words(cells, language) for law, cells in cases]
