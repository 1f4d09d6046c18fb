"""From the link to the result, on a phone; and what the page refuses."""

import json
import re
from importlib.resources import files

import numpy as np
import pytest
from playwright.sync_api import expect

from byte_streams import seeded_bytes
from patience import until
from sottovoce.privacy.conformity import SMALLEST_P_VALUE, up_to
from sottovoce.privacy.laws import parse_law
from sottovoce.privacy.sampler import exact_number
from sottovoce.protocol import Report


def heading(page, words):
    return page.get_by_role("heading", name=words)


def delivered(page, count=1):
    expect(page.locator("li .chip.delivered")).to_have_count(count)


def test_from_the_link_to_the_result(participant, invited, claims, server):
    campaign, url = invited(halls=2)
    server.crowd(campaign, 6, steps=(123, 450))
    phone = participant()
    page = phone.join(url)
    phone.send("12.3", "45,0")
    expect(page.locator("#pairs")).to_be_focused()
    expect(page.locator(".stays b")).to_have_text(["12.3 m", "45.0 m"])
    delivered(page)
    (body,) = phone.bodies()
    values = {reading.task: reading.value for reading in Report.parse(body).readings}
    shown = [text.removesuffix("\u00a0m").replace("−", "-") for text in page.locator(".sent b").all_inner_texts()]
    assert [round(float(text) * 10) for text in shown] == [values["hall-0"], values["hall-1"]]
    stored = {(claim["object"], round(float(claim["value"]) * 10)) for claim in claims(campaign)}
    assert set(values.items()) <= stored
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    until(lambda: server.results(campaign)["reports"] >= 6, "results of all")  # computed in the background
    results = server.results(campaign)
    assert results["reports"] in (6, 7)  # if a step was taken before, a single one does not make another
    assert [result["claims"] for result in results["results"]] == [results["reports"]] * 2
    expect(page.get_by_role("link", name="What the crowd found")).to_have_attribute("href", f"../c/{campaign}?lang=en")


def spellings(reading):
    """Ways in which a raw reading could hide in a request."""
    number = float(reading)
    steps = round(number * 10)
    texts = {
        reading,
        reading.replace(".", ","),
        f"{number:g}",
        f"{number:.2f}",
        f"{number:e}",
        str(steps),
        f"{steps:x}",
    }
    raw = {np.array([number], kind).tobytes() for kind in ("<f4", ">f4", "<f8", ">f8")}
    return {text.encode() for text in texts} | raw


_RECORD = """async () => {
    const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const database = await done(indexedDB.open("sottovoce"));
    const all = await done(database.transaction("record").objectStore("record").getAll());
    const text = (key, value) => {
        if (value instanceof Uint8Array) return new TextDecoder().decode(value);
        if (value instanceof Map || value instanceof Set) return [...value];
        return typeof value === "bigint" ? String(value) : value;
    };
    return JSON.stringify(all, text) + JSON.stringify({ ...localStorage, ...sessionStorage });
}"""


# As if it had been joined with a page that took the promise to be ε = 0.
_OLD_RECORD = """async () => {
    const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const database = await done(indexedDB.open("sottovoce"));
    const store = database.transaction("record", "readwrite").objectStore("record");
    const record = await done(store.get("own"));
    for (const joined of Object.values(record.memberships)) joined.epsilon = 0;
    await done(store.put(record, "own"));
}"""


def test_no_raw_reading_leaves(participant, invited):
    """Readings of many digits, which noise cannot produce by chance: a match in any request would be the reading."""
    task = {"title": "Hallway", "unit": "m", "low": 0, "high": 10_000_000, "grid": 0.1}
    tasks = [{**task, "id": f"hall-{n}"} for n in range(3)]
    readings = ["1234567.8", "7654321.9", "3141592.6"]
    _, url = invited(tasks=tasks, noise="fresh:0.00000001", distance=10_000)
    phone = participant()
    page = phone.join(url)
    phone.send(*readings)
    delivered(page)
    page.reload()
    delivered(page)
    page.goto(f"{phone.server.url}/j/#ledger")
    delivered(page)
    assert len(phone.requests) > 20
    seen = [
        part
        for request in phone.requests
        for part in (request.url.encode(), json.dumps(request.headers).encode(), request.post_data_buffer or b"")
    ]
    for reading in readings:
        for spelling in spellings(reading):
            assert not any(spelling in part for part in seen), spelling
    # Nor do they stay: the page's storage has no trace of them.
    kept = page.evaluate(_RECORD)
    assert '"readings"' in kept
    for reading in readings:
        assert not any(spelling.decode("latin-1") in kept for spelling in spellings(reading) if spelling.isascii())


