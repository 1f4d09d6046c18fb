"""A campaign's texts in several languages: what is missing is shown, what is added is under the manifest's hash."""

import re

import pytest

from console_client import Console
from plans import place, put
from questions import ASKED_PATH
from sottovoce.protocol.translations import CampaignText, read_texts, texts_of, with_translations, write_texts

TASKS = [
    {"id": "hall-0", "title": "Long hall", "unit": "m", "low": 0, "high": 9, "grid": 1, "quota": 7},
    {"id": "hall-1", "title": "Short hall", "unit": "m", "low": 0, "high": 9, "grid": 1},
]


def texts(server, campaign):
    return server.client.get(f"/api/campaigns/{campaign}/texts", headers=server.operator).json()


def translate(server, campaign, language=None, **translations):
    body = {"texts": [{"text": text, "translations": others} for text, others in translations.items()]}
    body |= {"language": language} if language else {}
    return server.client.patch(f"/api/campaigns/{campaign}/texts", json=body, headers=server.operator)


@pytest.fixture
def campaign(server):
    return server.create(title="How long?", purpose="For the map.", tasks=TASKS)


def test_missing_texts_are_counted_once_each(server, campaign):
    entry = texts(server, campaign)
    assert entry["language"] == "en"
    assert [one["text"] for one in entry["texts"]] == [
        "How long?",
        "operator",
        "For the map.",
        "Long hall",
        "m",
        "Short hall",
    ]
    assert next(one["where"] for one in entry["texts"] if one["text"] == "m") == "unit of hall-0 and 1 more"
    assert entry["missing"] == dict.fromkeys(["de", "es", "fr", "it", "zh-Hans"], 6)


def test_translations_are_in_the_manifest_and_the_rest_stays(server, campaign):
    put(server, campaign)
    place(server, campaign, {"hall-0": [[1, 1]]})
    answer = translate(
        server, campaign, **{"How long?": {"de": "Wie lang?", "fr": "Quelle longueur ?"}, "m": {"de": "Meter"}}
    )
    assert answer.status_code == 200, answer.text
    assert answer.json()["missing"] == {"de": 4, "es": 6, "fr": 5, "it": 6, "zh-Hans": 6}
    assert server.status(campaign)["tasks"][0]["quota"] == 7
    server.open(campaign)
    manifest = server.client.get(f"/api/campaigns/{campaign}/manifest").json()
    assert manifest["title"] == {"en": "How long?", "de": "Wie lang?", "fr": "Quelle longueur ?"}
    assert [task["unit"] for task in manifest["tasks"]] == [{"en": "m", "de": "Meter"}] * 2
    assert manifest["tasks"][0]["place"] == [[1, 1]]
    assert manifest["purpose"] == "For the map."
    assert translate(server, campaign, m={"de": "m"}).json()["code"] == "frozen"


def test_a_translation_can_be_removed_and_the_language_named(server, campaign):
    translate(server, campaign, m={"de": "Meter"})
    assert translate(server, campaign, m={"de": ""}).json()["missing"]["de"] == 6
    assert server.status(campaign)["tasks"][0]["unit"] == "m"
    assert translate(server, campaign, language="fr").json()["language"] == "fr"
    translate(server, campaign, m={"de": "Meter"})
    refused = translate(server, campaign, language="it")  # there is a text that has no Italian
    assert refused.json()["code"] == "bad_manifest"


def test_bad_translations_change_nothing(server, campaign):
    before = texts(server, campaign)
    assert "no such text" in translate(server, campaign, cellar={"de": "Keller"}).json()["detail"]
    assert translate(server, campaign, m={"deutsch!": "Meter"}).status_code == 422
    assert translate(server, campaign, m={"de": "x" * 41}).status_code == 422
    assert translate(server, campaign, m={"de": " Meter "}).status_code == 422
    assert translate(server, campaign, **{"How long?": {"de": "a\nb"}}).status_code == 422
    assert texts(server, campaign) == before


def test_a_translation_that_is_too_long_is_named_with_the_limit(server, campaign):
    answer = translate(server, campaign, **{"How long?": {"de": "x" * 201}})
    assert (answer.status_code, answer.json()["detail"]) == (422, "title.de: it must have at most 200 characters")


def test_choices_must_differ_in_every_language(server):
    campaign = server.create(tasks=[ASKED_PATH], noise="response:1")
    translate(server, campaign, yes={"de": "ja"}, no={"de": "nein"})
    assert texts(server, campaign)["missing"]["de"] == 3  # the title, who asks, and the question
    refused = translate(server, campaign, no={"de": "JA"})
    assert "must differ" in refused.json()["detail"]


def test_a_table_survives_translators_and_spreadsheets():
    content = {
        "title": "=1+1",
        "tasks": [{"id": "a", "title": 'He said "hi", twice\nor more', "unit": {"en": "m", "de": "M"}}],
    }
    table = write_texts(texts_of(content), "en", ["de", "fr"])
    assert table.splitlines()[0] == "en,de,fr"
    assert "'=1+1" in table
    assert read_texts("t", table, "en") == {"m": {"de": "M"}}
    filled = table.replace("'=1+1,,", "'=1+1,=2,").replace("m,M,", "m,,mètre")
    found = read_texts("t", filled, "en")
    assert found == {"=1+1": {"de": "=2"}, "m": {"fr": "mètre"}}
    changed = with_translations(content, found)
    assert changed["title"] == {"en": "=1+1", "de": "=2"}
    assert changed["tasks"][0]["unit"] == {"en": "m", "de": "M", "fr": "mètre"}


