"""A campaign of comparisons whose server and devices are killed: no answer is lost or doubled, cuts stay the same."""

import random
import signal
import sqlite3
import time
from collections import Counter
from fractions import Fraction

import pytest

from patience import until
from sottovoce.comparisons import Comparisons
from sottovoce.comparisons.board import Board
from sottovoce.comparisons.policy import offers
from sottovoce.comparisons.posterior import Scale
from sottovoce.device import ParticipantFile
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.protocol import Report

PEOPLE, KILLS = 40, 4
TASKS = [{"id": f"hall-{n}", "title": "", "low": 0, "high": 100, "grid": "0.1"} for n in range(3)]


def published(server, campaign):
    """The cuts and the figures that everybody sees."""
    answer = server.client.get(f"/api/campaigns/{campaign}/cuts")
    assert answer.status_code == 200, answer.text
    return answer.content, server.results(campaign)


def sent_by(folder):
    """What the devices stored before they sent it: task, cuts, level."""
    answers = Counter()
    for path in sorted(folder.glob("*/*.db")):
        with ParticipantFile(path) as file:
            (release,) = file.releases()
        assert (release.state, release.problem) == ("delivered", None)
        answers.update((reading.task, reading.cuts, reading.value) for reading in Report.parse(release.body).readings)
    return answers


def stored_in(database, campaign):
    with sqlite3.connect(database.removeprefix("sqlite:///")) as connection:
        rows = connection.execute(
            "SELECT r.place, d.content, r.value FROM readings r JOIN details d USING (campaign_key, participant_key, "
            "place) JOIN campaigns c ON c.key = r.campaign_key WHERE c.id = ?", (campaign,),
        ).fetchall()  # fmt: skip
    return Counter(
        (TASKS[place]["id"], tuple(map(int, cuts.strip("[]").split(","))), level) for place, cuts, level in rows
    )


def offers_from(path):
    """The cuts that follow from exported answers, computed here, in the order of the file."""
    table = Comparisons.read(path)
    scale = Scale(0.0, 100.0, 2, parse_answer_law("response:1").channel(2).miss, 100 / 50)
    board = Board({task["id"]: scale for task in TASKS})
    for place, cuts, level in zip(table.objects.tolist(), table.cuts.tolist(), table.levels.tolist(), strict=True):
        board.add(str(table.object_labels[place]), tuple(cuts), level)
    return {name: sorted(map(list, offers(found, 2, Fraction(1, 10)))) for name, found in board.posteriors()}


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_a_sequential_campaign_continues_where_it_was_killed(running_server, crowd, tmp_path):
    server = running_server()
    campaign = server.opened(title="Lengths", tasks=TASKS, noise="response:1", levels=2, readings=3, distance=None)
    people = crowd([invitation["url"] for invitation in server.invite(campaign, PEOPLE)], processes=2)
    chance = random.Random(8)
    for turn in range(KILLS):
        people.wait_for((turn + 1) * PEOPLE // (KILLS + 2))  # so that the rest comes later
        time.sleep(chance.uniform(0, 0.3))  # while answers are written, or a step is computed
        code, _ = server.stop(signal.SIGKILL)
        assert code == -signal.SIGKILL
        server = running_server("--port", str(server.port))
        people.kill_and_restart(turn % 2)
    people.wait_for_all()
    sent = sent_by(people.folder)
    assert sum(sent.values()) == 3 * PEOPLE
    assert stored_in(server.database, campaign) == sent  # none is lost, none is there twice
    until(lambda: server.results(campaign)["reports"] > PEOPLE - 5, "last step")
    before = published(server, campaign)
    server.stop(signal.SIGKILL)
    server = running_server("--port", str(server.port))
    assert published(server, campaign) == before
    export = server.client.get(f"/api/campaigns/{campaign}/claims.csv", headers=server.operator)
    (tmp_path / "answers.csv").write_bytes(export.content)
    listed = server.client.get(f"/api/campaigns/{campaign}/cuts").json()["tasks"]
    assert {task: sorted(cuts) for task, cuts in listed.items()} == offers_from(tmp_path / "answers.csv")
    # The next step after a restart starts with nothing in memory, and continues as if nothing had happened.
    more = crowd([invitation["url"] for invitation in server.invite(campaign, 6)], processes=1)
    more.wait_for_all()
    until(lambda: server.results(campaign)["reports"] > before[1]["reports"], "step after the restart")
    until(lambda: server.client.get(f"/api/campaigns/{campaign}/cuts").content != before[0], "new cuts")
    export = server.client.get(f"/api/campaigns/{campaign}/claims.csv", headers=server.operator)
    (tmp_path / "answers.csv").write_bytes(export.content)
    listed = server.client.get(f"/api/campaigns/{campaign}/cuts").json()["tasks"]
    assert {task: sorted(cuts) for task, cuts in listed.items()} == offers_from(tmp_path / "answers.csv")
