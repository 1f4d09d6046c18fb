"""Numbers by comparison on the page: as the installed client does it, and in a real browser against a real server."""

import json

import pytest
from playwright.sync_api import expect

from browser.accessibility import assert_accessible
from byte_streams import seeded_stream
from page_modules import sent
from questions import BIRD, PATH
from sottovoce.device.cuts import alternatives_of
from sottovoce.device.release import noisy_readings
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.protocol import Manifest, Problem, Report
from sottovoce.texts import LANGUAGES, texts_in

HALL = {"id": "hall", "kind": "number", "title": "How long?", "unit": "m", "low": 0, "high": 30, "grid": "0.1"}
STAIRS = {**HALL, "id": "stairs"}


def manifest(**changes):
    return Manifest.of({
        "format": "sottovoce-manifest/2", "campaign": "lengths", "title": "Lengths", "asked_by": "Somebody",
        "tasks": [HALL, STAIRS], "noise": "response:1", "levels": 2, "readings": 2, **changes,
    })  # fmt: skip


# as modules


def test_the_same_bytes_give_the_report_of_the_installed_client(ask):
    two, four = manifest(), manifest(levels=4, noise="response:4", tasks=[STAIRS, PATH, HALL, BIRD], readings=4)
    cases = [
        (two, {"hall": "9.04", "stairs": "31"}, {"hall": [[249], [187], [61]], "stairs": [[61]]}),
        (two, {"stairs": "-2"}, {"hall": [[1]], "stairs": [[-1], [1], [3], [5], [7]]}),
        (four, {"hall": "12.35", "stairs": "3", "path": "no", "bird": "wren"},
         {"hall": [[245, 247, 249], [1, 3, 9]], "stairs": [[1, 599, 9007199254740991]]}),
    ]  # fmt: skip
    questions, expected = [], []
    for number in range(30):
        asked, readings, cuts = cases[number % len(cases)]
        seed = f"comparison {number}"
        by_place = {
            task: {"no": 1, "wren": 2}[reading] if task in ("path", "bird") else reading
            for task, reading in readings.items()
        }
        questions.append({"manifest": sent(asked), "readings": by_place, "seed": seed, "cuts": cuts})
        offered = {task: [tuple(one) for one in cuts[task]] for task in cuts if task in readings}
        expected.append(noisy_readings(asked, readings, seeded_stream(seed), offered))
    found = ask("noisy", questions)
    assert found == expected
    assert len({json.dumps(one) for one in found}) > 10  # what is drawn differs


LISTS = {
    "as published": {"as_of": None, "tasks": {"hall": [[249], [-187]], "stairs": [[61]]}},
    "a full task": {"tasks": {"stairs": [[61]]}}, "all full": {"tasks": {}},
    "even": {"tasks": {"hall": [[248]]}}, "text": {"tasks": {"hall": [["249"]]}}, "two": {"tasks": {"hall": [[1, 3]]}},
    "none": {"tasks": {"hall": [[]]}}, "no alternative": {"tasks": {"hall": []}}, "no list": {"tasks": {"hall": 249}},
    "not lists": {"tasks": {"hall": [249]}}, "true": {"tasks": {"hall": [[True]]}}, "null": {"tasks": {"hall": None}},
    "beyond": {"tasks": {"hall": [[2**53 + 1]]}}, "101 alternatives": {"tasks": {"hall": [[1]] * 101}},
    "100 alternatives": {"tasks": {"hall": [[1]] * 100}}, "another task": {"tasks": {"other": [[1]]}},
    "one bad among good": {"tasks": {"hall": [[1], [2]], "stairs": [[1]]}}, "a list of tasks": {"tasks": []},
    "nothing": {}, "a list": [], "a number": 5, "a prototype": {"tasks": {"__proto__": [[1]]}},
}  # fmt: skip