def test_texts_with_the_same_words_are_translated_once():
    content = {"title": "m", "tasks": [{"id": "a", "unit": "m"}]}
    assert texts_of(content) == [CampaignText("m", ["title", "unit of a"])]


def test_the_console_shows_what_is_missing_and_keeps_what_is_entered(server, campaign):
    console = Console(server)
    page = console.get(f"/campaigns/{campaign}/texts?language=de")
    assert "everything" in page.text
    assert page.text.count('<span class="chip unspent">missing</span>') == 6
    version = page.text.partition('name="version" value="')[2][:16]
    fields = {f"text-{place}": words for place, words in enumerate(["Wie lang?", "", "Für die Karte.", "", "m", ""])}
    address = f"/campaigns/{campaign}/texts"
    answer = console.post(address, language="de", version=version, **fields)
    assert answer.status_code == 303, answer.text
    assert texts(server, campaign)["missing"]["de"] == 3
    again = console.get(f"{address}?language=de").text
    assert "3 of 6 texts" in again
    assert 'value="Wie lang?"' in again
    assert console.post(address, language="de", version="old", **fields).status_code == 422
    stale = console.post(address, language="de", version=version, **{"text-0": "x" * 201})
    assert stale.status_code == 422
    assert "x" * 201 in stale.text  # nothing that was entered is lost
    table = console.get(f"{address}/texts.csv").text
    assert table.splitlines()[0] == "en,de,es,fr,it,zh-Hans"
    upload = {"table": ("t.csv", table.replace("Short hall,", "Short hall,Kurzer Flur").encode())}
    token = {"form_token": console.form_token()}
    assert console.request("POST", f"{address}/table", data=token, files=upload).status_code == 303
    assert texts(server, campaign)["missing"]["de"] == 2
    bad = {"table": ("t.csv", b"\xff\xfe")}
    assert console.request("POST", f"{address}/table", data=token, files=bad).status_code == 422
    assert console.request("POST", f"{address}/table", data={"form_token": "x"}, files=upload).status_code == 403
    assert console.post(address, own="fr", language="").status_code == 422  # German texts have no French
    server.open(campaign)
    shown = console.get(f"{address}?language=de").text
    assert "readonly" in shown
    assert console.post(address, language="de", version=version, **fields).status_code in (409, 422)


def test_instruments_are_chosen_in_the_wizard_and_sensors_need_https(server):
    console = Console(server)
    campaign = console.create(**{"instrument-0": "steps"})
    assert server.status(campaign)["tasks"][0]["instrument"] == "steps"
    page = console.get(f"/campaigns/{campaign}/tasks").text
    assert '<option value="steps" selected>' in page
    assert "only over HTTPS" in page
    assert "let a page use sensors only over HTTPS" in console.get(f"/campaigns/{campaign}").text
    row = {"id-0": "hallway", "title-0": "Hallway", "unit-0": "m", "low-0": "0", "high-0": "100", "grid-0": "0.1"}
    about = {"title": "How long?", "asked_by": "Facility"}
    console.post(f"/campaigns/{campaign}/tasks", **about, **row, **{"instrument-0": "counter"})
    assert server.status(campaign)["tasks"][0]["instrument"] == "counter"
    assert "no sensor without HTTPS" not in console.get(f"/campaigns/{campaign}").text
    assert console.post(f"/campaigns/{campaign}/tasks", **about, **row, **{"instrument-0": "radar"}).status_code == 422
    table = "id,low,high,grid,instrument\nhallway,0,9,1,sound-level\nroom,0,9,1,typed\n"
    console.save_tasks(f"/campaigns/{campaign}/tasks", **about, table=table)
    assert [task["instrument"] for task in server.status(campaign)["tasks"]] == ["sound-level", "typed"]
    table = "id,low,high,grid,instrument\nhallway,0,9,1,sound-level:45\nroom,0,9,1,sound-level:300\n"
    console.save_tasks(f"/campaigns/{campaign}/tasks", **about, table=table)
    shown = re.findall(r'<option value="([^"]*)" selected>', console.get(f"/campaigns/{campaign}/tasks").text)
    assert shown[:2] == ["sound-level:45", "sound-level:300"]  # a time that is not on the list stays
    plain = console.create(**{"instrument-0": ""})
    assert server.status(plain)["tasks"][0]["instrument"] is None  # the first format, for older devices


def test_with_https_nothing_is_warned_about(start_local):
    server = start_local(public_url="https://campaigns.example")
    console = Console(server)
    campaign = console.create(**{"instrument-0": "steps"})
    assert "HTTPS" not in console.get(f"/campaigns/{campaign}/tasks").text
    assert "HTTPS" not in console.get(f"/campaigns/{campaign}").text
