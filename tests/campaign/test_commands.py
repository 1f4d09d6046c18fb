"""What an operator does from the command line, against a running server."""

import json
import stat
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from xml.etree import ElementTree

import pytest

import sottovoce as sv
from command import rows_of
from participant import Participant
from patience import until
from sottovoce.lab.crowd import send_all
from sottovoce.protocol import InvitationLink, Problem


def private(path):
    return stat.S_IMODE(path.stat().st_mode) & 0o077 == 0


def results_of(campaigns, campaign, reports):
    """The results, once they include this many reports."""
    until(lambda: campaigns("results", campaign)["reports"] >= reports, "results")
    return campaigns("results", campaign)


@pytest.mark.slow
def test_a_campaign_from_draft_to_export(campaigns, draft, tmp_path):
    assert draft in [entry["id"] for entry in campaigns("list")["campaigns"]]
    assert "it is a draft, which has no results; open it first" in campaigns.refused("results", draft)
    opened = campaigns("open", draft)
    assert opened["guarantee"]["epsilon"] == pytest.approx(1, abs=1e-3)  # Laplace of scale 1, one apart
    assert [task["quota"] for task in opened["tasks"]] == [100, None, None]
    assert opened["tasks"][0]["title"] == "Hallway 1, ground floor"

    links = tmp_path / "invitations.csv"
    assert campaigns("invite", draft, "--count", 5, "--out", links)["count"] == 5
    assert private(links)
    invited = [row["link"] for row in rows_of(links)]
    assert len(set(invited)) == 5
    assert all(InvitationLink.parse(link).manifest_sha256 == opened["manifest_sha256"] for link in invited)

    # Exactly as many as make up a step, so that there is only one step, however slowly they come.
    sent = send_all(
        [{"hall-1": "12.5", "hall-2": "7"}] * 4 + [{"hall-1": "12.5", "hall-2": "7", "hall-3": "9"}], invited
    )
    assert (sent.reports, sent.readings, sent.refused) == (5, 11, {})
    found = results_of(campaigns, draft, 5)
    status = campaigns("status", draft)
    assert (status["state"], status["reports"]) == ("open", 5)
    assert status["counts"] == {"invitations": 5, "spent": 5, "revoked": 0, "participants": 5, "withdrawn": 0}
    by_task = {entry["task"]: entry for entry in found["results"]}
    assert [by_task[task]["claims"] for task in ("hall-1", "hall-2", "hall-3")] == [5, 5, 0]
    assert by_task["hall-1"]["low"] < by_task["hall-1"]["truth"] < by_task["hall-1"]["high"]
    assert by_task["hall-3"]["truth"] is None
    text = " ".join(campaigns.run("campaign", "results", draft).stdout.split())
    assert "learns almost nothing about any one reading" in text
    assert "Withheld, with fewer than 5 claims: 1 of 3 tasks" in text

    for suffix in ("csv", "parquet", "jsonl"):
        campaigns("export", draft, "claims", "--out", tmp_path / f"claims.{suffix}")
        claims = sv.Claims.read(tmp_path / f"claims.{suffix}")
        assert (len(claims), claims.n_users, claims.noise) == (10, 5, "fresh:0.5")
        campaigns("export", draft, "results", "--out", tmp_path / f"results.{suffix}")
    assert [row["claims"] for row in rows_of(tmp_path / "results.csv")] == ["5", "5", "0"]

    assert campaigns("close", draft)["state"] == "closed"
    assert "only open ones can be closed; leave it as it is" in campaigns.refused("close", draft)
    assert campaigns("results", draft)["reports"] == 5


@pytest.mark.slow
def test_tasks_come_from_a_spreadsheet_and_go_back(campaigns, tmp_path):
    path, back = tmp_path / "halls.csv", tmp_path / "back.csv"
    path.write_bytes("Größe;Task;Lowest;Highest;Step;Known\n1;Halle;0;2,5;0,1;1,2\n".encode("windows-1252"))
    made = campaigns("create", path, "--title", "T", "--noise", "fresh:0.5", "--distance", 1)
    assert [(task["id"], task["high"]) for task in made["tasks"]] == [("halle", "2.5")]
    assert made["known"] == {"halle": "1.2"}
    campaigns("tasks", made["id"], "--out", back)
    text = back.read_text(encoding="utf-8-sig")
    assert text == "id,title,low,high,grid,known\nhalle,Halle,0,2.5,0.1,1.2\n"
    ran = campaigns.run("campaign", "tasks", made["id"], path, "--decimal", ",")
    assert "It was read as windows-1252" in " ".join(ran.stderr.split())
    assert "0 to 2.5, in steps of 0.1" in ran.stdout
    back.write_text(f"{text}new,Neue Halle,0,5,0.1,\n")
    changed = campaigns("tasks", made["id"], back)
    assert [task["id"] for task in changed["tasks"]] == ["halle", "new"]
    assert campaigns("status", made["id"])["readings"] == 2
    path.write_text("title,low,high,grid\n" + "".join(f"Hall {n},5,1,x\n" for n in range(30)))
    refused = campaigns.refused("tasks", made["id"], path)
    assert refused.count("must be a decimal number") == 20
    assert "line 2, “Hall 0”, grid: 'x'" in refused
    assert "and 10 more mistakes" in refused
    assert len(campaigns("tasks", made["id"])["tasks"]) == 2


