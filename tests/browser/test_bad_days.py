"""Bad days: no network, lost answers, reloads, double taps, two tabs, an update. Reports arrive once, unchanged."""

import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import expect

REPORTS = "**/api/campaigns/*/reports"


def waiting(page):
    return page.locator("li .chip.queued")


def delivered(page):
    return page.locator("li .chip.delivered")


def test_the_page_works_offline_after_the_first_visit(participant, invited, claims):
    campaign, url = invited()
    phone = participant()
    page = phone.join(url)
    phone.wait_for_service_worker()
    phone.context.set_offline(True)
    page.reload()
    expect(page.get_by_text("You are offline.")).to_be_visible()
    phone.send("1", "2", "3")
    expect(waiting(page)).to_be_visible()
    expect(page.get_by_role("link", name="1 report waiting")).to_be_visible()
    page.wait_for_timeout(1500)
    page.reload()
    expect(waiting(page)).to_be_visible()
    assert claims(campaign) == []
    phone.context.set_offline(False)
    expect(delivered(page)).to_be_visible()
    expect(page.get_by_role("link", name="waiting")).to_be_hidden()
    assert len(set(phone.bodies())) == 1
    assert len(claims(campaign)) == 3


@pytest.mark.slow
def test_a_page_that_was_loaded_past_the_stored_files_uses_them_again(participant, server):
    """After a reload without the cache, as for some pages that are loaded just while the worker takes over."""
    phone = participant()
    phone.page.goto(f"{server.url}/j/")
    phone.wait_for_service_worker()
    with phone.page.expect_navigation():
        phone.context.new_cdp_session(phone.page).send("Page.reload", {"ignoreCache": True})
    phone.wait_for_service_worker()


@pytest.mark.slow
def test_a_page_that_is_newer_than_the_stored_files_does_not_use_them(participant, start_server, tmp_path):
    """After an update of the server, a reload without the cache: files that are loaded on use must fit the page."""
    database = f"sqlite:///{tmp_path}/campaigns.db"
    server = start_server(database)
    phone = participant(server=server)
    page = phone.page
    page.goto(f"{server.url}/j/")
    phone.wait_for_service_worker()
    server.stop()
    renewed = tmp_path / "renewed"
    shutil.copytree(Path(str(files("sottovoce"))), renewed / "sottovoce", ignore=shutil.ignore_patterns("__pycache__"))
    texts = renewed / "sottovoce" / "texts" / "fr.json"
    texts.write_text(texts.read_text().replace("Campagnes", "Nouvelles campagnes"))
    start_server(database, "--port", str(server.port), PYTHONPATH=str(renewed), PYTHONDONTWRITEBYTECODE="1")
    with page.expect_navigation():
        phone.context.new_cdp_session(page).send("Page.reload", {"ignoreCache": True})
    expect(page.get_by_text("A new version of this page is ready.")).to_be_visible()
    page.select_option("#language", "fr")
    expect(page.get_by_role("link", name="Nouvelles campagnes")).to_be_visible()
    with page.expect_navigation():
        page.get_by_role("button", name="L’utiliser maintenant").click()
    phone.wait_for_service_worker()
    expect(page.get_by_role("link", name="Nouvelles campagnes")).to_be_visible()
    assert page.evaluate("caches.keys().then((names) => names.length)") == 1


@pytest.mark.slow
@pytest.mark.parametrize("file", ["service-worker.js", "bundle-noise.js"])
def test_the_page_works_offline_although_the_network_failed_while_it_was_stored(participant, server, file):
    phone = participant()
    lost = []

    def lose(route):
        if route.request.service_worker is None or lost:
            return route.continue_()
        lost.append(route.request.url)
        return route.abort()

    phone.context.route(f"**/j/{file}", lose)
    phone.page.goto(f"{server.url}/j/")
    phone.wait_for_service_worker()
    assert lost
    phone.faults.clear()  # what the browser says about the lost file
    phone.context.set_offline(True)
    phone.page.goto(f"{server.url}/j/#limits")
    expect(phone.page.locator("h1")).to_be_visible()


def test_the_page_can_be_installed(participant, server):
    phone = participant()
    page = phone.open(f"{server.url}/j/")
    expect(page.get_by_text("No campaign yet.")).to_be_visible()
    phone.wait_for_service_worker()
    session = phone.context.new_cdp_session(page)
    found = session.send("Page.getAppManifest")
    assert found["url"] == f"{server.url}/j/app.webmanifest"
    assert found["errors"] == []
    # Browsers do not install from a private window, which this one is; nothing else may stand in the way.
    hindrances = {one["errorId"] for one in session.send("Page.getInstallabilityErrors")["installabilityErrors"]}
    assert hindrances <= {"in-incognito"}


