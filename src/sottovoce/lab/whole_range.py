"""The demo of a promise for the whole range: people answer one after another, and the estimates approach the truth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.discovery import NoiseAware
from sottovoce.errors import SottovoceError
from sottovoce.lab.crowd import Delivery, awaited, readings_of, send_all
from sottovoce.lab.demo import own_server
from sottovoce.lab.plots import draw_whole_range
from sottovoce.operators.client import OperatorClient
from sottovoce.privacy.laws import parse_noise_law
from sottovoce.worlds import World
from sottovoce.worlds.seeds import generator

Floats = NDArray[np.float64]

LOW, HIGH, GRID = 0, 100, "0.1"  # metres
NOISE, LEVELS = "response:1", 2
WIDE_NOISE = f"fresh:{1 / (2 * (HIGH - LOW) ** 2):g}"  # Laplace of scale 100: ε = 1 for any two values in the range
_ERROR = 1.0  # of a reading, as a standard deviation
_PEOPLE, _TASKS = 300, 6
_LEAST_CLAIMS = 5
_AT_ONCE = 2  # the next device starts while one is still at work


@dataclass(frozen=True)
class Moment:
    """What was published when this many people had answered, and what noise as wide as the range would have given."""

    people: int
    error: float  # mean absolute error over the tasks
    wide_error: float
    results: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class WholeRangeOutcome:
    """A campaign of comparisons from the first step to the last, beside the truth."""

    campaign: str
    delivery: Delivery
    truths: dict[str, float]
    results: dict[str, Any]
    moments: list[Moment]

    @property
    def within(self) -> int:
        """How many of the last intervals contain the truth."""
        shown = [row for row in self.results["results"] if row["truth"] is not None]
        return sum(row["low"] <= self.truths[row["task"]] <= row["high"] for row in shown)

    def summary(self) -> dict[str, Any]:
        """For programs."""
        return {
            "campaign": self.campaign,
            **asdict(self.delivery),
            "tasks": len(self.truths),
            "within_interval": self.within,
            "guarantee": self.results["guarantee"],
            "steps": [
                {"people": moment.people, "error": moment.error, "wide_error": moment.wide_error}
                for moment in self.moments
            ],
        }


def run_whole_range(out: Path, seed: int, progress: Callable[[int, int], None] | None = None) -> WholeRangeOutcome:
    """Serve, ask, compare, randomise, send, estimate; write comparisons.csv, truth.csv and whole-range.png."""
    world = _world(seed)
    labels = list(map(str, world.claims.object_labels.tolist()))
    truths = dict(zip(labels, world.truths.tolist(), strict=True))
    span = {"low": LOW, "high": HIGH, "grid": GRID, "unit": "m"}
    draft = {
        "title": "How long are the hallways?", "asked_by": "a simulation", "noise": NOISE, "levels": LEVELS,
        "tasks": [{"id": label, "title": label, **span} for label in labels],
    }  # fmt: skip
    with (
        TemporaryDirectory(prefix="sottovoce-demo-") as folder,
        own_server(Path(folder), _LEAST_CLAIMS) as operator,
    ):
        campaign = operator.create(draft)["id"]
        operator.open(campaign)
        links = [invitation["url"] for invitation in operator.invite(campaign, _PEOPLE)]
        # In the order of their numbers, so that results with noise can be computed for the same people.
        delivery = send_all(readings_of(world), links, at_once=_AT_ONCE, progress=progress, in_order=True)
        operator.close(campaign)
        results = awaited(operator, campaign)
        published = _published(operator, campaign)
        world.write_truths(out)
        operator.export(campaign, "claims", out / "comparisons.csv")
    if not published:
        raise SottovoceError(f"campaign {campaign}: no step was published; see the server's log")
    wide = _wide_errors(world, [step["reports"] for step in published])
    moments = [
        Moment(step["reports"], _error(step["results"], truths), error, step["results"])
        for step, error in zip(published, wide, strict=True)
    ]
    outcome = WholeRangeOutcome(campaign, delivery, truths, results, moments)
    draw_whole_range(moments, truths, (LOW, HIGH), out / "whole-range.png")
    return outcome


def _world(seed: int) -> World:
    """Everybody measures every hallway, with equally large errors; lengths are random, in the middle of the range."""
    rng = generator(seed)
    width = HIGH - LOW
    truths = np.round(rng.uniform(LOW + 0.1 * width, HIGH - 0.1 * width, _TASKS), 1)
    objects, users = np.divmod(np.arange(_TASKS * _PEOPLE), _PEOPLE)
    readings = np.clip(truths[objects] + _ERROR * rng.standard_normal(len(objects)), LOW, HIGH)
    labels = np.array([f"hallway-{number}" for number in range(1, _TASKS + 1)])
    claims = Claims.from_arrays(users, labels[objects], np.round(readings, 3))
    return World(claims, truths, np.full(_PEOPLE, _ERROR**2))


def _published(operator: OperatorClient, campaign: str) -> list[dict[str, Any]]:
    """All versions with figures, in order; of versions with the same number of reports, only the last."""
    versions = [operator.results(campaign, entry["version"]) for entry in operator.versions(campaign)]
    shown = [version for version in versions if all(row["truth"] is not None for row in version["results"])]
    return sorted({version["reports"]: version for version in reversed(shown)}.values(), key=lambda v: v["reports"])


def _error(rows: Sequence[Mapping[str, Any]], truths: Mapping[str, float]) -> float:
    return float(np.mean([abs(row["truth"] - truths[row["task"]]) for row in rows]))


def _wide_errors(world: World, counts: Sequence[int]) -> list[float]:
    """The error after each count of people with noise as wide as the range, drawn once for each reading."""
    noisy = world.with_simulated_noise(parse_noise_law(WIDE_NOISE), seed=len(counts)).claims
    errors = []
    for count in counts:
        first = noisy.users < count
        claims = Claims.from_arrays(noisy.users[first], noisy.objects[first], noisy.values[first])
        errors.append(float(np.abs(NoiseAware(noise=WIDE_NOISE).fit(claims).truths_ - world.truths).mean()))
    return errors