def test_the_served_sampler_reproduces_the_vectors_in_the_browser(participant, server):
    """All laws, from the bytes of each vector; the served files are without comments, so they are tried as they are."""
    vectors = json.loads((files("sottovoce.privacy") / "vectors.json").read_text())["samplers"]
    vectors = [vector for vector in vectors if vector["readings"]]  # the page never sends nothing
    given = [{**vector, "bytes": list(seeded_bytes(vector["seed"])(vector["bytes_used"] + 256))} for vector in vectors]
    page = participant().open(f"{server.url}/j/")
    drawn = page.evaluate(
        """async (vectors) => {
            const { ByteStream } = await import("./sampler.js");
            const { noisyReadings } = await import("./noisy.js");
            return vectors.map(({ bytes, law, grid, low, high, readings }) => {
                const stream = new ByteStream((count) => Uint8Array.from(bytes.splice(0, count)));
                const ids = readings.map((_, place) => String(place).padStart(2, "0"));
                const tasks = ids.map((id) => ({ id, grid, low, high }));
                const noisy = noisyReadings(law, tasks, new Map(ids.map((id, n) => [id, readings[n]])), stream);
                return [noisy.map(({ value }) => String(value)), stream.used];
            });
        }""",
        given,
    )
    assert drawn == [[list(map(str, vector["outputs"])), vector["bytes_used"]] for vector in vectors]


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["fresh:0.5", "shared:0.5"])
def test_what_is_sent_follows_the_law(participant, invited, noise):
    """Through the page's own worker: 400 releases of 30 readings. The right noise deviates this far from its law less
    than once in a million times, by the bound of Dvoretzky, Kiefer, Wolfowitz and Massart. Under the shared law
    readings of one release share a variance, so only the first of each counts."""
    tasks = [{"id": f"t{n:02}", "low": "0", "high": "100", "grid": "0.1"} for n in range(30)]
    _, url = invited()
    phone = participant()
    page = phone.open(url)
    draws = page.evaluate(
        """async ([noise, tasks]) => {
            const worker = new Worker("noise-worker.js", { type: "module" });
            const readings = new Map(tasks.map(({ id }) => [id, "50"]));
            const draw = () => new Promise((done, failed) => {
                worker.onerror = ({ message }) => failed(new Error(message));
                const { port1, port2 } = new MessageChannel();
                port1.onmessage = ({ data }) => done(data.map(({ value }) => Number(value)));
                worker.postMessage([noise, tasks, readings], [port2]);
            });
            const draws = [];
            for (let release = 0; release < 400; release += 1) draws.push(await draw());
            return draws;
        }""",
        [noise, tasks],
    )
    noises = np.array(draws, float) - 500
    sample = np.sort(noises[:, 0] if noise.startswith("shared") else noises.ravel())
    law = parse_law(noise).on_grid(exact_number("0.1"))
    points = np.unique(sample)
    seen = np.searchsorted(sample, points, side="right") / len(sample)
    assert len(points) > 20
    gap = np.abs(seen - up_to(law, points)).max()
    assert 2 * np.exp(-2 * len(sample) * gap**2) >= SMALLEST_P_VALUE


def test_opening_a_link_spends_nothing(participant, invited, server):
    _, url = invited()
    phone = participant()
    for _ in range(2):
        expect(heading(phone.open(url), "What leaves this device")).to_be_visible()
    assert server.client.get(url).status_code == 200
    assert server.client.head(url).status_code == 200
    phone.join(url)
    assert server.enrol(re.search(r"/j/([\w-]+)", url)[1]).json()["code"] == "invitation_spent"


