"""How the page guides participants: what comes next, what is final, what is done, and what happens to their answers."""

import json
import re

import pytest
from playwright.sync_api import expect

from patience import until

REPORTS = "**/api/campaigns/*/reports"
KEPT = "() => JSON.stringify({ ...localStorage, ...sessionStorage })"


def close(server, campaign):
    assert server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator).status_code == 200


def test_joining_leads_to_the_first_question(participant, invited):
    _, url = invited(halls=12)  # more than a screen
    page = participant().join(url)
    expect(page.locator("#reading-0")).to_be_focused()
    expect(page.locator("#reading-0")).to_be_in_viewport()
    expect(page.locator("main .banner")).to_contain_text("You have joined.")
    expect(page.locator("main .banner")).to_be_in_viewport()
    expect(page.locator("#news")).to_contain_text("You have joined.")
    page.reload()
    expect(page.locator("#reading-0")).to_be_visible()
    expect(page.locator("main .banner")).to_have_count(0)


def test_nothing_is_sent_without_a_confirmation(participant, invited):
    _, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    expect(page.locator("form.card")).to_contain_text("Your answers are final.")
    phone.fill("12.5")
    page.locator("#reading-0").press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.locator("#send").click()
    expect(page.get_by_role("dialog")).to_contain_text("Send 1 reading?")
    expect(page.get_by_role("dialog")).to_contain_text("cannot be changed afterwards")
    page.keyboard.press("Enter")  # the button that changes nothing has the focus
    page.locator("#send").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#reading-0")).to_have_value("12.5")
    page.wait_for_timeout(1200)  # longer than a report waits
    assert not phone.bodies()
    page.locator("#send").click()
    phone.confirm()
    expect(page.locator("li .chip.delivered")).to_be_visible()


def test_the_question_stays_when_the_view_is_drawn_again(participant, invited):
    _, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    phone.fill("12.5")
    page.locator("#send").click()
    page.evaluate("new BroadcastChannel('sottovoce').postMessage('')")
    page.wait_for_timeout(300)
    expect(page.get_by_role("dialog")).to_be_visible()
    phone.confirm()
    expect(page.locator("li .chip.delivered")).to_be_visible()


def test_drafts_survive_a_reload_and_are_erased_when_sent(participant, invited):
    _, url = invited(halls=3, readings=2)
    phone = participant()
    page = phone.join(url)
    phone.fill("31.41592", "27.1")
    other = phone.new_tab()
    other.goto(url)
    expect(other.locator("#reading-0")).to_have_value("31.41592")
    page.reload()
    expect(page.locator("#reading-0")).to_have_value("31.41592")
    assert "31.41592" in page.evaluate(KEPT)
    phone.send("31.41592", "27.1")
    expect(page.locator("li .chip.delivered")).to_be_visible()
    assert "31.41592" not in page.evaluate(KEPT)
    assert "draft" not in page.evaluate(KEPT)
    # Nor does the other tab write it again.
    expect(other.locator("li .chip.delivered")).to_be_visible()
    assert "draft" not in other.evaluate(KEPT)
    page.reload()
    expect(page.locator("li .chip.delivered")).to_be_visible()
    expect(page.locator("#reading-0")).to_have_count(0)


def test_withdrawing_erases_drafts(participant, invited):
    _, url = invited()
    phone = participant()
    page = phone.join(url)
    phone.fill("31.41592")
    page.get_by_role("button", name="Withdraw…").click()
    phone.confirm()
    expect(page.get_by_text("The server has erased your values.")).to_be_visible()
    assert "draft" not in page.evaluate(KEPT)


