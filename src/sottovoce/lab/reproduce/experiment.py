"""What an experiment is: tasks that can run anywhere, a table, a figure, and a verdict computed from the table."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sottovoce.claims import Claims
from sottovoce.discovery import TruthDiscovery, make_method
from sottovoce.errors import BadParameter, ConvergenceWarning
from sottovoce.lab.reproduce import NUMBERS
from sottovoce.lab.reproduce.tables import Row, Table
from sottovoce.privacy.laws import Law, NoiseLaw
from sottovoce.worlds import World, floorplan, read_floorplan
from sottovoce.worlds.floorplan import floorplan_digest

BASELINES = ("mean", "median")  # beside the method in every figure of error
# Fields of a setting, with their names on the command line.
_OPTIONS = {
    "floorplan": "floorplan", "error_rates": "lambda1", "epsilons": "epsilons", "deltas": "deltas",
    "participants": "participants", "objects": "objects", "runs": "runs", "method": "method", "b": "b", "eta": "eta",
    "answers": "answers",
}  # fmt: skip
_VARIED = {"error_rates": "effect-of-quality", "participants": "effect-of-crowd and whole-range"}

# The parameters of a task, as in JSON: together with the code, they determine its result.
Parameters = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """The options of a run."""

    seed: int = 0
    quick: bool = False
    floorplan: str | None = None  # folder with a real copy
    # These replace a figure's own parameters, if it has them. Several values of error_rates or participants make the
    # axis of a figure that varies them.
    error_rates: tuple[float, ...] | None = None  # λ1
    epsilons: tuple[float, ...] | None = None
    deltas: tuple[float, ...] | None = None
    participants: tuple[int, ...] | None = None
    objects: int | None = None
    runs: int | None = None
    method: str | None = None
    b: float | None = None
    eta: float | None = None
    answers: str | None = None  # folder with real sets of answers

    def __post_init__(self) -> None:
        for name in ("participants", "objects", "runs"):
            asked = getattr(self, name)
            for count in asked if isinstance(asked, tuple) else () if asked is None else (asked,):
                if count < 1:
                    raise BadParameter(f"{name} {count}: at least one is needed; give a positive number")
        for name in ("error_rates", "epsilons", "deltas", "participants"):
            if asked := getattr(self, name):  # a line goes through each of its points once
                object.__setattr__(self, name, tuple(sorted(set(asked))))

    def chosen(self, name: str, full: Any, quick: Any = None) -> Any:
        """What was asked for, or else the figure's default: the full or the quick one if it has both."""
        asked = getattr(self, name)
        return asked if asked is not None else full if quick is None else self.sized(full, quick)

    def one(self, name: Literal["error_rates", "participants"], usual: Any) -> Any:
        """The value for a figure that does not vary this parameter."""
        asked = getattr(self, name)
        if asked is not None and len(asked) > 1:
            raise BadParameter(
                f"{_OPTIONS[name]} {', '.join(f'{value:g}' for value in asked)}: several values are for "
                f"{_VARIED[name]} only; give one, or name only a figure that varies it"
            )
        return asked[0] if asked else usual

    def axis(self, name: Literal["error_rates", "participants"], full: Any, quick: Any) -> Any:
        """The values for a figure that varies this parameter; a single one is no axis."""
        asked = getattr(self, name)
        return asked if asked and len(asked) > 1 else self.sized(full, quick)

    def unused(self, experiments: Sequence["Experiment"]) -> list[str]:
        """Options, by their names on the command line, that change no task of these experiments."""
        asked = [one.tasks(self) for one in experiments]
        given = [name for name in _OPTIONS if getattr(self, name) is not None]
        without: dict[str, Setting] = {name: replace(self, **dict[str, Any]({name: None})) for name in given}
        return [_OPTIONS[name] for name in given if [one.tasks(without[name]) for one in experiments] == asked]

    def sized(self, full: Any, quick: Any) -> Any:
        """The full or the quick size."""
        return quick if self.quick else full

    def floorplan_parameters(self) -> Parameters:
        """Which floorplan a task works on."""
        if self.floorplan is None:
            return {"floorplan": None}
        return {"floorplan": self.floorplan, "digest": floorplan_digest(self.floorplan)}


