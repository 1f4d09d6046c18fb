"""Results come in steps: checking them after every single report recovers no claim and links nobody."""

import csv
import io
import itertools
import json
import re

import numpy as np
import pytest

from sottovoce.server.results import rounded
from sottovoce.server.steps import NOTHING_INCLUDED, next_step
from sottovoce.server.storage.claims import Readings

ANY_DATABASE = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


class OneTask:
    """A task whose claims come and go; which of them each published figure rests on."""

    def __init__(self, least):
        self.least = least
        self.present = {}  # claim → cohort
        self.included = NOTHING_INCLUDED
        self.published = []

    def step(self, cohort):
        claims = np.array(sorted(self.present), np.int64)
        readings = Readings(claims, np.zeros_like(claims), claims, np.array([self.present[c] for c in claims.tolist()]))
        step = next_step(self.included, readings, cohort, self.least, 1)
        if step.changed[0]:
            self.included = step.included
            self.published.append(set(step.readings.participants.tolist()))


def smallest_combination(published):
    """The least number of claims that any combination of the published sums depends on, if it depends on any.

    A claim that is in the versions from one to another has the coefficient of that stretch, so that coefficients of
    versions which start and end stretches (+1, -1) are enough: all ways to do so are tried.
    """
    claims = sorted(set().union(*published))
    table = np.array([[claim in version for claim in claims] for version in published], int)
    supports = []
    for prefix in itertools.product((0, 1), repeat=len(published)):
        coefficients = np.diff([0, *prefix])
        supports.append(int(np.count_nonzero(coefficients @ table)))
    return min([support for support in supports if support], default=len(claims))


@pytest.mark.parametrize("least", [2, 3, 5])
def test_no_combination_of_published_means_is_about_fewer_claims_than_a_step(least):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        task, numbers = OneTask(least), itertools.count()
        for cohort in range(1, 13):
            for _ in range(rng.integers(0, 2 * least)):
                task.present[next(numbers)] = cohort
            # Sometimes nobody, sometimes nearly everybody of a few cohorts.
            share = rng.choice([0, 0.1, 0.6, 0.95], p=[0.4, 0.3, 0.2, 0.1])
            for claim in [claim for claim in task.present if rng.random() < share]:
                del task.present[claim]
            task.step(cohort)
        if task.published:
            assert smallest_combination(task.published) >= least, seed


def test_counting_changes_would_not_be_enough():
    """Six changes against the last version; against the first one, a single claim."""
    assert smallest_combination([{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, 3, 4, 5}]) == 1
    task = OneTask(5)
    task.present = dict.fromkeys(range(1, 6), 1)
    task.step(1)
    task.present |= dict.fromkeys(range(6, 11), 2)
    task.step(2)
    for claim in (1, 6, 7, 8, 9, 10):
        del task.present[claim]
    task.step(2)
    assert task.published == [{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}]


def test_figures_of_a_task_go_when_enough_withdrew_and_too_few_are_left():
    claims = np.arange(6)
    before = next_step(NOTHING_INCLUDED, Readings(claims, claims * 0, claims, claims * 0 + 1), 1, 5, 1)
    left = claims[:1]
    step = next_step(before.included, Readings(left, left * 0, left, left * 0 + 1), 1, 5, 1)
    assert (step.changed.tolist(), step.retracted.tolist()) == ([False], [True])
    four = claims[:2]  # only four withdrew
    step = next_step(before.included, Readings(four, four * 0, four, four * 0 + 1), 1, 5, 1)
    assert (step.changed.tolist(), step.retracted.tolist()) == ([False], [False])


def test_figures_are_rounded_to_what_the_interval_deserves():
    row = {"truth": 74.61234, "low": 70.4567, "high": 78.76798, "claims": 9, "mean": 74.9123, "median": None}
    expected = {"truth": 74.6, "low": 70.5, "high": 78.8, "claims": 9, "mean": 74.9, "median": None}
    assert rounded(row, 0.01) == expected
    unknown = {"truth": 74.61234, "low": None, "high": None, "mean": -0.0004}
    assert rounded(unknown, 0.1) == {"truth": 74.6, "low": None, "high": None, "mean": 0.0}
    wide = {"truth": 12_345.6, "low": -100_000.0, "high": 124_000.0, "mean": 1.0}
    assert rounded(wide, 1) == {"truth": 10_000.0, "low": -100_000.0, "high": 120_000.0, "mean": 0.0}