def test_a_damaged_draft_is_ignored(participant, invited):
    _, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    for spoilt in ("{", "null", "[1]", '[["hall-0", {"a": 1}]]', '[["hall-0"]]', '{"a": 1}'):
        phone.fill("5")
        # Before the page's own scripts run: a form that is drawn again writes its draft again.
        key = page.evaluate("Object.keys(localStorage).find((key) => key.includes('draft'))")
        page.add_init_script(f"localStorage.setItem({json.dumps(key)}, {json.dumps(spoilt)})")
        page.reload()
        expect(page.locator("#reading-0"), spoilt).to_have_value("")
        assert not phone.faults, spoilt


def test_a_value_that_noise_left_unchanged_is_explained(participant, invited):
    """Noise of scale 1 in steps of 1 is 0 in 46 of 100 cases: among 30 there is one, except once in 10⁸ times."""
    task = {"title": "Hallway", "unit": "m", "low": 0, "high": 100, "grid": 1}
    tasks = [{**task, "id": f"hall-{n:02}"} for n in range(30)]
    _, url = invited(tasks=tasks)
    phone = participant()
    page = phone.join(url)
    phone.send(*["50"] * 30)
    lines = page.locator(".pairs > li")
    expect(lines).to_have_count(30)
    shown = lines.evaluate_all(
        """(all) => all.map((one) => [
            one.querySelector(".stays b").textContent, one.querySelector(".sent b").textContent,
            one.textContent.includes("the noise was 0"),
        ])"""
    )
    assert any(measured == sent for measured, sent, _ in shown)
    assert all((measured == sent) == explained for measured, sent, explained in shown)


def test_done_means_delivered(participant, invited):
    _, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    phone.context.route(REPORTS, lambda route: route.abort())
    with page.expect_request(REPORTS):
        phone.send("5")
    expect(page.locator("#pairs h2")).to_have_text("Not sent yet. This is what will be sent")
    phone.context.unroute(REPORTS)
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#pairs h2")).to_have_text("Done. This was sent")


def test_the_ledgers_lines_add_up_to_its_sum(participant, invited, server):
    phone = participant()
    for halls in (2, 1):
        _, url = invited(halls=halls, noise="fresh:0.5")  # ε = 1
        page = phone.join(url, again=halls == 1)
        for _ in range(halls):
            phone.send("5")
            expect(page.get_by_text("Done. This was sent")).to_be_visible()
    page.goto(f"{server.url}/j/#ledger")
    expect(page.locator("main")).to_contain_text("ε 2 of 10 spent")
    costs = page.locator("li.card details > p").all_text_contents()
    assert sorted(costs) == [
        "Cost: none. The first report to this campaign covers all the others.",
        *["Cost: ε 1, δ 0"] * 2,
    ]


def test_a_closed_campaign_says_so_before_anything_else(participant, invited, server):
    campaign, url = invited(halls=1, noise="fresh:50")  # it is weaker than the limits too, but that no longer matters
    close(server, campaign)
    phone = participant()
    page = phone.open(url)
    first = page.locator("main > *").first
    expect(first).to_contain_text(
        "This campaign is closed. You do not need to do anything: nothing more can be sent to it."
    )
    expect(page.get_by_role("link", name="What the crowd found")).to_be_visible()
    expect(page.locator("main button")).to_have_count(0)


def test_a_campaign_that_closed_after_joining_costs_nothing_more(participant, invited, server):
    campaign, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    phone.fill("5")
    close(server, campaign)
    page.locator("#send").click()
    phone.confirm()
    expect(page.locator("main > *").first).to_contain_text("This campaign is closed")
    expect(page.locator("form.card")).to_have_count(0)
    assert "draft" not in page.evaluate(KEPT)
    page.reload()
    expect(page.locator("main > *").first).to_contain_text("This campaign is closed")
    page.wait_for_timeout(1200)
    assert not phone.bodies()
    page.goto(f"{server.url}/j/#ledger")
    expect(page.locator("main")).to_contain_text("ε 0 of 10 spent")


