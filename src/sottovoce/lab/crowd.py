"""A simulated crowd in a real campaign: every participant runs the real device code against a running server."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.device import Client, ParticipantFile, Patience, flush, join, release
from sottovoce.discovery import CRH, METHODS, Mean, Median, TruthDiscovery
from sottovoce.errors import SottovoceError
from sottovoce.privacy.laws import parse_law
from sottovoce.protocol import InvitationLink, Problem
from sottovoce.server.operator_client import OperatorClient
from sottovoce.worlds import World
from sottovoce.worlds.devices import usual_grid

Connect = Callable[[str], Client]
_PATIENCE_SECONDS = 120.0  # of a device; a server that limits one address makes many wait
_RESULTS_SECONDS = 60.0
_POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Delivery:
    """What became of the reports."""

    participants: int
    reports: int
    readings: int
    retries: int
    refused: dict[str, int]  # participants who could not or would not take part, by the code of the problem
    seconds: float


@dataclass(frozen=True)
class MethodErrors:
    """Mean absolute errors of one method, over the tasks that the server shows."""

    method: str
    before: float  # noise was added, as nobody but the simulation can know
    after: float


@dataclass(frozen=True)
class CrowdOutcome:
    """What came of a campaign, beside what is true."""

    campaign: str
    delivery: Delivery
    results_seconds: float  # from the last report to results that include it
    results: dict[str, Any]  # as the server states them
    claims: Claims  # as the server exports them
    truths: dict[str, float]
    errors: list[MethodErrors]

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The results that the server shows: tasks with enough claims."""
        return [entry for entry in self.results["results"] if entry["truth"] is not None]

    @property
    def within(self) -> int:
        """How many of the shown intervals hold the truth."""
        return sum(entry["low"] <= self.truths[entry["task"]] <= entry["high"] for entry in self.shown)

    def summary(self) -> dict[str, Any]:
        """For programs."""
        return {
            "campaign": self.campaign,
            **asdict(self.delivery),
            "results_seconds": self.results_seconds,
            "tasks": len(self.truths),
            "shown": len(self.shown),
            "within_interval": self.within,
            "method": self.results["method"],
            "guarantee": self.results["guarantee"],
            "errors": [asdict(row) for row in self.errors],
        }


def draft_of(
    world: World, *, title: str, noise: str, distance: str, low: float, high: float, unit: str = ""
) -> dict[str, Any]:
    """A campaign that asks for every object of a world, as an operator would describe it; the grid suits the noise."""
    span = {"low": f"{low:.12g}", "high": f"{high:.12g}", "grid": repr(float(usual_grid(parse_law(noise))))}
    tasks = [
        {"id": label, "title": label, "unit": unit, **span} for label in map(str, world.claims.object_labels.tolist())
    ]
    return {"title": title, "tasks": tasks, "noise": noise, "distance": distance, "asked_by": "a simulation"}


def run_campaign(
    world: World,
    operator: OperatorClient,
    draft: Mapping[str, Any],
    out: Path | None = None,
    *,
    connect: Connect = Client,
    at_once: int = 8,
    progress: Callable[[int, int], None] | None = None,
) -> CrowdOutcome:
    """Create a campaign and open it, let everybody join, measure and send, and wait for the results.

    Every participant has a file of his own in a temporary folder, limits as usual, and noise from the exact sampler,
    drawn anew each time. The claims as the server exports them go to ``claims.csv`` in the folder ``out`` if there is
    one, the truths to ``truth.csv``.
    """
    campaign = operator.create(draft)["id"]
    operator.open(campaign)
    links = [invitation["url"] for invitation in operator.invite(campaign, world.claims.n_users)]
    delivery = send_all(readings_of(world), links, connect, at_once, progress)
    sent = time.perf_counter()
    results = _awaited(operator, campaign, delivery.reports)
    seconds = time.perf_counter() - sent
    with TemporaryDirectory(prefix="sottovoce-crowd-") as temporary:
        folder = out or Path(temporary)
        world.write(folder)
        operator.export(campaign, "claims", folder / "claims.csv")
        claims = Claims.read(folder / "claims.csv")
    truths = dict(zip(map(str, world.claims.object_labels.tolist()), world.truths.tolist(), strict=True))
    errors = compare(world.claims, claims, truths, results)
    return CrowdOutcome(campaign, delivery, seconds, results, claims, truths, errors)