def test_a_reload_between_noise_and_sending_keeps_the_report(participant, invited, claims):
    campaign, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    phone.send("12.3")
    expect(page.locator("#pairs")).to_be_visible()
    shown = page.locator(".sent b").inner_text()
    assert not phone.bodies()  # it leaves a second after the tap
    page.reload()
    expect(delivered(page)).to_be_visible()
    page.get_by_text("In this report: 1 value").click()
    expect(page.locator("li.card dd").first).to_have_text(shown)
    assert len(claims(campaign)) == 1
    expect(page.locator("form.card")).to_have_count(0)


def test_a_double_tap_makes_one_release(participant, invited, claims):
    campaign, url = invited()
    phone = participant()
    page = phone.join(url)
    phone.fill("1", "2", "3")
    page.evaluate("document.querySelector('#send').click(); document.querySelector('#send').click()")
    expect(page.get_by_role("dialog")).to_have_count(1)
    page.evaluate("const yes = document.querySelector('#yes'); yes.click(); yes.click()")
    expect(delivered(page)).to_have_count(1)
    page.wait_for_timeout(1500)
    assert len(phone.bodies()) == 1
    assert len(claims(campaign)) == 3


def test_two_taps_on_join_spend_one_invitation(participant, invited):
    _, url = invited()
    phone = participant()
    page = phone.open(url)
    join = page.get_by_role("button", name="Join this campaign")
    expect(join).to_be_visible()
    join.evaluate("(button) => { button.click(); button.click(); }")
    expect(page.get_by_role("heading", name="Your readings")).to_be_visible()
    assert sum(request.url.endswith("/enrolments") for request in phone.requests) == 1


def test_two_tabs_make_one_release(participant, invited, claims):
    campaign, url = invited(halls=4)  # enough readings are allowed that only the repeated tasks are wrong
    phone = participant()
    first = phone.join(url)
    second = phone.new_tab()
    second.goto(url)
    phone.fill("1", "2", page=first)
    phone.fill("91", "92", page=second)
    # Both at once: the pages do not wait for each other.
    for page in (first, second):
        page.locator("#send").click()
        expect(page.locator("#yes")).to_be_visible()
    for page in (first, second):
        page.evaluate("setTimeout(() => document.querySelector('#yes').click(), 50)")
    for page in (first, second):
        expect(delivered(page)).to_have_count(1)
        expect(page.locator("form.card input")).to_have_count(2)
    first.wait_for_timeout(1500)
    assert len(set(phone.bodies())) == 1
    assert len(claims(campaign)) == 2
    pairs = first.locator("#pairs").count() + second.locator("#pairs").count()
    assert pairs == 1  # one of them got the answer that it came too late


def test_typing_and_clicking_survive_a_redraw_of_the_page(participant, invited):
    """When the server confirms the joining, or another tab writes the record, the form that somebody is using stays."""
    _, url = invited(halls=2)
    phone = participant()
    page = phone.open(url)
    held = []
    phone.context.route("**/api/enrolments", lambda route: held.append(route))
    phone.context.route("**/api/enrolments", lambda route: route.abort(), times=1)
    page.get_by_role("button", name="Join this campaign").click()
    waits = page.locator("main").get_by_text("The server has not yet confirmed that you have joined")
    expect(waits).to_be_visible()
    expect(page.locator("#news")).to_contain_text("has not yet confirmed")  # for screen readers
    page.locator("#reading-0").fill("12345")
    page.locator("#reading-0").evaluate("(input) => input.setSelectionRange(1, 3)")
    page.locator(".promise summary").click()
    figures = page.locator(".promise details dl")
    expect(figures).to_be_visible()
    page.locator("#reading-0").focus()
    held.pop().continue_()
    expect(waits).to_be_hidden()
    expect(page.locator("#news")).to_contain_text("You have joined")
    expect(figures).to_be_visible()
    page.keyboard.insert_text("7")
    expect(page.locator("#reading-0")).to_have_value("1745")
    page.locator("#reading-0").fill("12")

    button = page.locator("#send")
    button.scroll_into_view_if_needed()
    box = button.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.evaluate("async () => (await import('./device.js')).changes.dispatchEvent(new Event('change'))")
    page.wait_for_timeout(500)
    page.mouse.up()
    expect(page.locator("#yes")).to_be_visible()