def test_a_deadline_that_has_passed_is_shown_as_such(participant, start_server, tmp_path, invited, server):
    campaign, url = invited(halls=1, deadline="2099-01-01T00:00:00Z")
    phone = participant()
    # The campaign's own clock is the server's; that of the phone only chooses the words.
    phone.context.clock.set_fixed_time("2099-02-01T00:00:00Z")
    close(server, campaign)
    expect(phone.open(url).locator("main > *").first).to_contain_text("The campaign is over")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ["The results are public", "set no date for erasing"]),
        ({"public_results": True, "retention": 30}, ["The results are public", "erased no later than 30 days after"]),
        ({"public_results": False, "retention": 1}, ["Only the operator", "erased no later than 1 day after"]),
        ({"public_results": True, "retention": 0}, ["The results are public", "erased when the campaign closes"]),
        ({"public_results": False}, ["Only the operator", "set no date for erasing"]),
    ],
    ids=["first format", "public", "private", "at once", "kept"],
)
def test_what_happens_to_answers_is_explained_before_joining(participant, invited, changes, words):
    _, url = invited(halls=1, **changes)
    page = participant().open(url)
    expect(page.get_by_role("button", name="Join this campaign")).to_be_visible()
    for one in words:
        expect(page.locator("main")).to_contain_text(one)


def test_a_page_without_its_worker_says_so_and_keeps_what_was_typed(participant, invited, server):
    _, url = invited(halls=1)
    phone = participant(service_workers="block")
    page = phone.join(url)
    phone.fill("12.5")
    phone.context.route("**/noise-worker.js", lambda route: route.abort())
    page.reload()
    expect(page.locator("main .banner")).to_contain_text("could not be loaded")
    phone.send("12.5")
    expect(page.locator("#reading-0")).to_have_value("12.5")
    expect(page.locator("#send")).to_be_enabled()
    page.goto(f"{server.url}/j/#ledger")
    expect(page.locator("main")).to_contain_text("No reports yet.")
    phone.context.unroute("**/noise-worker.js")
    page.goto(url)
    expect(page.locator("#reading-0")).to_have_value("12.5")
    phone.send("12.5")
    expect(page.locator("li .chip.delivered")).to_be_visible()
    assert len({json.loads(body)["report_id"] for body in phone.bodies()}) == 1


def test_own_answers_appear_beside_the_result_if_they_were_kept(participant, invited, server):
    campaign, url = invited(halls=2)
    phone = participant(locale="de-DE")
    page = phone.open(url)
    page.get_by_role("button", name="An dieser Kampagne teilnehmen").click()
    phone.fill("31,41592")
    page.locator("#send").click()
    page.get_by_label("Meine Antworten auf diesem Gerät aufbewahren").check()
    phone.confirm()
    expect(page.locator("li .chip.delivered")).to_be_visible()
    expect(page.locator("#own")).to_contain_text("kein Ergebnis verfügbar")
    server.crowd(campaign, 6, steps=(310, 200))
    until(lambda: server.results(campaign)["reports"] >= 6, "results")
    page.reload()
    expect(page.locator("#own .stays b")).to_have_text("31,41592\u00a0m")
    expect(page.locator("#own .sent b")).to_have_text(re.compile(r"^3\d,\d\sm \(\d+,\d bis \d+,\d\)"))
    asked = [request for request in phone.requests if request.url.endswith("/results")]
    assert asked
    assert not any("authorization" in request.headers or request.post_data for request in asked)
    page.get_by_role("button", name="Meine Antworten von diesem Gerät löschen").click()
    expect(page.locator("#own")).to_have_count(0)
    page.reload()
    expect(page.locator("li .chip.delivered")).to_be_visible()
    expect(page.locator("#own")).to_have_count(0)


def test_no_answers_are_kept_for_results_that_are_not_public(participant, invited):
    _, url = invited(halls=1, public_results=False)
    phone = participant()
    page = phone.join(url)
    phone.fill("5")
    page.locator("#send").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.locator("#keep")).to_have_count(0)