def test_the_card_says_what_is_promised(participant, invited):
    _, url = invited()
    page = participant().open(url)
    card = page.locator("section.card").filter(has=heading(page, "What leaves this device"))
    expect(card).to_contain_text("Suppose you measure 50 m")
    expect(card).to_contain_text("between 47.7 m and 52.3 m")  # ± ln 10 for Laplace noise of scale 1
    expect(card).to_contain_text("one of your readings is either 50 m or 51 m")
    expect(card).to_contain_text("guess right at most 74 times out of 100")  # e/(1 + e) = 0.731
    expect(card).to_contain_text("They do see that you take part, when, and which tasks you answered.")
    expect(card.get_by_role("img")).to_have_accessible_name(re.compile(r"out of ten, .* between 47\.7\sm and 52\.3\sm"))
    expect(card.locator("dl")).to_be_hidden()
    card.get_by_text("The figures").click()
    expect(card.locator("dl")).to_contain_text("fresh:0.5")
    expect(card.locator("details")).to_contain_text("had it differed by up to 1 m")
    expect(card.locator("details")).to_contain_text("2.72 times as likely")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"noise": "fresh:50"}, r"Its ε is 10; your limit is 3\."),
        ({"distance": 0.05}, r"it protects only differences of up to 0\.05; your limits require 0\.1\."),
        ({"noise": "gaussian:0.5"}, r"Its ε is [\d.]+; your limit is 3\."),
        (
            {
                "tasks": [{"id": name, "low": 0, "high": 5000, "grid": "0.000001"} for name in "ab"],
                "noise": "gaussian:1e-07", "distance": 5000, "unit": "participant", "readings": 2,
            },
            "it promises nothing",
        ),
    ],
    ids=["epsilon", "distance", "gaussian", "no noise to speak of"],
)  # fmt: skip
def test_a_campaign_weaker_than_the_limits_is_refused(participant, invited, changes, reason):
    _, url = invited(**changes)
    phone = participant()
    page = phone.open(url)
    expect(heading(page, "This campaign protects you too little")).to_be_visible()
    expect(page.locator("main")).to_contain_text(re.compile(reason))
    expect(page.get_by_role("button", name="Join")).to_have_count(0)
    assert not any(request.url.endswith("/enrolments") for request in phone.requests)


def test_a_promise_that_an_older_page_got_wrong_is_not_relied_on(participant, invited):
    _, url = invited(noise="gaussian:5", distance=10)
    phone = participant()
    page = phone.open(f"{phone.server.url}/j/#limits")
    page.get_by_text("For experts: the figures").click()
    page.get_by_label("ε of a campaign").fill("50")
    page.get_by_label("ε of all campaigns").fill("50")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Saved.")
    phone.join(url)
    page.evaluate(_OLD_RECORD)
    page.reload()
    phone.send("12.3")
    expect(heading(page, "This campaign’s noise cannot keep its promise")).to_be_visible()
    page.wait_for_timeout(1500)  # longer than a report waits
    assert not phone.reports_sent()


def test_the_participant_sets_their_own_limits(participant, invited):
    _, url = invited()
    phone = participant()
    page = phone.open(f"{phone.server.url}/j/#limits")
    page.get_by_text("For experts: the figures").click()
    page.get_by_label("ε of a campaign").fill("half")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("“half” cannot be a limit")
    expect(page.get_by_label("ε of a campaign")).to_be_focused()
    page.get_by_label("ε of a campaign").fill("0.5")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#saved")).to_have_text("Saved.")
    expect(heading(phone.open(url), "This campaign protects you too little")).to_be_visible()
    page.goto(f"{phone.server.url}/j/#limits")
    expect(page.get_by_label("ε of a campaign")).to_have_value("0.5")
    expect(page.get_by_text("You have set your own figures.")).to_be_visible()
    page.get_by_label("Usual").check()
    expect(page.locator("#saved")).to_have_text("Saved.")
    expect(page.locator("#epsilon")).to_have_value("3")
    expect(page.get_by_label("Usual")).to_be_checked()
    expect(page.get_by_text("at most 96 times out of 100")).to_be_visible()  # e³/(1 + e³) = 0.9526
    phone.join(url)