class Watcher:
    """Asks for everything that a stranger and an operator can ask for."""

    def __init__(self, server, campaign, invitations):
        self.server, self.campaign, self.invitations = server, campaign, invitations
        signed_in = server.client.post("/sign-in", data={"token": server.operator["Authorization"][7:]})
        assert signed_in.status_code == 200, signed_in.text
        paths = server.client.get("/api/openapi.json").json()["paths"]
        routes = [path for path, methods in paths.items() if "get" in methods and path != "/metrics"]
        formats = ("csv", "parquet", "jsonl")
        self.routes = [
            route.format(campaign=campaign, format=kind, version=version, operator=1)
            for route in routes
            for kind in (formats if "{format}" in route else ("",))
            for version in ((1, 2) if "{version}" in route else ("",))
        ]
        pages = ["", "/progress", "/findings?version=0", "/history", "/history/1", "/history/2", "/invitations"]
        pages += [f"/files/{what}.{kind}" for what in ("claims", "results") for kind in formats]
        self.routes += [f"/campaigns/{campaign}{page}" for page in pages]
        self.routes += ["/", f"/c/{campaign}", f"/c/{campaign}/versions/1"]

    def look(self):
        """What each address answers: status, body and tag."""
        client, seen = self.server.client, {}
        for route in self.routes:
            answer = client.get(route, headers=self.server.operator if route.startswith("/api") else {})
            seen[route] = (answer.status_code, answer.content, answer.headers.get("etag"))
        for number, invitation in enumerate(self.invitations):
            answer = client.post("/api/invitations/look-up", json={"invitation": invitation["token"]})
            seen[f"look-up {number}"] = (answer.status_code, answer.content, None)
        return seen

    def export(self):
        answer = self.server.client.get(f"/api/campaigns/{self.campaign}/claims.csv", headers=self.server.operator)
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        users = {}
        for row in rows:
            users.setdefault(row["user"], {})[row["object"]] = float(row["value"])
        return users

    def spent(self):
        address = f"/api/campaigns/{self.campaign}/invitations"
        listed = self.server.client.get(address, headers=self.server.operator).json()["invitations"]
        return {entry["id"] for entry in listed if entry["state"] == "spent"}


def changed(before, after):
    return {route for route in after if before[route] != after[route]}


def round_of(server):
    """Whatever the server does by itself, done at once."""
    server.tick()
    server.recompute()


def trickle(server, campaign, tokens, values, after_each):
    for token, answers in zip(tokens, values, strict=True):
        assert server.report(campaign, token, server.body(campaign, answers)).status_code == 201
        round_of(server)
        after_each()


@pytest.mark.slow
@ANY_DATABASE
def test_nothing_that_anybody_can_ask_for_changes_between_steps(server):
    """One task is answered by all, one by every second; people join and report one by one."""
    campaign = server.opened(halls=2)
    invitations = server.invite(campaign, 12)
    watcher = Watcher(server, campaign, invitations)
    assert len(watcher.routes) > 30
    seen, moved = watcher.look(), []
    for number, invitation in enumerate(invitations):
        token = server.enrol(invitation["token"]).json()["participant_token"]
        values = {"hall-0": 100 + 7 * number} | ({"hall-1": 200 - 5 * number} if number % 2 else {})
        assert server.report(campaign, token, server.body(campaign, values)).status_code == 201
        round_of(server)
        now = watcher.look()
        moved.append(changed(seen, now))
        seen = now
    for number, routes in enumerate(moved, start=1):
        assert bool(routes) == (number % 5 == 0), (number, routes)
    rows = server.results(campaign)["results"]
    assert [row["claims"] for row in rows] == [10, 5]
    # At the end two are left over, and stay so: only the state of the campaign is updated.
    assert server.client.post(f"/api/campaigns/{campaign}/close", headers=server.operator).status_code == 200
    round_of(server)
    after, status = watcher.look(), json.loads(seen[f"/api/campaigns/{campaign}"][1])
    assert server.status(campaign) == status | {
        name: server.status(campaign)[name] for name in ("state", "closed_at", "final")
    }
    # An invitation to a closed campaign says only that it is closed, whatever became of it.
    assert len({after[f"look-up {number}"] for number in range(len(invitations))}) == 1
    watched = ("/results", "/claims", f"/api/campaigns/{campaign}/invitations")
    assert not [route for route in changed(seen, after) if any(part in route for part in watched)]