@dataclass(frozen=True)
class Verdict:
    """What the numbers say. ``holds`` is None where the paper claims nothing."""

    holds: bool | None
    sentence: str


@dataclass(frozen=True)
class Experiment(ABC):
    """One figure."""

    name: str
    title: str
    claim: str  # the paper's; or, beyond the paper, the question

    of_the_paper: ClassVar[bool] = True
    exclusive: ClassVar[bool] = False  # measures time, so nothing else may run beside it
    size: ClassVar[tuple[float, float]] = (7.2, 2.9)  # of the figure, in inches

    @abstractmethod
    def tasks(self, setting: Setting) -> list[Parameters]:
        """Independent pieces of work; their rows are put together in this order."""

    @abstractmethod
    def run(self, task: Parameters) -> Table:
        """Rows of one piece of work: the same for the same parameters, wherever it runs (except for measured times)."""

    @abstractmethod
    def collect(self, rows: Table) -> Table:
        """The table behind the figure."""

    @abstractmethod
    def draw(self, figure: Any, table: Table) -> None:
        """Draw the table on a matplotlib figure."""

    @abstractmethod
    def verdict(self, table: Table) -> Verdict:
        """What the table says about the claim."""

    @abstractmethod
    def note(self, table: Table) -> str:
        """What was chosen because the paper does not state it; printed under the figure."""

    def choices(self, table: Table) -> list[tuple[str, str, str]]:
        """Parameters: what it is, what the paper says, what was chosen here."""
        return []

    @property
    def heading(self) -> str:
        """The title with the number of the paper's figure."""
        return f"Fig. {NUMBERS[self.name]}: {self.title}" if self.name in NUMBERS else self.title

    def missing(self) -> str | None:
        """Why the figure cannot be made here; None if it can be made."""
        return None


@dataclass(frozen=True)
class ExperimentOutcome:
    """A finished figure: its numbers and its verdict."""

    experiment: Experiment
    table: Table
    verdict: Verdict

    @property
    def files(self) -> list[str]:
        return [f"{self.experiment.name}.{suffix}" for suffix in ("png", "svg", "csv")]


@dataclass(frozen=True)
class Reproduction:
    """Everything that a run made."""

    out: Path
    setting: Setting
    outcomes: list[ExperimentOutcome]
    left_out: dict[str, str]  # figure → why
    computed: int  # pieces of work done in this run; the others were kept from an earlier one
    unused: list[str]  # options that were given and change nothing

    @property
    def page(self) -> Path:
        return self.out / "index.html"


def fitted(method: str, claims: Claims, law: Law | None = None, **options: Any) -> TruthDiscovery:
    """A method by name, fitted; if it has not converged, its last estimates count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return make_method(method, noise=law, **options).fit(claims)


def mean_error(truths: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Mean absolute difference (MAE)."""
    return float(np.abs(truths - others).mean())


def errors_of(methods: Iterable[str], claims: Claims, law: NoiseLaw | None, world: World) -> dict[str, float]:
    """Mean absolute error of each method against the truths."""
    return {method: mean_error(fitted(method, claims, law).truths_, world.truths) for method in methods}


def moved_by_noise(world: World, law: NoiseLaw, method: str, rng: np.random.Generator) -> Row:
    """The measures of the paper's figures: how much noise, how far the aggregates move, how far the truth is."""
    noisy = world.with_simulated_noise(law, rng)
    row: Row = {"noise": mean_error(noisy.claims.values, world.claims.values)}
    for name, ending in ((method, ""), *((baseline, f"_{baseline}") for baseline in BASELINES)):
        before, after = fitted(name, world.claims).truths_, fitted(name, noisy.claims, law).truths_
        row[f"moved{ending}"] = mean_error(before, after)
        row[f"error_before{ending}"] = mean_error(before, world.truths)
        row[f"error_after{ending}"] = mean_error(after, world.truths)
    return row


def floorplan_world(task: Parameters, rng: np.random.Generator) -> World:
    """The floorplan of a task: a real copy where one is given, else a simulated one."""
    return read_floorplan(task["floorplan"]) if task["floorplan"] else floorplan(rng)
