"""Answers and terms that do not fit, on the page and against a real server: a clear message, and nothing is sent."""

import json
from dataclasses import replace

import pytest
from playwright.sync_api import expect

from questions import ASKED_BIRD, ASKED_PATH, MIXED
from sottovoce.protocol import Report
from sottovoce.protocol.canonical import canonical_bytes, sha256_of
from sottovoce.protocol.links import InvitationLink


@pytest.fixture
def asked(participant, server):
    """A participant and a link to a campaign with two questions and a number."""

    def ask(**changes):
        campaign = server.opened(**{"title": "Paths", **MIXED, **changes})
        return participant(), campaign, server.invite(campaign)[0]["url"]

    return ask


def kept_as(phone, url, entries):
    """Replace what was entered by something else, while the page is not open and cannot overwrite it."""
    page = phone.open(f"{phone.server.url}/healthz")
    page.evaluate(
        "entries => localStorage.setItem(Object.keys(localStorage).find((key) => key.includes('draft-')), entries)",
        json.dumps(entries),
    )
    phone.open(url)
    expect(page.locator("form.card")).to_be_visible()


UNKNOWN = [["path", 2], ["path", -1], ["path", 2**53], ["bird", 417], ["path", "yes"], ["path", "0"], ["bird", "4.2"]]


def test_only_a_choice_counts_as_an_answer(asked):
    phone, _, url = asked()
    page = phone.join(url)
    page.get_by_label("no", exact=True).check()
    for entry in UNKNOWN:
        kept_as(phone, url, [entry])
        expect(page.get_by_role("button", name="Clear the answer").locator("visible=true")).to_have_count(0)
        page.locator("#send").click()
        expect(page.get_by_role("alert")).to_have_text("Answer at least one task.")
        expect(page.locator("dialog")).to_have_count(0)
    assert not phone.bodies()


def test_a_choice_where_a_number_is_asked_is_explained_at_its_field(asked):
    phone, _, url = asked()
    page = phone.join(url)
    page.locator("#reading-1").fill("yes")
    page.locator("#send").click()
    expect(page.locator("#reading-1-error")).not_to_be_empty()
    expect(page.locator("dialog")).to_have_count(0)
    assert not phone.bodies()


REFUSED = "This page cannot use the campaign’s terms"
HOSTILE = {
    "a number where a choice is asked": ("path", lambda task: {**task, "low": "0", "high": "10", "grid": "1"}),
    "a choice where a number is asked": ("width", lambda task: {**task, "choices": ["a", "b"]}),
    "no choice": ("path", lambda task: {**task, "choices": []}),
    "one choice": ("path", lambda task: {**task, "choices": ["yes"]}),
    "101 choices": ("path", lambda task: {**task, "choices": [f"c{n}" for n in range(101)]}),
    "choices that differ in case": ("path", lambda task: {**task, "choices": ["Yes", "yes"]}),
    "choices that differ in spaces": ("path", lambda task: {**task, "choices": ["no path", "nopath"]}),
    "another kind": ("path", lambda task: {**task, "kind": "colour"}),
    "the kind of the other": ("path", lambda task: {**task, "kind": "number"}),
}


def test_terms_that_do_not_fit_their_tasks_are_refused(asked, server):
    """The link names the hash of these very terms, so that nothing but their content is wrong."""
    phone, campaign, url = asked()
    content = server.client.get(f"/api/campaigns/{campaign}/manifest").json()
    offered = []
    phone.context.route("**/manifest", lambda route: route.fulfill(body=offered[-1], content_type="application/json"))
    for wrong, change in HOSTILE.values():
        tasks = [change(task) if task["id"] == wrong else task for task in content["tasks"]]
        offered.append(canonical_bytes({**content, "tasks": tasks}))
        phone.page.goto("about:blank")
        page = phone.open(str(replace(InvitationLink.parse(url), manifest_sha256=sha256_of(offered[-1]))))
        expect(page.get_by_role("alert")).to_contain_text(REFUSED)
        expect(page.get_by_role("button", name="Join this campaign")).to_have_count(0)
    assert not [request for request in phone.requests if request.url.endswith("/enrolments")]
    assert not phone.bodies()


def test_only_one_of_two_answers_by_one_person_is_sent(asked):
    """Two tabs with different answers, both at once: one of them is sent."""
    phone, _, url = asked(tasks=[ASKED_PATH, ASKED_BIRD], noise="response:2", readings=2)
    first = phone.join(url)
    second = phone.new_tab()
    second.goto(url)
    expect(second.locator("form.card")).to_be_visible()
    first.get_by_label("yes").check()
    second.get_by_label("no", exact=True).check()
    for page in (first, second):
        page.locator("#send").click()
        expect(page.locator("dialog #yes")).to_be_visible()
    for page in (first, second):
        page.locator("dialog #yes").click()
    for page in (first, second):
        expect(page.locator("li .chip.delivered")).to_have_count(1)
        expect(page.locator("fieldset:visible")).to_have_count(1)  # the other question
    (body,) = set(phone.bodies())
    assert [reading.task for reading in Report.parse(body).readings] == ["path"]