def test_lists_of_cuts_are_refused_as_by_the_installed_client(ask):
    expected = []
    for document in LISTS.values():
        try:
            listed = alternatives_of(manifest(), json.dumps(document).encode())
            expected.append([[task, [list(cuts) for cuts in offered]] for task, offered in listed.items()])
        except Problem:
            expected.append("bad_cuts")
    questions = [{"manifest": sent(manifest()), "content": json.dumps(document)} for document in LISTS.values()]
    assert dict(zip(LISTS, ask("alternatives", questions), strict=True)) == dict(zip(LISTS, expected, strict=True))
    assert expected.count("bad_cuts") == len(LISTS) - 4
    four = {"manifest": sent(manifest(levels=4, noise="response:4"))}
    lists = [[1, 3, 9], [1, 3], [3, 1, 9], [1, 1, 3], [1, 2, 3]]
    answers = ask("alternatives", [{**four, "content": json.dumps({"tasks": {"hall": [one]}})} for one in lists])
    assert answers == [[["hall", [[1, 3, 9]]]], *["bad_cuts"] * 4]


def test_questions_and_answers_in_words(ask):
    base = {"low": "0", "high": "30", "grid": "0.1", "unit": "m"}
    cases = [
        {**base, "cuts": [249], "reading": "9.04"}, {**base, "cuts": [249], "reading": "12.5"},
        {**base, "cuts": [245, 247, 249], "reading": "12.32"},
        {**base, "grid": "10", "unit": "", "cuts": [3], "reading": "30"},
        {**base, "grid": "0.25", "cuts": [-3], "low": "-9", "reading": "-1"},
    ]  # fmt: skip
    found = [[text.replace("\u00a0", " ") for text in texts] for texts in ask("compared", cases)]
    two = ["below 12.45 m", "above 12.45 m"]
    assert found[:2] == [["Is it above or below 12.45 m?", own, *two] for own in two]
    parts = ["below 12.25 m", "between 12.25 m and 12.35 m", "between 12.35 m and 12.45 m", "above 12.45 m"]
    assert found[2] == ["Where does it lie among 12.25 m, 12.35 m and 12.45 m?", parts[1], *parts]
    assert found[3] == ["Is it above or below 15?", "above 15", "below 15", "above 15"]
    assert found[4][:2] == ["Is it above or below −0.375 m?", "below −0.375 m"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_card_says_how_often_another_answer_is_sent(ask, language):
    """The figures are those of the installed client, in one sentence."""
    cases = [("response:1.0", 2), ("response:4.0", 4), ("response:0.1", 4)]
    found = ask("comparison_words", [{"tag": language, "law": law, "levels": levels} for law, levels in cases])
    for (law, levels), words in zip(cases, found, strict=True):
        usual = parse_answer_law(law).in_words(levels, language)
        so = [text for key, text in texts_in(language).texts.items() if key.startswith("answer.so.") and text in usual]
        assert so[0] in words
        assert {part for part in usual.split() if part.isdigit()} <= set(words.split())
        assert words.rstrip(".。").count(". ") == 0


# in a browser

CUTS = "**/api/campaigns/*/cuts"
LENGTH = {"title": "How long is the hallway?", "unit": "m", "low": 0, "high": 30, "grid": 0.1}


@pytest.fixture
def compared(server):
    """A new campaign of comparisons, and a link to it."""

    def invite(*tasks, **changes):
        names = tasks or ("hall", "stairs")
        body = {"title": "Lengths", "tasks": [{**LENGTH, "id": name, "title": f"How long: {name}?"} for name in names],
                "noise": "response:1", "levels": 2, "readings": len(names), **changes}  # fmt: skip
        made = server.client.post("/api/campaigns", json=body, headers=server.operator)
        assert made.status_code == 201, made.text
        campaign = made.json()["id"]
        server.open(campaign)
        return campaign, server.invite(campaign)[0]["url"]

    return invite


def published(server, campaign):
    return server.client.get(f"/api/campaigns/{campaign}/cuts").json()


def answer_with(tasks):
    return lambda route: route.fulfill(json={"as_of": None, "tasks": tasks})


def send(page):
    expect(page.locator("dialog")).to_have_count(0)
    page.get_by_role("button", name="Send my answers privately").click()
    page.locator("#yes").click()


def delivered(page, count=1):
    expect(page.locator("li .chip.delivered")).to_have_count(count)


def plain(texts):
    return [text.replace("\u00a0", " ") for text in texts]


def test_a_comparison_from_the_link_to_the_report(participant, compared, server):
    campaign, url = compared()
    phone = participant()
    page = phone.open(url)
    words = "Your device reports only whether your reading is above or below a published value; in 27 of 100 cases"
    expect(page.get_by_text(words)).to_be_visible()
    expect(page.locator(".dots circle.other")).to_have_count(27)
    phone.join(url)
    phone.fill("9.04")
    send(page)
    expect(page.locator("#pairs")).to_be_focused()
    delivered(page)
    (body,) = phone.bodies()
    (reading,) = Report.parse(body).readings
    offered = published(server, campaign)["tasks"]["hall"]
    assert list(reading.cuts) in offered
    assert b"9.04" not in body
    cut = f"{reading.cuts[0] * 0.05:.2f} m"
    answers = [f"below {cut}", f"above {cut}"]
    shown = plain(page.locator("#pairs b").all_inner_texts())
    assert shown == ["9.04 m", f"Is it above or below {cut}?", answers[reading.cuts[0] < 180], answers[reading.value]]
    page.get_by_text("In this report: 1 value").click()
    assert answers[reading.value] in plain([page.locator("li.card dl").inner_text()])[0]
    asked = [request for request in phone.requests if request.url.endswith("/cuts")]
    assert asked
    for request in asked:
        assert (
            not {"authorization", "cookie"} & request.all_headers().keys()
        )  # the list is fetched by nobody in particular
    assert_accessible(page, "a comparison that was sent")
    page.reload()
    expect(page.locator("form.card input")).to_have_count(1)  # once, ever
    phone.fill("3")
    send(page)
    delivered(page, 2)
    expect(page.locator("form.card")).to_have_count(0)
    assert len(set(phone.bodies())) == 2


def test_without_a_network_the_last_list_is_used_and_retried_with_the_same_bytes(participant, compared, server):
    campaign, url = compared()
    phone = participant()
    with phone.page.expect_response(CUTS):
        page = phone.join(url)
    phone.wait_for_service_worker()
    phone.context.set_offline(True)
    page.reload()
    phone.fill("9")
    send(page)
    expect(page.locator("li .chip.queued")).to_be_visible()
    shown = page.locator("#pairs b").all_inner_texts()
    page.get_by_role("button", name="Try now").click()
    phone.context.route(CUTS, answer_with({"hall": [[11]], "stairs": [[13]]}))  # new cuts change nothing any more
    phone.context.set_offline(False)
    delivered(page)
    assert len(set(phone.bodies())) == 1
    (reading,) = Report.parse(phone.bodies()[0]).readings
    assert list(reading.cuts) in published(server, campaign)["tasks"]["hall"]
    assert f"{reading.cuts[0] * 0.05:.2f}" in shown[1]


def test_without_any_list_the_page_waits_and_keeps_what_was_typed(participant, compared):
    _, url = compared()
    phone = participant()
    phone.context.route(CUTS, lambda route: route.abort())
    page = phone.join(url)
    phone.fill("9")
    send(page)
    expect(page.locator("main .banner")).to_contain_text("nothing yet to compare your reading with")
    expect(page.locator("#reading-0")).to_have_value("9")
    expect(page.locator("li .chip")).to_have_count(0)
    page.goto(f"{phone.server.url}/j/#ledger")
    expect(page.get_by_text("No reports yet.")).to_be_visible()
    phone.context.unroute(CUTS)
    page = phone.open(url)
    phone.fill("9")
    send(page)
    delivered(page)
    expect(page.locator("main .banner")).to_have_count(0)


def test_a_list_that_must_not_be_answered_is_refused_and_the_last_one_stays(participant, compared, server):
    campaign, url = compared()
    phone = participant()
    with phone.page.expect_response(CUTS):
        page = phone.join(url)
    for bad in ({"hall": [[248]], "stairs": [[61]]}, {"hall": [[1, 3]]}, {"other": [[1]]}, []):
        phone.context.route(CUTS, answer_with(bad))
        phone.fill("9")
        with page.expect_response(CUTS):  # the banner may be that of the list before
            send(page)
        expect(page.locator("main .banner")).to_contain_text("invalid values to compare your readings with")
        expect(page.locator("#send")).to_be_enabled()
        phone.context.unroute(CUTS)
    assert not phone.bodies()
    phone.context.route(CUTS, lambda route: route.fulfill(body="<p>Log in to this network</p>"))
    send(page)
    delivered(page)
    (reading,) = Report.parse(phone.bodies()[0]).readings
    assert list(reading.cuts) in published(server, campaign)["tasks"]["hall"]


def test_comparisons_that_report_sets_are_refused_before_joining_and_before_a_release(participant, compared, server):
    campaign, url = compared()
    content = Manifest.parse(server.client.get(f"/api/campaigns/{campaign}/manifest").content).content()
    sets = Manifest.of(content | {"noise": "response:1:2", "levels": 4})
    phone = participant()
    phone.context.route("**/manifest", lambda route: route.fulfill(body=sets.bytes()))
    page = phone.open(f"{url.partition('#')[0]}#sha256={sets.sha256}")
    expect(page.get_by_role("heading", name="This page cannot use the campaign’s terms")).to_be_visible()
    phone.context.unroute("**/manifest")
    phone.context.route(CUTS, answer_with({"hall": [[1, 3, 9]]}))
    page = phone.join(url)
    found = page.evaluate(  # as if an older version of the page had joined
        """async (manifest) => {
            const { release } = await import("./device.js");
            const { change, read } = await import("./store.js");
            await change(({ memberships }) => void (memberships[manifest.campaign].manifest = manifest));
            const joined = (await read()).memberships[manifest.campaign];
            return release(joined, new Map([["hall", "9"]])).then(() => null, ({ code }) => code);
        }""",
        json.loads(sets.bytes()),
    )
    assert found == "bad_manifest"


def test_full_tasks_are_left_out_before_the_device_draws(participant, compared, server):
    campaign, url = compared("a", "b", "c", "d", readings=4, answer=2, unit="participant")
    offered = published(server, campaign)["tasks"]
    phone = participant()
    phone.context.route(CUTS, answer_with({task: offered[task] for task in ("b", "d")}))
    page = phone.join(url)
    expect(page.get_by_text("2 tasks already have enough answers and are left out.")).to_be_visible()
    expect(page.locator("form.card input")).to_have_count(2)
    assert {text[-2] for text in page.locator("form.card label").all_inner_texts()} == {"b", "d"}
    phone.context.unroute(CUTS)
    full = page.locator("form.card label").first.inner_text()[-2]
    phone.context.route(CUTS, answer_with({task: offered[task] for task in offered if task != full}))
    phone.fill("9")
    send(page)  # it became full in the meantime
    expect(page.locator("main .banner")).to_contain_text("enough answers")
    assert not phone.bodies()
    expect(page.locator("form.card input")).to_have_count(2)
    assert full not in {text[-2] for text in page.locator("form.card label").all_inner_texts()}
    phone.fill("9", "9")
    send(page)
    delivered(page)
    assert len(Report.parse(phone.bodies()[0]).readings) == 2
    expect(page.locator("form.card")).to_have_count(0)