def test_readings_are_not_released_on_terms_that_another_tab_has_replaced(participant, invited):
    """Limits are checked against the terms in the record, so noise must not have been drawn under any other terms."""
    _, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    problem, releases = page.evaluate(
        """async () => {
            const { release } = await import("./device.js");
            const { change, read } = await import("./store.js");
            const [joined] = Object.values((await read()).memberships);
            await change(({ memberships }) => void (memberships[joined.campaign].manifest_sha256 = "0".repeat(64)));
            const readings = new Map([[joined.manifest.tasks[0].id, "5"]]);
            const problem = await release(joined, readings).then(() => null, ({ code }) => code);
            return [problem, (await read()).releases.length];
        }"""
    )
    assert (problem, releases) == ("manifest_changed", 0)


def test_readings_confirmed_on_terms_that_are_replaced_meanwhile_are_not_sent(participant, invited):
    _, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    phone.fill("5")
    page.locator("#send").click()
    expect(page.locator("#yes")).to_be_visible()
    page.evaluate(
        """async () => {
            const { changes } = await import("./device.js");
            const { change } = await import("./store.js");
            await change(({ memberships }) => {
                for (const joined of Object.values(memberships)) joined.manifest_sha256 = "0".repeat(64);
            });
            changes.dispatchEvent(new Event("change"));
        }"""
    )
    page.wait_for_timeout(500)  # until the page is drawn with the other terms
    phone.confirm()
    expect(page.get_by_role("alert")).to_contain_text("What to do")
    assert not phone.bodies()


def test_two_tabs_send_a_queue_once(participant, invited, claims):
    campaign, url = invited(halls=1)
    phone = participant()
    first = phone.join(url)
    phone.context.route(REPORTS, lambda route: route.abort())
    with first.expect_request(REPORTS):
        phone.send("5")
    expect(waiting(first)).to_be_visible()
    second = phone.new_tab()
    second.goto(url)
    expect(waiting(second)).to_be_visible()

    def slow(route):
        first.wait_for_timeout(500)  # time enough for the other tab to send as well, if it would
        route.continue_()

    # In place of the other route, not after its removal: a retry in between would go unnoticed.
    phone.context.route(REPORTS, slow)
    for page in (first, second):
        page.evaluate("setTimeout(() => window.dispatchEvent(new Event('online')), 50)")
    for page in (first, second):
        expect(delivered(page)).to_be_visible()
    first.wait_for_timeout(1000)
    answers = [request.response() for request in phone.reports_sent() if not request.failure]
    assert [answer.status for answer in answers] == [201]
    assert len(set(phone.bodies())) == 1
    assert len(claims(campaign)) == 1


def test_a_lost_answer_is_retried_with_the_same_bytes(participant, invited, claims):
    campaign, url = invited()
    phone = participant()
    page = phone.join(url)
    lost = []

    def lose(route):
        if lost:
            return route.continue_()
        lost.append(route.fetch().status)  # the server has it, the page will not know
        return route.abort()

    phone.context.route(REPORTS, lose)
    phone.send("1", "2", "3")
    expect(delivered(page)).to_be_visible()
    assert lost == [201]
    assert len(phone.bodies()) == 2
    assert len(set(phone.bodies())) == 1
    assert len(claims(campaign)) == 3


def test_a_lost_answer_to_joining_locks_nobody_out(participant, invited):
    _, url = invited()
    phone = participant()
    page = phone.open(url)
    lost, bad_times = [], [True]

    def lose(route):
        if not bad_times:
            return route.continue_()
        lost.append(route.fetch().status)
        return route.abort()

    phone.context.route("**/api/enrolments", lose)
    page.get_by_role("button", name="Join this campaign").click()
    expect(page.locator("main").get_by_text("The server has not yet confirmed that you have joined")).to_be_visible()
    bad_times.clear()
    page.reload()
    expect(page.locator("main").get_by_text("The server has not yet confirmed that you have joined")).to_be_hidden()
    phone.send("1", "2", "3")
    expect(delivered(page)).to_be_visible()
    assert lost[0] == 201
    keys = {request.post_data for request in phone.requests if request.url.endswith("/enrolments")}
    assert len(keys) == 1