def readings_of(world: World) -> list[dict[str, str]]:
    """What each user measured, by task, as he would type it."""
    claims = world.claims
    labels = list(map(str, claims.object_labels.tolist()))
    taken: list[dict[str, str]] = [{} for _ in range(claims.n_users)]
    for user, place, reading in zip(
        claims.users.tolist(), claims.objects.tolist(), claims.values.tolist(), strict=True
    ):
        taken[user][labels[place]] = repr(reading)
    return taken


def send_all(
    readings: list[dict[str, str]],
    links: list[str],
    connect: Connect = Client,
    at_once: int = 8,
    progress: Callable[[int, int], None] | None = None,
) -> Delivery:
    """Let everybody join by a link of his own and send what he measured, so many at once."""
    started = time.perf_counter()
    refusals: list[Problem] = []
    delivered = counted = 0
    with TemporaryDirectory(prefix="sottovoce-crowd-") as folder, _workers(at_once) as workers:
        people = {
            workers.submit(_take_part, InvitationLink.parse(link), taken, Path(folder) / f"{number}.db", connect): taken
            for number, (link, taken) in enumerate(zip(links, readings, strict=True))
        }
        retries = 0
        for done, person in enumerate(as_completed(people), start=1):
            problem, tries = person.result()
            retries += tries
            if problem is None:
                delivered += 1
                counted += len(people[person])
            else:
                refusals.append(problem)
            if progress is not None:
                progress(done, len(people))
    if not delivered:
        raise refusals[0]
    codes = Counter(problem.code for problem in refusals)
    return Delivery(len(links), delivered, counted, retries, dict(codes), time.perf_counter() - started)


@contextmanager
def _workers(at_once: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for the devices; on a mistake or Ctrl-C those who have not begun do not begin any more."""
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="device")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _take_part(
    link: InvitationLink, readings: Mapping[str, str], path: Path, connect: Connect
) -> tuple[Problem | None, int]:
    """One participant from the link to the receipt: what hindered him, if anything, and how often he tried again."""
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        time.sleep(seconds)

    patience = Patience(_PATIENCE_SECONDS, sleep=sleep)
    try:
        with ParticipantFile(path) as file:
            with connect(link.server) as client:
                joined = patience.insist(lambda: join(file, link, client, agree=lambda *_: True), patience.end())
            release(file, joined.campaign, readings)
            (sent,) = flush(file, connect, patience)
    except Problem as problem:
        return problem, len(pauses)
    return sent.problem, len(pauses)


def _awaited(operator: OperatorClient, campaign: str, reports: int) -> dict[str, Any]:
    """The results as soon as they include so many reports."""
    end = time.monotonic() + _RESULTS_SECONDS
    while (results := operator.results(campaign))["reports"] < reports:
        if time.monotonic() > end:
            raise SottovoceError(
                f"results of {results['reports']} reports: {reports} were stored {_RESULTS_SECONDS:.0f} s ago; "
                "look into the server's log"
            )
        time.sleep(_POLL_SECONDS)
    return results


def compare(raw: Claims, noisy: Claims, truths: Mapping[str, float], results: Mapping[str, Any]) -> list[MethodErrors]:
    """The server's results, and others' from the same noisy claims, against the truth; and what each would have found
    without noise."""
    found = {entry["task"]: entry["truth"] for entry in results["results"] if entry["truth"] is not None}

    def error(estimates: Mapping[str, float]) -> float:
        return float(np.mean([abs(estimates[task] - truths[task]) for task in found]))

    def after_fit(method: TruthDiscovery, claims: Claims) -> float:
        fit = method.fit(claims)
        return error(dict(zip(map(str, fit.objects_.tolist()), fit.truths_.tolist(), strict=True)))

    if not found:  # too few readings of everything
        return []
    ours = METHODS[results["method"]]
    rows = [MethodErrors(ours.__name__, after_fit(ours(), raw), error(found))]
    rows += [
        MethodErrors(other.__name__, after_fit(other(), raw), after_fit(other(), noisy))
        for other in (CRH, Mean, Median)
        if other is not ours
    ]
    return rows
