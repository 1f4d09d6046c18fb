"""A simulated crowd in a real campaign: every participant runs the real device code against a running server."""

import json
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sottovoce.claims import Claims
from sottovoce.device import Client, ParticipantFile, RetryPolicy, flush, join, release
from sottovoce.device.cuts import fetch_cuts
from sottovoce.discovery import CRH, METHODS, Mean, Median, TruthDiscovery, make_method
from sottovoce.errors import ConvergenceWarning, SottovoceError
from sottovoce.operators.client import OperatorClient
from sottovoce.privacy.laws import parse_noise_law
from sottovoce.protocol import InvitationLink, Problem
from sottovoce.protocol.geojson import PlacesFile
from sottovoce.worlds import World
from sottovoce.worlds.devices import usual_grid

Connect = Callable[[str], Client]
_RETRY_SECONDS = 120.0  # for each device; a server that limits requests from one address makes many devices wait
_RESULTS_SECONDS = 60.0
_POLL_SECONDS = 0.25
# Results count as those computed from scratch if they differ by at most this share of an interval's width. They are
# rounded, by 0.025 at most, and a task keeps its figures until it has enough new claims, while participants' weights
# change.
_SAME = 0.25


@dataclass(frozen=True)
class Delivery:
    """How sending the reports went."""

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
    before: float  # without noise, which only a simulation can know
    after: float  # with noise