def test_a_campaign_is_duplicated(campaigns, draft):
    made = campaigns("duplicate", draft, "--title", "Again")
    assert made["id"] != draft
    assert (made["title"], made["state"]) == ("Again", "draft")
    assert made["tasks"] == campaigns("status", draft)["tasks"]
    shown = campaigns.run("campaign", "duplicate", draft).stdout
    assert "3 tasks, without invitations or readings" in " ".join(shown.split())
    assert "there is no such campaign" in campaigns.refused("duplicate", "nothing")


def test_whole_campaign_from_a_json_file(campaigns, tmp_path):
    path = tmp_path / "campaign.json"
    path.write_text(json.dumps({
        "title": "Rooms", "noise": "gaussian:3", "distance": 0.3, "unit": "participant", "readings": 1,
        "deadline": "2100-01-01T00:00:00+01:00", "purpose": "To know.", "asked_by": "The museum",
        "tasks": [{"id": "room", "low": 0, "high": 1e2, "grid": 0.1}],
    }))  # fmt: skip
    made = campaigns("create", path, "--title", "Halls", "--method", "median", "--target", "mean")
    assert made["title"] == "Halls"  # an option wins over the file
    assert (made["distance"], made["tasks"][0]["grid"]) == ("0.3", "0.1")
    assert (made["deadline"], made["method"], made["target"]) == ("2099-12-31T23:00:00Z", "median", "mean")


def test_the_next_version_starts_as_a_copy_of_the_last(campaigns, opened):
    made = campaigns("create", "--previous", opened, "--noise", "fresh:0.4")
    assert (made["version"], made["previous"], made["noise"], len(made["tasks"])) == (2, opened, "fresh:0.4", 3)


def test_draft_is_deleted_and_open_campaign_is_not(campaigns, draft):
    campaigns("delete", draft)
    assert "there is no such campaign" in campaigns.refused("status", draft)


def test_known_truths_are_set_shown_and_forgotten(campaigns, opened, tmp_path):
    path = tmp_path / "known.csv"
    task = campaigns("status", opened)["tasks"][0]["id"]
    path.write_text(f"task,truth\n{task},20.50\n")
    assert campaigns("known", opened, path)["known"] == {task: "20.5"}
    assert campaigns("known", opened)["known"] == {task: "20.5"}
    title = campaigns("status", opened)["tasks"][1]["title"]
    path.write_text(f"task;truth\n{title};20,50\n")
    assert [*campaigns("known", opened, path)["known"].values()] == ["20.5"]
    path.write_text("task,truth\nnowhere,20\n")
    assert "there is no such task" in campaigns.refused("known", opened, path)
    assert "leave out --clear, or the file" in campaigns.refused("known", opened, path, "--clear")
    assert campaigns("known", opened, "--clear")["known"] == {}


def test_method_and_target_can_be_pinned_and_released(campaigns, opened):
    assert campaigns("method", opened, "crh")["method"] == "crh"
    assert campaigns("method", opened)["method"] is None
    assert campaigns("target", opened, "mean")["target"] == "mean"
    assert "use the target mean" in campaigns.run("campaign", "target", opened, "mean").stdout
    assert campaigns("target", opened)["target"] is None
    assert "median" in campaigns.refused("target", opened, "median")
    campaigns("method", opened, "crh")
    assert "the method crh does not use it" in campaigns.run("campaign", "target", opened, "mean").stdout
    assert "only drafts can be deleted; close it instead" in campaigns.refused("delete", opened)


def test_revoked_and_replaced_links_let_nobody_in(campaigns, opened, tmp_path):
    made = campaigns("invite", opened, "--count", 3)["invitations"]
    campaigns("revoke", opened, made[0]["number"])
    renewed = campaigns("renew", opened, made[1]["number"])["link"]
    states = {entry["id"]: entry["state"] for entry in campaigns("invitations", opened)["invitations"]}
    assert [states[one["number"]] for one in made] == ["revoked", "revoked", "unspent"]
    participant = Participant(tmp_path / "participant.db")
    for one in made[:2]:
        with pytest.raises(Problem) as refused:
            participant.join(InvitationLink.parse(one["link"]))
        assert refused.value.code == "invitation_revoked"
    assert participant.join(InvitationLink.parse(renewed)).campaign == opened
    participant.file.close()


def test_links_are_never_overwritten(campaigns, opened, tmp_path):
    links = tmp_path / "links.csv"
    links.write_text("earlier links\n")
    assert "links that cannot be shown again; choose another name" in campaigns.refused(
        "invite", opened, "--out", links
    )
    assert "there is no folder" in campaigns.refused("invite", opened, "--out", tmp_path / "nowhere" / "links.csv")
    assert links.read_text() == "earlier links\n"
    assert campaigns("invitations", opened)["invitations"] == []  # refused before any was made