def test_strict_limits_refuse_and_loose_limits_accept(participant, invited):
    _, strong = invited()  # ε = 1, for a hundredth of the range
    _, weak = invited(noise="fresh:8")  # ε = 4
    phone = participant()
    page = phone.open(f"{phone.server.url}/j/#limits")
    page.get_by_label("Strict").check()
    expect(page.locator("#saved")).to_have_text("Saved.")
    expect(heading(phone.open(weak), "This campaign protects you too little")).to_be_visible()
    phone.join(strong)
    page.goto(f"{phone.server.url}/j/#limits")
    expect(page.get_by_label("Strict")).to_be_checked()
    page.get_by_label("Loose").check()
    expect(page.locator("#saved")).to_have_text("Saved.")
    phone.join(weak, again=True)


def test_campaigns_add_up_to_the_limit_across_all(participant, invited):
    phone = participant()
    for number in range(3):
        _, url = invited(halls=1, noise="fresh:4.5")  # ε = 3
        page = phone.join(url, again=number > 0)
        phone.send("50")
        delivered(page)
    page.goto(f"{phone.server.url}/j/#ledger")
    expect(page.locator("main")).to_contain_text("ε 9 of 10 spent")
    expect(page.locator("li.card")).to_have_count(3)
    _, url = invited(halls=1, noise="fresh:4.5")
    expect(heading(phone.open_again(url), "This campaign would exceed your limit across all campaigns")).to_be_visible()


def test_mistyped_readings_are_explained_and_nothing_is_sent(participant, invited):
    _, url = invited(halls=3)
    phone = participant(locale="en-GB")
    page = phone.join(url)
    phone.send("twelve", "1,234", "1200")
    expect(page.locator("#reading-0-error")).to_contain_text("“twelve” is not a number")
    expect(page.locator("#reading-1-error")).to_contain_text("is ambiguous")
    outside = "outside the range 0 to 100 m. Check it; if it is correct, enter 100, the nearest value allowed."
    expect(page.locator("#reading-2-error")).to_contain_text(outside)
    expect(page.get_by_role("alert")).to_contain_text("3 answers need another look")
    expect(page.locator("#reading-0")).to_be_focused()
    phone.send("", "", "")
    expect(page.get_by_role("alert")).to_contain_text("Answer at least one task")
    page.wait_for_timeout(1200)
    assert not phone.bodies()
    phone.send("", "", "99.9")
    delivered(page)


def test_a_comma_is_a_point_where_people_write_it_so(participant, invited):
    _, url = invited(halls=1)
    phone = participant(locale="de-DE")
    page = phone.open(url)
    page.get_by_role("button", name="An dieser Kampagne teilnehmen").click()
    page.locator("#reading-0").fill("1.234")
    page.get_by_role("button", name="Verrauschen und senden").click()
    expect(page.locator("#reading-0-error")).to_have_text("„1.234“ ist mehrdeutig. Schreiben Sie 1234 oder 1,234.")
    page.locator("#reading-0").fill("1,234")
    page.get_by_role("button", name="Verrauschen und senden").click()
    phone.confirm()
    expect(page.locator(".stays b")).to_have_text("1,234 m")


def test_further_readings_can_follow_under_fresh_noise(participant, invited, claims):
    campaign, url = invited(halls=3, readings=2)
    phone = participant()
    page = phone.join(url)
    phone.send("1", "2", "3")
    expect(page.get_by_role("alert")).to_contain_text("More answers than the campaign accepts")
    phone.send("1", "", "")
    delivered(page)
    expect(page.locator("form.card")).to_contain_text("You may still answer 1 task.")
    expect(page.locator("form.card input")).to_have_count(2)
    phone.send("2")
    delivered(page, 2)
    expect(page.locator("form.card")).to_have_count(0)
    assert sorted(claim["object"] for claim in claims(campaign)) == ["hall-0", "hall-1"]


def test_under_a_shared_variance_all_readings_go_at_once(participant, invited):
    _, url = invited(noise="shared:0.001")
    phone = participant()
    page = phone.join(url)
    expect(page.locator("form.card")).to_contain_text("cannot be added later")
    phone.send("12", "", "")
    delivered(page)
    expect(page.locator("form.card")).to_have_count(0)


