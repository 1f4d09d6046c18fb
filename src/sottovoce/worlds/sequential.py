"""A whole campaign of comparisons, simulated: people answer one after the other, and cuts follow their answers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims.header import NOISE_COLUMN
from sottovoce.claims.writing import write_table
from sottovoce.comparisons.board import Board
from sottovoce.comparisons.policy import EVERY_ANSWER, Cuts, Steps, check_levels, offers, places
from sottovoce.comparisons.posterior import Scale
from sottovoce.comparisons.table import CUTS_COLUMN, LEVEL_COLUMN, Comparisons, cuts_text
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import AnswerLaw
from sottovoce.privacy.parameters import check_range
from sottovoce.worlds.seeds import generator

Floats = NDArray[np.float64]
_MOST_ANSWERS = 10**7
_MARGIN = 0.1  # of the range, on either side, where no truth lies: being close to an edge would help the estimate


@dataclass(frozen=True)
class SequentialCrowd:
    """Who answers, and how: everybody answers every object, one person after the other.

    ``spread`` is the standard deviation of everybody's errors; with ``error_rate`` instead, users have error variances
    from Exponential(rate λ1). ``spread_guess`` is the operator's guess of it. The answers of a share ``late`` of the
    people arrive ``late_by`` people later. The answers of ``batch`` people arrive together. A share ``liars`` of the
    people always answers "higher", without noise.
    """

    law: AnswerLaw
    participants: int = 500
    objects: int = 30
    low: float = 0.0
    high: float = 100.0
    levels: int = 2
    grid: Fraction | None = None  # None: a twentieth of the typical spread
    spread: float = 1.0
    error_rate: float | None = None
    spread_guess: float | None = None
    steps: Steps = EVERY_ANSWER
    late: float = 0.0
    late_by: int = 50
    batch: int = 1
    liars: float = 0.0
    seed: int | tuple[int, ...] = 0

    def __post_init__(self) -> None:
        check_levels(self.levels)
        check_range(self.low, self.high)
        for name in ("participants", "objects", "batch"):
            if getattr(self, name) < 1:
                raise BadParameter(f"{name} {getattr(self, name)}: at least one is needed; give a positive number")
        if self.participants * self.objects > _MOST_ANSWERS:
            raise BadParameter(
                f"participants {self.participants:,} and objects {self.objects:,}: at most {_MOST_ANSWERS:,} answers "
                "are simulated; give fewer of one of them"
            )
        for name in ("late", "liars"):
            if not 0 <= getattr(self, name) < 1:
                raise BadParameter(f"{name} {getattr(self, name)}: it is a share, from 0 to below 1; 0.2 is a fifth")
        for name in ("spread", "grid", "spread_guess", "error_rate"):
            size = getattr(self, name)
            if size is not None and not 0 < size < math.inf:
                raise BadParameter(f"{name} {float(size):g}: it must be a finite positive number; correct it")

    @property
    def typical_spread(self) -> float:
        """The standard deviation of the errors of a typical user."""
        return self.spread if self.error_rate is None else 1 / math.sqrt(self.error_rate)

    @property
    def grid_step(self) -> Fraction:
        """The step of the grid to which readings are rounded."""
        usual = Fraction(self.typical_spread / 20).limit_denominator(10**9)
        return self.grid or usual or Fraction(1, 10**9)

    def play(self, progress: Callable[[int, int], None] | None = None) -> "SequentialOutcome":
        """Everybody answers; then the truths are estimated."""
        rng = generator(self.seed)
        deviations = (
            np.full(self.participants, self.spread)
            if self.error_rate is None
            else np.sqrt(rng.exponential(1 / self.error_rate, self.participants))
        )
        width = self.high - self.low
        truths = rng.uniform(self.low + _MARGIN * width, self.high - _MARGIN * width, self.objects)
        channel = self.law.channel(self.levels)
        usual = self.typical_spread
        scale = Scale(self.low, self.high, self.levels, channel.miss, self.spread_guess or 2 * usual)
        names = [str(number) for number in range(self.objects)]
        board = Board(dict.fromkeys(names, scale))
        server = _Server(board, names, self.levels, self.grid_step, self.steps)
        sent: list[Sequence[Cuts]] = []
        reported: list[NDArray[np.int64]] = []
        on_the_way: dict[int, list[int]] = {}
        # Exactly this share: a random number of liars would make the measured bias more random.
        liars = {*rng.permutation(self.participants)[: round(self.liars * self.participants)].tolist()}
        for person in range(self.participants):
            published = server.published()
            drawn = [offer[rng.integers(len(offer))] for offer in published]
            readings = np.floor(
                (truths + deviations[person] * rng.standard_normal(self.objects)) / float(self.grid_step) + 0.5
            )
            held = np.array(
                [sum(cut < 2 * reading for cut in cuts) for cuts, reading in zip(drawn, readings, strict=True)]
            )
            if person in liars:
                levels = np.full(self.objects, self.levels - 1)
            else:
                levels = self.law.simulate(held, np.full(self.objects, person), self.levels, rng)[:, 0]
            sent.append(drawn)
            reported.append(levels)
            delay = self.late_by if rng.random() < self.late else 0
            arrival = (person + delay) // self.batch * self.batch + self.batch - 1
            on_the_way.setdefault(arrival, []).append(person)
            for arrived in on_the_way.pop(person, ()):
                server.take(sent[arrived], reported[arrived])
            if progress is not None:
                progress(person + 1, self.participants)
        for arrived in (place for waiting in on_the_way.values() for place in waiting):
            server.take(sent[arrived], reported[arrived])
        posteriors = [posterior for _, posterior in board.posteriors()]
        low, high = np.array([posterior.interval() for posterior in posteriors]).T
        return SequentialOutcome(
            self, truths, np.array([posterior.median for posterior in posteriors]), low, high, usual, sent, reported
        )


class _Server:
    """Collects answers, and publishes new cuts when they are due."""

    def __init__(self, board: Board, names: list[str], levels: int, grid: Fraction, steps: Steps) -> None:
        self._board, self._names, self._levels, self._grid, self._steps = board, names, levels, grid, steps
        self._answers = self._changes = 0  # everybody answers every task, so all have the same number
        self._offers: list[list[Cuts]] | None = None

    def published(self) -> list[list[Cuts]]:
        if self._offers is None or self._steps.due(self._answers, self._changes):
            self._offers = [offers(posterior, self._levels, self._grid) for _, posterior in self._board.posteriors()]
            self._changes = 0
        return self._offers

    def take(self, cuts: Sequence[Cuts], levels: NDArray[np.int64]) -> None:
        for name, cut, level in zip(self._names, cuts, levels.tolist(), strict=True):
            self._board.add(name, places(cut, self._grid), level)
        self._answers += 1
        self._changes += 1


@dataclass(frozen=True)
class SequentialOutcome:
    """The answers of a simulated campaign, and how well they show the truths."""

    crowd: SequentialCrowd
    truths: Floats
    estimates: Floats
    low: Floats
    high: Floats
    spread: float  # of the readings
    sent: Sequence[Sequence[Cuts]]
    reported: Sequence[NDArray[np.int64]]

    @property
    def errors(self) -> Floats:
        """The errors in units of the readings' spread."""
        return (self.estimates - self.truths) / self.spread

    @property
    def rmse(self) -> float:
        """Root mean squared error over the objects, in units of the readings' spread."""
        return float(np.sqrt((self.errors**2).mean()))

    @property
    def rmse_error(self) -> float:
        """Standard error of `rmse`; not a number if there is only one object."""
        if len(self.errors) == 1:
            return math.nan
        return float((self.errors**2).std(ddof=1) / math.sqrt(len(self.errors)) / (2 * self.rmse))

    @property
    def coverage(self) -> float:
        """Share of the 95% intervals that contain the truth."""
        return float(((self.low <= self.truths) & (self.truths <= self.high)).mean())

    def comparisons(self) -> Comparisons:
        """The answers as an analyst gets them."""
        crowd = self.crowd
        people, objects = np.divmod(np.arange(crowd.participants * crowd.objects), crowd.objects)
        cuts = [places(cut, crowd.grid_step) for everybody in self.sent for cut in everybody]
        return Comparisons.from_arrays(people, objects, cuts, np.concatenate(self.reported), noise=str(crowd.law))

    def write(self, folder: Path) -> None:
        """Write ``answers.csv`` and ``truth.csv`` into a folder."""
        crowd = self.crowd
        folder.mkdir(parents=True, exist_ok=True)
        people, objects = np.divmod(np.arange(crowd.participants * crowd.objects), crowd.objects)
        texts = [cuts_text(places(cut, crowd.grid_step)) for everybody in self.sent for cut in everybody]
        columns = {
            "user": people,
            "object": objects,
            CUTS_COLUMN: texts,
            LEVEL_COLUMN: np.concatenate(self.reported),
            NOISE_COLUMN: [str(crowd.law)] * len(texts),
        }
        write_table(pa.table(columns), folder / "answers.csv")
        write_table(pa.table({"object": np.arange(crowd.objects), "value": self.truths}), folder / "truth.csv")