@dataclass(frozen=True)
class CrowdOutcome:
    """The outcome of a campaign, beside the truth."""

    campaign: str
    delivery: Delivery
    results_seconds: float  # from the last report to the last results
    results: dict[str, Any]  # as the server states them
    claims: Claims  # as the server exports them
    truths: dict[str, float]
    errors: list[MethodErrors]
    departure: float  # of the results from those computed from scratch, in widths of intervals

    @property
    def as_from_scratch(self) -> bool:
        """Whether results that were updated as reports came in are the same as if computed from scratch."""
        return self.departure <= _SAME

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The results that the server shows: tasks with enough claims."""
        return [entry for entry in self.results["results"] if entry["truth"] is not None]

    @property
    def within(self) -> int:
        """How many of the shown intervals contain the truth."""
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
            "as_from_scratch": self.as_from_scratch,
            "method": self.results["method"],
            "guarantee": self.results["guarantee"],
            "errors": [asdict(row) for row in self.errors],
        }


def draft_of(
    world: World, *, title: str, noise: str, distance: str, low: float, high: float, unit: str = ""
) -> dict[str, Any]:
    """A campaign that asks for every object of a world, as an operator would describe it; the grid suits the noise."""
    span = {"low": f"{low:.12g}", "high": f"{high:.12g}", "grid": repr(float(usual_grid(parse_noise_law(noise))))}
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
    over: float = 0.0,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> CrowdOutcome:
    """Create a campaign and open it, let everybody join, measure and send, close it, and wait for the last results.

    If the world has a building, its plan is uploaded.

    Every participant has a file of their own in a temporary folder, the default limits, and noise from the exact
    sampler, drawn afresh each time. `send_all` determines the order in which they come. If there is a folder
    ``out``, the exported claims are written to ``claims.csv`` in it, and the truths to ``truth.csv``.
    """
    campaign = operator.create(draft)["id"]
    if world.building is not None:
        plan = world.building.svg()
        places = PlacesFile.parse("the building", json.dumps(world.building.geojson()), world.building.halls)
        operator.set_plan(campaign, plan)
        operator.set_places(campaign, places.places())
    operator.open(campaign)
    links = [invitation["url"] for invitation in operator.invite(campaign, world.claims.n_users)]
    delivery = send_all(readings_of(world), links, connect, at_once, progress, over=over, seed=seed)
    sent = time.perf_counter()
    operator.close(campaign)
    results = awaited(operator, campaign)
    seconds = time.perf_counter() - sent
    with TemporaryDirectory(prefix="sottovoce-crowd-") as temporary:
        folder = out or Path(temporary)
        world.write(folder)
        operator.export(campaign, "claims", folder / "claims.csv")
        claims = Claims.read(folder / "claims.csv")
    truths = dict(zip(map(str, world.claims.object_labels.tolist()), world.truths.tolist(), strict=True))
    errors = compare(world.claims, claims, truths, results)
    departure = departure_from_scratch(claims, results)
    return CrowdOutcome(campaign, delivery, seconds, results, claims, truths, errors, departure)


def readings_of(world: World) -> list[dict[str, str]]:
    """What each user measured, by task, as they would type it."""
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
    *,
    over: float = 0.0,
    seed: int = 0,
    in_order: bool = False,
) -> Delivery:
    """Let everybody join with a link of their own and send what they measured.

    They come in random order, or in the given order, at random times within the first ``over`` seconds, at most
    ``at_once`` at the same time; the same seed gives the same order and times.
    """
    started = time.perf_counter()
    random = np.random.default_rng(seed)
    moments = np.sort(random.uniform(0, over, len(links))).tolist()
    order = range(len(links)) if in_order else random.permutation(len(links)).tolist()
    coming = deque(zip(moments, order, strict=True))
    refusals: list[Problem] = []
    done = delivered = counted = retries = 0
    with TemporaryDirectory(prefix="sottovoce-crowd-") as folder, _workers(at_once) as workers:
        here: dict[Future[tuple[Problem | None, int]], int] = {}
        while coming or here:
            for person in _until(started + coming[0][0] if coming else None, here):
                problem, tries = person.result()
                number = here.pop(person)
                done += 1
                retries += tries
                if problem is None:
                    delivered += 1
                    counted += len(readings[number])
                else:
                    refusals.append(problem)
                if progress is not None:
                    progress(done, len(links))
            while coming and started + coming[0][0] <= time.perf_counter():
                _, number = coming.popleft()
                link, path = InvitationLink.parse(links[number]), Path(folder) / f"{number}.db"
                here[workers.submit(_take_part, link, readings[number], path, connect)] = number
    if not delivered:
        raise refusals[0]
    codes = Counter(problem.code for problem in refusals)
    return Delivery(len(links), delivered, counted, retries, dict(codes), time.perf_counter() - started)


def _until(moment: float | None, people: Mapping[Future[Any], int]) -> set[Future[Any]]:
    """Wait until somebody is done or the moment has come; returns those who are done."""
    pause = None if moment is None else max(0.0, moment - time.perf_counter())
    if people:
        return wait(people, pause, FIRST_COMPLETED).done
    time.sleep(pause or 0.0)
    return set()


@contextmanager
def _workers(at_once: int) -> Iterator[ThreadPoolExecutor]:
    """Threads for the devices; after an error or Ctrl-C no further device starts."""
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="device")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _take_part(
    link: InvitationLink, readings: Mapping[str, str], path: Path, connect: Connect
) -> tuple[Problem | None, int]:
    """One participant from the link to the receipt: the problem that stopped them, if any, and how many retries."""
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        time.sleep(seconds)

    retries = RetryPolicy(_RETRY_SECONDS, sleep=sleep)
    try:
        with ParticipantFile(path) as file:
            with connect(link.server) as client:
                joined = retries.run(lambda: join(file, link, client, agree=lambda *_: True), retries.deadline())
            fetch_cuts(file, joined.campaign, connect, retries)
            release(file, joined.campaign, readings)
            (sent,) = flush(file, connect, retries)
    except Problem as problem:
        return problem, len(pauses)
    return sent.problem, len(pauses)


def awaited(operator: OperatorClient, campaign: str) -> dict[str, Any]:
    """The last results of a closed campaign, as soon as they are computed."""
    end = time.monotonic() + _RESULTS_SECONDS
    while not (status := operator.campaign(campaign))["final"]:
        if time.monotonic() > end:
            raise SottovoceError(
                f"campaign {campaign}: its last results were not computed within {_RESULTS_SECONDS:.0f} s; see "
                "the server's log"
            )
        time.sleep(_POLL_SECONDS)
    if status["trouble"]:
        raise SottovoceError(f"campaign {campaign}: {status['trouble']['reason']}; see the server's log")
    return operator.results(campaign)


def compare(raw: Claims, noisy: Claims, truths: Mapping[str, float], results: Mapping[str, Any]) -> list[MethodErrors]:
    """Errors of the server's results, of other methods on the same noisy claims, and of each method without noise."""
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


def departure_from_scratch(claims: Claims, results: Mapping[str, Any]) -> float:
    """How far the results are from those computed from scratch on the same claims, in widths of intervals."""
    method = make_method(results["method"], noise=claims.noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the results say whether they have converged
        fit = method.fit(claims)
    low, high = fit.intervals(results["level"])
    place_of = {str(label): place for place, label in enumerate(fit.objects_.tolist())}
    departures = [0.0]
    for entry in results["results"]:
        if entry["truth"] is not None and entry["low"] is not None:
            place = place_of[entry["task"]]
            ends = (entry["low"] - low[place], entry["high"] - high[place])
            departures.append(float(max(map(abs, ends)) / (high[place] - low[place])))
    return max(departures)
