"""Codes that people type, tablets that people share, a second person in one browser, and tasks with enough readings."""

import re

from playwright.sync_api import expect

from server_under_test import bearer

KEPT = """async () => {
  const names = (await indexedDB.databases()).map(({ name }) => name);
  const records = names.includes("sottovoce") ? await new Promise((done) => {
    const opening = indexedDB.open("sottovoce", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("record");
    opening.onsuccess = () => {
      const all = opening.result.transaction("record").objectStore("record").getAll();
      all.onsuccess = () => done(all.result);
    };
  }) : [];
  return [records.length, Object.keys(localStorage), Object.keys(sessionStorage), document.cookie];
}"""


def invitation(server, campaign, **body):
    answer = server.client.post(f"/api/campaigns/{campaign}/invitations", json=body, headers=server.operator)
    return answer.json()["invitations"][0]


def test_a_code_is_typed_and_leads_to_the_campaign(server, participant):
    campaign = server.opened(title="How warm is it?")
    made = invitation(server, campaign, kind="code")
    phone = participant()
    page = phone.open(f"{server.url}/j/#code")
    expect(page.locator("#code")).to_be_focused()
    page.locator("#code").fill("ABC-DEF-GHJ")
    page.get_by_role("button", name="Continue").click()
    expect(page.locator("form .error")).to_contain_text("no such code")
    page.locator("#code").fill(made["code"].lower().replace("-", " "))
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="How warm is it?")).to_be_visible()
    # The terms are not pinned, and the page says so, with what can be compared.
    expect(page.locator(".banner", has_text="does not fix the terms")).to_contain_text(
        server.manifest_hash(campaign)[:16]
    )
    page.get_by_role("button", name="Join this campaign").click()
    expect(page.get_by_role("heading", name="Your readings")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Your readings")).to_be_visible()


def test_a_kiosk_keeps_nothing_of_the_last_person(server, participant, claims):
    campaign = server.opened(title="How warm is it?", halls=2)
    link = invitation(server, campaign, kind="open", people=2)["url"]
    tablet = participant()
    page = tablet.open(f"{link}&kiosk")
    for person, reading in enumerate(("41.73", "43.19")):
        expect(page.locator(".banner", has_text="shared")).to_be_visible()
        expect(page.locator("nav")).to_have_count(0)
        expect(page.locator("main")).not_to_contain_text("withdraw at any time")  # it says that nobody can, later
        page.locator("#language").select_option("de")
        expect(page.locator("main")).to_contain_text("Dieses Gerät")
        page.locator("#language").select_option("en")
        page.get_by_role("button", name="Join this campaign").click()
        tablet.send(reading)
        expect(page.locator("li .chip.delivered")).to_be_visible()
        page.get_by_role("button", name="Next person").click()
        expect(page.locator("main")).not_to_contain_text(reading)
        if person == 0:
            expect(page.get_by_role("button", name="Join this campaign")).to_be_visible()
        records, local, session, cookies = page.evaluate(KEPT)
        assert (records, session, cookies) == (0, [], "")
        assert local == []
    page.get_by_role("button", name="Join this campaign").click()
    expect(page.locator("main .problem")).to_contain_text(
        "has admitted as many people as it can"
    )  # the link admits two
    assert len({row["user"] for row in claims(campaign)}) == 2


def test_a_second_person_gets_their_own_ledger(server, participant, claims):
    campaign = server.opened(title="How warm is it?", halls=2)
    other = server.opened(title="How loud is it?", halls=2)
    first, second, third = (one["url"] for one in [*server.invite(campaign, 2), *server.invite(other)])
    phone = participant()
    phone.join(first)
    phone.send("41")
    page = phone.page
    expect(page.locator("li .chip.delivered")).to_be_visible()

    phone.open(second)  # to the same campaign
    expect(page.get_by_role("heading", name=re.compile("before"))).to_be_visible()
    expect(page.locator("main")).to_contain_text("How warm is it?")
    page.get_by_role("button", name="No, I am somebody else").click()
    page.get_by_role("button", name="Join this campaign").click()
    phone.send("43")
    expect(page.locator("li .chip.delivered")).to_have_count(1)
    assert len({row["user"] for row in claims(campaign)}) == 2

    phone.open(first)  # a link that was used leads to its own person, without a question
    expect(page.locator("li .chip.delivered")).to_have_count(1)
    phone.open(third)  # another campaign, for the first of the two
    page.get_by_role("button", name="Yes, that was me").first.click()
    page.get_by_role("button", name="Join this campaign").click()
    expect(page.get_by_role("heading", name="Your readings")).to_be_visible()
    phone.open(f"{server.url}/j/#ledger")
    expect(page.locator("li.card")).to_have_count(1)
    phone.open(f"{server.url}/j/")
    expect(page.locator("main li")).to_have_count(2)


def test_tasks_with_enough_readings_are_not_offered(server, participant):
    tasks = [
        {"id": f"hall-{n}", "title": f"Hallway {n}", "unit": "m", "low": 0, "high": 100, "grid": 0.1, "quota": 1 + n}
        for n in range(2)
    ]
    campaign = server.opened(tasks=tasks)
    late, later, last = (one["url"] for one in server.invite(campaign, 3))
    phone = participant()
    phone.join(late)  # and then somebody else is faster
    (token,) = server.participants(campaign, 1)
    server.report(campaign, token, server.body(campaign, [100, 200]))
    phone.fill("12", "13")
    phone.send()
    expect(phone.page.locator("li .chip.delivered")).to_be_visible()
    (body,) = phone.bodies()
    assert b"hall-0" not in body
    assert b"hall-1" in body
    another = participant()
    page = another.open(later)
    expect(page.locator("main")).to_contain_text("all the answers it needs")
    expect(page.get_by_role("button", name="Join this campaign")).to_have_count(0)
    assert not another.reports_sent()
    server.client.delete(f"/api/campaigns/{campaign}/participation", headers=bearer(token))  # one place is free again
    page.goto(last)
    expect(page.get_by_role("button", name="Join this campaign")).to_be_visible()