def test_a_manifest_other_than_the_one_in_the_link_is_refused(participant, invited):
    _, url = invited()
    phone = participant()
    last = "0" if url[-1] != "0" else "1"
    page = phone.open(url[:-1] + last)
    expect(heading(page, "The server’s terms do not match your link")).to_be_visible()
    expect(page.locator("main button")).to_have_count(0)


def test_a_manifest_that_was_changed_on_the_way_is_refused(participant, invited):
    _, url = invited()
    phone = participant()

    def weaker(route):
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("fresh:0.5", "fresh:0.6"))

    phone.context.route("**/manifest", weaker)
    expect(heading(phone.open(url), "The server’s terms do not match your link")).to_be_visible()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda url: url.partition("#")[0], "The link is incomplete"),
        (lambda url: url[:-3], "This is not an invitation link"),
        (lambda url: url.replace("/j/", "/j/x"), "The server does not recognise this invitation"),
    ],
    ids=["no hash", "half a hash", "another token"],
)
def test_links_that_lead_nowhere_are_explained(participant, invited, spoil, words):
    _, url = invited()
    expect(heading(participant().open(spoil(url)), words)).to_be_visible()


def test_a_revoked_invitation_is_explained(participant, invited, server):
    campaign, url = invited()
    (number,) = [
        one["id"]
        for one in server.client.get(f"/api/campaigns/{campaign}/invitations", headers=server.operator).json()[
            "invitations"
        ]
    ]
    phone = participant()
    page = phone.open(url)
    expect(page.get_by_role("button", name="Join")).to_be_visible()
    server.client.delete(f"/api/campaigns/{campaign}/invitations/{number}", headers=server.operator)
    page.get_by_role("button", name="Join").click()  # revoked while it was being viewed
    expect(heading(page, "This invitation was revoked")).to_be_visible()
    expect(heading(participant().open(url), "This invitation was revoked")).to_be_visible()


def test_an_invitation_serves_one_browser(participant, invited):
    _, url = invited()
    participant().join(url)
    page = participant().open(url)  # whether it is used is not shown, or its operator could see who joins
    page.get_by_role("button", name="Join").click()
    expect(heading(page, "This invitation has been used")).to_be_visible()


def test_a_campaign_that_closes_refuses_the_report_and_the_page_says_so(participant, invited, server):
    campaign, url = invited(halls=1)
    phone = participant()
    page = phone.join(url)
    server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator)
    # As if it had closed just after the page asked.
    phone.context.route("**/state", lambda route: route.fulfill(json={"state": "open"}))
    phone.send("5")
    expect(page.locator("li .chip.refused")).to_be_visible()
    expect(page.locator("#pairs")).to_contain_text("The server refused this")
    expect(page.locator("li.card")).to_contain_text("This campaign is closed")
    expect(page.locator("form.card")).to_have_count(0)


def test_withdrawing_erases_the_readings_and_is_final(participant, invited, claims):
    campaign, url = invited()
    phone = participant()
    page = phone.join(url)
    phone.send("1", "2", "3")
    delivered(page)
    page.get_by_role("button", name="Withdraw…").click()
    page.get_by_role("button", name="Keep taking part").click()
    page.get_by_role("button", name="Withdraw…").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    expect(page.locator("main")).to_contain_text("The server has erased your values.")
    assert claims(campaign) == []
    page.reload()
    expect(page.locator("main")).to_contain_text("The server has erased your values.")
    expect(page.locator("li .chip.withdrawn")).to_be_visible()
    page.goto(f"{phone.server.url}/j/#ledger")
    expect(page.locator("main")).to_contain_text("ε 1 of 10 spent")


def test_without_encryption_the_page_says_so_and_does_nothing(participant, invited):
    _, url = invited()
    phone = participant()
    page = phone.open(url.replace("127.0.0.1", "unencrypted.example"))
    expect(heading(page, "This page cannot protect you here")).to_be_visible()
    expect(page.locator("main button")).to_have_count(0)
    assert not any("/api/" in request.url for request in phone.requests)


def test_how_it_works_states_the_limits_of_a_page(participant, server):
    page = participant().open(f"{server.url}/j/#how")
    expect(page.locator("main")).to_contain_text("A hostile server could send you an altered page")
    expect(page.locator("main")).to_contain_text("which no server can alter")