def test_codes_and_open_links_are_made(campaigns, opened, tmp_path):
    (made,) = campaigns("invite", opened, "--code", "--days", 2, "--out", tmp_path / "codes.csv") and rows_of(
        tmp_path / "codes.csv"
    )
    server = made["link"].partition("/j/")[0]
    mine = ("--file", tmp_path / "mine.db", "--yes", "--trust-server", "--json")
    joined = json.loads(campaigns.run("join", server, "--code", made["code"].lower(), *mine).stdout)
    assert joined["campaign"] == opened
    assert "no hash" in campaigns.run("join", server, "--code", made["code"], "--yes").stderr
    (link,) = campaigns("invite", opened, "--open", 3)["invitations"]
    for person in range(3):
        campaigns.run("join", link["link"], "--file", tmp_path / f"{person}.db", "--yes")
    refused = campaigns.run("join", link["link"], "--file", tmp_path / "late.db", "--yes")
    assert "admits 3 people" in refused.stderr
    kinds = {entry["id"]: (entry["kind"], entry["people"]) for entry in campaigns("invitations", opened)["invitations"]}
    assert kinds[link["number"]] == ("open", 3)
    for wrong in (("--code", "--open", 3), ("--days", 3)):
        assert "give" in campaigns.refused("invite", opened, *wrong)


def test_qr_codes_are_pictures_for_their_owner_only(campaigns, opened, tmp_path):
    numbers = [
        one["number"] for one in campaigns("invite", opened, "--count", 2, "--qr", tmp_path / "qr")["invitations"]
    ]
    assert private(tmp_path / "qr")
    for number in numbers:
        picture = tmp_path / "qr" / f"invitation-{number}.svg"
        assert private(picture)
        assert ElementTree.parse(picture).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_operators_see_their_own_campaigns_only(campaigns, operator, opened):
    added = campaigns("operators", "add", "Ada")
    ada = operator(campaigns.url, added["token"])
    assert ada("list") == {"campaigns": []}
    assert "there is no such campaign" in ada.refused("status", opened)
    assert "version 99: there is no such version" in ada.refused("results", opened, "--version", 99)
    assert "only administrators" in ada.refused("operators", "list")
    renewed = operator(campaigns.url, campaigns("operators", "renew", added["id"])["token"])
    assert renewed("list") == {"campaigns": []}
    assert "token" in ada.refused("list")
    campaigns("operators", "revoke", added["id"])
    assert "token" in renewed.refused("list")
    entries = {entry["name"]: entry["revoked_at"] for entry in campaigns("operators", "list")["operators"]}
    assert entries["Ada"] is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title,unit\nHall,m\n", "there is no column 'low'"),
        ("id,low,high,grid\na,0,1,0.1,red\n", "line 2 has more cells than columns"),
        ("id,low,high,grid,quota\na,0,1,0.1,few\n", "line 2, “a”, quota: 'few'"),
        ("id,low,high,grid\na,0,wide,0.1\n", "wide"),
        ("id,low,high,grid\na,5,1,0.1\n", "line 2, “a”, high: '1': it must be above the lowest value, 5"),
        ("id,low,high,grid\n", "tasks"),
    ],
    ids=["no range", "long line", "bad quota", "bad number", "empty range", "no task"],
)
def test_tasks_that_make_no_sense_are_refused(campaigns, tmp_path, text, message):
    path = tmp_path / "tasks.csv"
    path.write_text(text)
    assert message in campaigns.refused("create", path, "--title", "T", "--noise", "fresh:0.5", "--distance", 1)


def test_what_is_missing_is_named(campaigns, tasks):
    assert "no noise: every campaign needs one" in campaigns.refused("create", tasks, "--title", "T")
    assert "no tasks: every campaign needs at least one" in campaigns.refused("create", "--title", "T")


def test_a_token_is_needed_and_never_shown(campaigns, operator):
    ran = campaigns.run("campaign", "list", SOTTOVOCE_OPERATOR_TOKEN="")
    assert ran.returncode == 2
    assert "set SOTTOVOCE_OPERATOR_TOKEN" in ran.stderr
    assert "token" in operator(campaigns.url, "wrong-token-0123456789").refused("list")
    assert campaigns.token not in campaigns.run("campaign", "list", "--help").stdout


def test_the_token_is_not_sent_unencrypted(operator):
    message = operator("http://sense.example").refused("list")
    assert "the connection would not be encrypted, so others on the network could read the token; use https" in message
    assert "--insecure-http (in Python, insecure_http=True)" in message


def test_what_is_not_a_campaign_server_is_reported(operator):
    class Other(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/api/campaigns" else 418)
            self.end_headers()
            self.wfile.write(b"<p>Welcome</p>")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{other.server_port}"
        assert "it does not respond like a campaign server" in operator(place).refused("list")
        assert "it responded with status 418" in operator(place).refused("status", "x")
        other.shutdown()
    assert f"{place}: " in (message := operator(place).refused("list"))
    assert "refused" in message
