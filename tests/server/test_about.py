"""What a campaign is about: its logo, a contact, and a deadline in the operator's time zone."""

import hashlib
from datetime import UTC, datetime

import pytest

from console_client import Console
from plans import SVG, drawn, encoded
from server_under_test import bearer
from sottovoce.protocol.pictures import MOST_LOGO_BYTES
from sottovoce.protocol.problems import Problem
from sottovoce.server.console.about import contact_link, in_utc

SQLITE = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
SCRIPT = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'


def put_logo(server, campaign, content=SVG, **options):
    return server.client.put(
        f"/api/campaigns/{campaign}/logo", content=content, headers=options.get("headers", server.operator)
    )


def test_a_logo_is_under_the_manifests_hash_and_everybody_sees_it(server):
    campaign = server.create()
    before = put_logo(server, campaign).json()["logo"]
    answer = put_logo(server, campaign, encoded(drawn()))
    assert answer.status_code == 200, answer.text
    logo = answer.json()["logo"]
    assert logo != before
    address = f"/api/campaigns/{campaign}/logo"
    assert server.client.get(address).status_code == 404  # a draft is nobody else's business
    server.open(campaign)
    assert server.client.get(f"/api/campaigns/{campaign}/manifest").json()["logo"] == logo
    shown = server.client.get(address)
    assert hashlib.sha256(shown.content).hexdigest() == logo
    assert shown.headers["content-type"] == "image/png"
    assert shown.headers["content-security-policy"].startswith("default-src 'none'; sandbox")
    assert f'src="{address}"' in server.client.get(f"/c/{campaign}").text
    assert put_logo(server, campaign).status_code == 409  # people agreed to the other one
    assert server.client.delete(address, headers=server.operator).status_code == 409
    made = server.client.post(f"/api/campaigns/{campaign}/versions", json={}, headers=server.operator).json()
    assert made["logo"] == logo
    server.open(made["id"])
    assert server.client.get(f"/api/campaigns/{made['id']}/logo").content == shown.content


@SQLITE
def test_a_logo_that_is_not_a_small_picture_is_refused(server):
    campaign = server.create()
    for content, words in (
        (SCRIPT, "script"), (b"", "nor valid SVG"), (b"GIF89a", "neither PNG nor JPEG"),
        (b"x" * (MOST_LOGO_BYTES + 1), "at most 262,144"),
    ):  # fmt: skip
        answer = put_logo(server, campaign, content)
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_picture"), answer.text
        assert words in answer.json()["detail"]
    assert server.status(campaign)["logo"] is None
    second = server.client.post("/api/operators", json={"name": "Second"}, headers=server.operator).json()
    assert put_logo(server, campaign, headers=bearer(second["token"])).status_code == 404


@SQLITE
def test_a_logo_that_is_only_named_keeps_a_campaign_from_opening(server):
    campaign = server.create(logo="0" * 64)
    answer = server.client.post(f"/api/campaigns/{campaign}/open", headers=server.operator)
    assert answer.status_code == 422
    assert "logo: its picture must be uploaded" in answer.json()["detail"]
    cleared = server.client.delete(f"/api/campaigns/{campaign}/logo", headers=server.operator).json()
    assert cleared["logo"] is None
    server.open(campaign)


@SQLITE
def test_a_logo_and_a_contact_in_the_console(server):
    console = Console(server)
    campaign = console.create(contact="ask@example.org")
    assert server.status(campaign)["contact"] == "ask@example.org"
    page = f"/campaigns/{campaign}/logo"
    for content, status in ((SCRIPT, 422), (encoded(drawn()), 303)):
        token = {"form_token": console.form_token()}
        assert console.request("POST", page, data=token, files={"logo": ("x.png", content)}).status_code == status
    assert console.post(page).status_code == 422  # no file
    assert console.get(f"{page}/picture").headers["content-type"] == "image/png"
    assert "/logo/picture" in console.get(page).text
    console.post(f"/campaigns/{campaign}/open")
    sheet = console.post(f"/campaigns/{campaign}/invitations", count="1").text
    assert f"{page}/picture" in sheet
    assert "questions: ask@example.org" in sheet
    public = server.client.get(f"/c/{campaign}?lang=de").text
    assert 'Fragen? <a href="mailto:ask@example.org"' in public
    assert console.get(page).status_code == 409  # frozen


@SQLITE
def test_a_contact_and_a_purpose_can_be_removed_again(server):
    console = Console(server)
    campaign = console.create(contact="Room 12", purpose="For signs.")
    row = {"title-0": "Hallway", "unit-0": "m", "low-0": "0", "high-0": "100", "grid-0": "0.1"}
    console.post(f"/campaigns/{campaign}/tasks", title="How long?", asked_by="Me", contact="", purpose="", **row)
    made = server.status(campaign)
    assert (made["contact"], made["purpose"]) == ("", "")
    plain = console.create()
    console.post(f"/campaigns/{plain}/tasks", title="How long?", asked_by="Me", contact="", purpose="", **row)
    server.open(plain)
    manifest = server.client.get(f"/api/campaigns/{plain}/manifest").json()
    assert manifest["format"] == "sottovoce-manifest/1"  # which the oldest devices read