def differences(snapshots, claims):
    """The single claims that follow from two versions of a mean, as n·mean - n′·mean′, or from a median that moved."""
    recovered = 0
    for (before, after), claim in zip(itertools.pairwise(snapshots), claims, strict=True):
        guesses = []
        if after["mean"] is not None and after != before:
            guesses.append(after["claims"] * after["mean"] - before["claims"] * (before["mean"] or 0))
            guesses += [after["median"], 2 * after["median"] - (before["median"] or 0)]
        recovered += any(abs(guess - claim) <= 0.05 for guess in guesses)
    return recovered


@pytest.mark.slow
@ANY_DATABASE
def test_checking_after_every_report_recovers_no_claim_better_than_by_chance(server):
    """39 people one after the other. A step of five shows one of the five claims as its median at best, so that the
    claim that came last is it with a chance of a fifth: of seven steps, 1.4 are expected, and 6 or more come with a
    chance below 4e-4. Full precision and no steps give all 34 that come after the first five."""
    campaign = server.opened(halls=1)
    rng = np.random.default_rng(7)
    steps = (500 + rng.laplace(0, 100, 39)).round().astype(int).tolist()
    snapshots = [server.results(campaign)["results"][0]]
    tokens = server.participants(campaign, 39)
    trickle(
        server, campaign, tokens, [[step] for step in steps],
        lambda: snapshots.append(server.results(campaign)["results"][0]),
    )  # fmt: skip
    assert [row["claims"] for row in snapshots] == [5 * (number // 5) for number in range(40)]
    assert differences(snapshots, [step / 10 for step in steps]) < 6
    # Means are those of the claims that they include, up to rounding.
    assert snapshots[-1]["mean"] == pytest.approx(np.mean(steps[:35]) / 10, abs=0.5)
    assert server.results(campaign)["reports"] == 35


@pytest.mark.slow
@ANY_DATABASE
def test_checking_after_every_report_links_nobody_better_than_by_chance(server):
    """An operator knows who got which link, and matches links newly spent with names newly exported.

    With nothing to go by inside a cohort, a match is a random permutation of it: of five, one is right on average, with
    variance 1. Over six cohorts that is 6 with a standard deviation of 2.4; 16 are four of these above.
    """
    campaign, rng = server.opened(halls=2), np.random.default_rng(1)
    invitations = server.invite(campaign, 30)
    order = rng.permutation(30).tolist()
    values = {number: {"hall-0": 1000 + 10 * number, "hall-1": 5000 + 10 * number} for number in order}
    watcher, links, known_spent, known_values = Watcher(server, campaign, []), {}, set(), set()
    for number in order:
        token = server.enrol(invitations[number]["token"]).json()["participant_token"]
        assert server.report(campaign, token, server.body(campaign, values[number])).status_code == 201
        round_of(server)
        spent, users = watcher.spent() - known_spent, watcher.export()
        fresh = [user for user, claims in users.items() if claims["hall-0"] not in known_values]
        known_spent |= spent
        known_values |= {claims["hall-0"] for claims in users.values()}
        links |= {link: users[user]["hall-0"] for link, user in zip(sorted(spent), fresh, strict=False)}
    true = {invitations[number]["id"]: values[number]["hall-0"] / 10 for number in order}
    assert len(links) == 30
    assert sum(links[link] == true[link] for link in true) < 16


@pytest.mark.slow
@ANY_DATABASE
def test_even_who_knows_the_order_of_reports_cannot_tell_a_cohort_apart(start_local):
    """What is shown depends on what a cohort said together, not on which member said what: if other members of the same
    cohort say the same things, pages, tables and groups of claims are the same.
    """
    rng, views = np.random.default_rng(3), []
    answers = [
        {f"hall-{n}": int(rng.integers(0, 1000)) for n in range(4) if rng.random() < 0.5} or {"hall-0": 5}
        for _ in range(12)
    ]
    cohorts, server = [answers[:4], answers[4:8], answers[8:]], start_local(least_claims=4)
    for turned in (False, True):
        campaign = server.opened(halls=4)
        watcher, view = Watcher(server, campaign, []), []
        for cohort in cohorts:
            said = cohort[2:] + cohort[:2] if turned else cohort
            trickle(server, campaign, server.participants(campaign, 4), said, lambda: None)
            view.append(
                (server.results(campaign)["results"], sorted(map(sorted, map(dict.items, watcher.export().values()))))
            )
        views.append(view)
    assert any(row["truth"] is not None for row in views[0][-1][0])
    assert views[0] == views[1]


@pytest.mark.slow
@ANY_DATABASE
def test_a_withdrawal_shows_in_nothing_but_the_export_and_there_for_five_at_once(server):
    campaign = server.opened(halls=2)
    invitations = server.invite(campaign, 15)
    tokens = [server.enrol(invitation["token"]).json()["participant_token"] for invitation in invitations]
    trickle(server, campaign, tokens[:10], [[100 + n, 200 + n] for n in range(10)], lambda: None)
    watcher = Watcher(server, campaign, invitations)
    seen, before = watcher.look(), watcher.export()
    answer = server.client.delete(f"/api/campaigns/{campaign}/participation", headers=bearer(tokens[2]))
    assert answer.status_code == 204
    round_of(server)
    now, after = watcher.look(), watcher.export()
    assert changed(seen, now) == {route for route in watcher.routes if "claims." in route}
    gone = {claims["hall-0"] for claims in before.values()} - {claims["hall-0"] for claims in after.values()}
    assert gone == {10.0, 10.1, 10.2, 10.3, 10.4}  # the whole cohort of five: each of them could have withdrawn
    # With the next cohort the results are without the one who withdrew, and the export without all five.
    trickle(server, campaign, tokens[10:], [[110 + n, 210 + n] for n in range(5)], lambda: None)
    assert [row["claims"] for row in server.results(campaign)["results"]] == [14, 14]
    last = {claims["hall-0"] for claims in watcher.export().values()}
    assert last == {10.5, 10.6, 10.7, 10.8, 10.9, 11.0, 11.1, 11.2, 11.3, 11.4}
    for token in tokens[5:9]:
        server.client.delete(f"/api/campaigns/{campaign}/participation", headers=bearer(token))
    round_of(server)
    # Five have withdrawn by now. But the next means would differ from the first ones by one claim.
    assert server.status(campaign)["counts"]["withdrawn"] == 5
    assert [row["claims"] for row in server.results(campaign)["results"]] == [14, 14]


@pytest.mark.slow
@ANY_DATABASE
def test_withdrawals_alone_make_a_step_once_they_are_enough(server):
    campaign = server.opened(halls=1)
    tokens = server.crowd(campaign, 12, steps=(100,))
    round_of(server)
    claims = []
    for token in tokens[:11]:
        server.client.delete(f"/api/campaigns/{campaign}/participation", headers=bearer(token))
        round_of(server)
        claims.append(server.results(campaign)["results"][0]["claims"])
    # Four of seven more would leave too few; when those are five of seven, the figures are taken back.
    assert claims == [12, 12, 12, 12, 7, 7, 7, 7, 7, 0, 0]
    assert server.results(campaign)["results"][0]["truth"] is None


@pytest.mark.slow
@ANY_DATABASE
def test_what_is_said_of_all_participants_does_not_tell_that_one_has_left(server):
    """A cohort comes whose claims are too few for a step of any task: only the number of reports changes."""
    campaign = server.opened(halls=3)
    tokens = server.participants(campaign, 12)
    trickle(server, campaign, tokens[:6], [[100 + n] for n in range(6)], lambda: None)
    round_of(server)
    before = server.results(campaign)
    server.client.delete(f"/api/campaigns/{campaign}/participation", headers=bearer(tokens[0]))
    others = [{"hall-1": 200 + n} for n in range(3)] + [{"hall-2": 300 + n} for n in range(2)]
    trickle(server, campaign, tokens[7:], others, lambda: None)
    after = server.results(campaign)
    different = {name for name in after if before[name] != after[name]}
    assert different == {"version", "reports"}


@ANY_DATABASE
def test_another_method_does_not_tell_of_a_withdrawal(server):
    """Figures by another method would be those of one claim fewer, and the difference would be that claim."""
    campaign = server.opened(halls=2)
    tokens = server.participants(campaign, 6)
    trickle(server, campaign, tokens, [[100 + 9 * n, 200] if n else [100] for n in range(6)], lambda: None)
    server.crowd(campaign, 5, steps=(100, 200))
    server.recompute()
    before = server.results(campaign)["results"]
    server.client.delete(f"/api/campaigns/{campaign}/participation", headers=bearer(tokens[0]))
    server.client.patch(f"/api/campaigns/{campaign}", json={"method": "mean"}, headers=server.operator)
    round_of(server)
    after = server.results(campaign)
    assert after["method"] == "mean"
    assert after["results"][0] == before[0]  # of which one has withdrawn
    assert after["results"][1]["truth"] == after["results"][1]["mean"]


@pytest.mark.slow
@ANY_DATABASE
def test_steps_go_on_after_a_restart(start_local):
    first = start_local()
    campaign = first.opened(halls=1)
    tokens = first.participants(campaign, 12)
    trickle(first, campaign, tokens[:8], [[100 + n] for n in range(8)], lambda: None)
    before = first.results(campaign)
    first.client.__exit__(None, None, None)
    second = start_local()
    round_of(second)
    assert second.results(campaign) == before
    trickle(second, campaign, tokens[8:9], [[108]], lambda: None)
    assert second.results(campaign) == before
    trickle(second, campaign, tokens[9:], [[109], [110], [111]], lambda: None)
    assert second.results(campaign)["results"][0]["claims"] == 10
    assert second.status(campaign)["counts"]["spent"] == 12


@ANY_DATABASE
def test_whether_a_link_is_used_cannot_be_tried_out(server):
    """When revoked or replaced, a link that was used since the last step looks like one that was not."""
    campaign = server.opened()
    used, unused, *more = server.invite(campaign, 7)
    key = "enrolment-key-0123456789abcdef"
    token = server.enrol(used["token"], key).json()["participant_token"]
    round_of(server)
    address = f"/api/campaigns/{campaign}/invitations"
    for entry in (used, unused):
        assert server.client.delete(f"{address}/{entry['id']}", headers=server.operator).status_code == 204
        answer = server.client.post("/api/invitations/look-up", json={"invitation": entry["token"]})
        assert answer.json()["code"] == "invitation_revoked"
        answer = server.client.post(f"{address}/{entry['id']}/rotate", headers=server.operator)
        assert answer.status_code == 200
        assert server.enrol(answer.json()["token"]).status_code == 201
    # Who has used it takes part all the same, even if the answer got lost.
    assert server.enrol(used["token"], key).json()["participant_token"] == token
    for entry in more[:2]:
        server.enrol(entry["token"])
    round_of(server)
    listed = server.client.get(address, headers=server.operator).json()["invitations"]
    assert [entry["state"] for entry in listed][:2] == ["spent", "revoked"]
    assert server.status(campaign)["counts"]["spent"] == 5


def test_figures_for_machines_count_requests_and_name_nobody(server):
    """They grow with every report: when a report arrives is not hidden, and reveals nothing about its content."""
    campaign = server.opened()
    server.crowd(campaign, 6)
    round_of(server)
    labels = re.findall(r'(\w+)="([^"]*)"', server.client.get("/metrics").text)
    assert {name for name, _ in labels} <= {"route", "method", "status", "verdict", "le"}
    assert not [text for _, text in labels if campaign in text or "hall" in text]