@pytest.mark.parametrize("trouble", ["unavailable", "a stranger's refusal", "a stranger's welcome"])
def test_responses_that_are_not_the_servers_change_nothing(participant, invited, claims, trouble):
    campaign, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    answers = {
        "unavailable": {"status": 503, "body": "{}", "headers": {"Retry-After": "1"}},
        "a stranger's refusal": {"status": 403, "body": "<h1>Pay for the network</h1>", "content_type": "text/html"},
        "a stranger's welcome": {"status": 200, "body": "<h1>Sign in</h1>", "content_type": "text/html"},
    }
    phone.context.route(REPORTS, lambda route: route.fulfill(**answers[trouble]), times=1)
    phone.send("5")
    expect(waiting(page)).to_be_visible()
    expect(delivered(page)).to_be_visible()
    assert len(set(phone.bodies())) == 1
    assert len(phone.bodies()) == 2
    assert len(claims(campaign)) == 1


@pytest.mark.slow
def test_a_report_waits_until_the_server_is_up_again(participant, start_server, tmp_path):
    database = f"sqlite:///{tmp_path}/campaigns.db"
    server = start_server(database)
    campaign = server.opened(halls=1)
    phone = participant(server=server)
    page = phone.join(server.invite(campaign)[0]["url"])
    phone.wait_for_service_worker()
    server.stop()
    phone.send("5")
    expect(waiting(page)).to_be_visible()
    page.wait_for_timeout(1500)
    page.reload()
    expect(waiting(page)).to_be_visible()
    server = start_server(database, "--port", str(server.port))
    page.get_by_role("button", name="Try now").click()
    expect(delivered(page)).to_be_visible()
    assert len(set(phone.bodies())) == 1
    assert len(server.stored(campaign)) == 1


@pytest.mark.slow
def test_an_update_of_the_page_keeps_the_waiting_reports(participant, start_server, tmp_path):
    """A server with another page takes over while a report waits: the page is updated, and the report is unchanged."""
    database = f"sqlite:///{tmp_path}/campaigns.db"
    server = start_server(database)
    campaign = server.opened(halls=2)
    phone = participant(server=server)
    page = phone.join(server.invite(campaign)[0]["url"])
    phone.wait_for_service_worker()
    phone.context.route(REPORTS, lambda route: route.abort())
    phone.send("5", "")
    expect(waiting(page)).to_be_visible()
    server.stop()
    renewed = tmp_path / "renewed"
    shutil.copytree(Path(str(files("sottovoce"))), renewed / "sottovoce", ignore=shutil.ignore_patterns("__pycache__"))
    texts = renewed / "sottovoce" / "texts" / "en.json"
    texts.write_text(texts.read_text().replace("Your readings", "Your newest readings"))
    server = start_server(database, "--port", str(server.port), PYTHONPATH=str(renewed), PYTHONDONTWRITEBYTECODE="1")
    phone.fill("7.5")
    page.evaluate("navigator.serviceWorker.ready.then((registration) => registration.update())")
    expect(page.get_by_text("A new version of this page is ready.")).to_be_visible()
    expect(page.locator("#reading-0")).to_have_value("7.5")  # nothing typed is lost without a warning
    expect(page.get_by_role("heading", name="Your readings")).to_be_visible()
    page.get_by_role("button", name="Use it now").click()
    expect(page.get_by_role("heading", name="Your newest readings")).to_be_visible()
    expect(waiting(page)).to_have_count(1)
    phone.context.unroute(REPORTS)
    page.get_by_role("button", name="Try now").click()
    expect(delivered(page)).to_have_count(1)
    assert len(set(phone.bodies())) == 1
    assert len(server.stored(campaign)) == 1
    assert page.evaluate("caches.keys().then((names) => names.length)") == 1


def test_a_browser_without_storage_gets_an_explanation_and_nothing_is_sent(participant, invited):
    _, url = invited(halls=1)
    phone = participant()
    # A full disk ends a transaction in the same way.
    phone.context.add_init_script(
        "const put = IDBObjectStore.prototype.put;"
        "IDBObjectStore.prototype.put = function (...entry) { put.apply(this, entry); this.transaction.abort(); };"
    )
    page = phone.open(url)
    page.get_by_role("button", name="Join this campaign").click()
    expect(page.get_by_role("heading", name="This browser does not store data for this page")).to_be_visible()
    assert not any(request.url.endswith("/enrolments") for request in phone.requests)


def test_withdrawing_offline_is_sent_later(participant, invited, claims):
    campaign, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    phone.send("5")
    expect(delivered(page)).to_be_visible()
    phone.context.set_offline(True)
    page.get_by_role("button", name="Withdraw…").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    expect(page.get_by_text("The server has not confirmed this yet;")).to_be_visible()
    assert len(claims(campaign)) == 1
    phone.context.set_offline(False)
    expect(page.get_by_text("The server has erased your values.")).to_be_visible()
    assert claims(campaign) == []