@pytest.mark.parametrize(
    ("contact", "address"),
    [
        ("ask@example.org", "mailto:ask@example.org"), ("+49 (30) 1234-56", "tel:+49 (30) 1234-56"),
        ("https://example.org/ask?a=1", "https://example.org/ask?a=1"), ("Room 12", None), ("a@b@c.d", None),
        ("javascript:alert(1)", None), ('https://x"onload=a', "https://x&#34;onload=a"), ("http://example.org", None),
    ],
)  # fmt: skip
def test_a_contact_is_a_link_only_where_it_is_nothing_else(contact, address):
    link = str(contact_link(contact))
    assert (f'href="{address}"' in link) if address else link == contact


@pytest.mark.parametrize(
    "zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Etc/UTC"]
)
def test_a_deadline_is_the_moment_that_a_clock_in_its_zone_shows(zone):
    from zoneinfo import ZoneInfo

    for typed in ("2031-01-15T09:30", "2031-07-15T23:59", "2030-12-31T00:00:05"):
        moment = datetime.fromisoformat(in_utc(typed, zone))
        assert moment.tzinfo is UTC or moment.utcoffset().total_seconds() == 0
        assert moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == datetime.fromisoformat(typed)


@pytest.mark.parametrize(
    ("typed", "zone", "words"),
    [
        ("2030-03-31T02:30", "Europe/Berlin", "does not exist"),
        ("2030-10-27T02:30", "Europe/Berlin", "occurs twice"),
        ("2030-10-27T02:30", "Europe/Berlin", "2030-10-27 00:30 or 2030-10-27 01:30 in UTC"),
        ("2030-10-06T02:15", "Australia/Lord_Howe", "does not exist"),  # clocks move by half an hour there
        ("9999-12-31T23:59", "America/New_York", "from 1001 to 9998"),
        ("0001-01-01T00:00", "Europe/Berlin", "from 1001 to 9998"),
        ("2030-07-01T12:00", "Mars/Olympus", "does not recognise it"),
        ("2030-07-01T12:00", "../../etc/passwd", "does not recognise it"),
        ("2030-07-01T12:00", "/etc/passwd", "does not recognise it"),
        ("2030-07-01T12:00", "Europe", "does not recognise it"),
        ("2030-07-01T12:00", "a\x00b", "does not recognise it"),
    ],
)
def test_times_that_do_not_exist_or_occur_twice_are_refused(typed, zone, words):
    with pytest.raises(Problem) as refused:
        in_utc(typed, zone)
    assert words in refused.value.detail


@SQLITE
def test_the_wizard_takes_a_deadline_in_a_zone_and_keeps_what_was_typed(server):
    console = Console(server)
    campaign = console.create(deadline="2035-07-01T18:00", zone="Europe/Berlin")
    assert server.status(campaign)["deadline"] == "2035-07-01T16:00:00Z"
    page = console.get(f"/campaigns/{campaign}/tasks").text
    assert 'value="2035-07-01T16:00"' in page
    assert 'value="UTC" data-loaded="2035-07-01T16:00"' in page
    row = {"title-0": "Hallway", "unit-0": "m", "low-0": "0", "high-0": "100", "grid-0": "0.1"}
    answer = console.post("/campaigns/new", title="x", deadline="2035-03-25T02:30", zone="Europe/Berlin", **row)
    assert answer.status_code == 422
    assert "does not exist" in answer.text
    assert 'value="2035-03-25T02:30"' in answer.text
    assert 'value="Europe/Berlin">' in answer.text  # and no script turns it into something else


@SQLITE
def test_a_reminder_does_not_link_to_results_that_are_private(server):
    campaign = server.opened(deadline="2035-07-01T16:00:00Z", public_results=False)
    text = server.client.get(f"/api/campaigns/{campaign}/deadline.ics").text
    assert "Last chance to take part." in text
    assert "/c/" not in text


@SQLITE
def test_a_reminder_is_in_the_language_of_the_viewer(server):
    campaign = server.opened(deadline="2035-07-01T16:00:00Z")
    address = f"/api/campaigns/{campaign}/deadline.ics"
    for query, accepted, words in (
        ("?lang=fr", "de", "Dernière occasion"),
        ("", "de-CH", "Letzte Gelegenheit"),
        ("", "", "Last chance"),
    ):
        answer = server.client.get(address + query, headers={"Accept-Language": accepted})
        whole = answer.text.replace("\r\n ", "")
        assert words in whole
        assert whole.count(f"/c/{campaign}\r\n") == 2  # in words, and as the address of the event
        assert "DTSTART:20350701T160000Z" in answer.text
    public = server.client.get(f"/c/{campaign}", headers={"Accept-Language": "it"}).text
    assert f'href="{address}?lang=it"' in public
