"""Does a sampler of answers keep its law's promise? The audit of `sottovoce.privacy.audit`, for answers.

The neighbours are n answers with the first cell, and the same with the second cell as the first answer. Outputs are the
reported cells. The event that distinguishes the inputs best is chosen on one half of the draws and measured on the
other; and what is reported is compared with the law's own probabilities, which is far more sensitive.
"""

import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import BadParameter, BadRow, UnreadableFile
from sottovoce.privacy import sampler as devices
from sottovoce.privacy.audit import FEWEST_DRAWS, Audit, check_promise, epsilon_bound
from sottovoce.privacy.conformity import Check, smallest, two_sided
from sottovoce.privacy.laws import AnswerLaw, Channel
from sottovoce.privacy.sampler import ByteStream
from sottovoce.progress import Progress
from sottovoce.text_tables import read_rows

Cells = NDArray[np.int64]
# From the answers of one participant, each a cell, to the cells that are reported of each.
AnswerSampler = Callable[[Sequence[int]], Sequence[Sequence[int]]]
_COLUMNS = ("side", "release", "reading", "value")


@dataclass(frozen=True)
class AnswerSetting:
    """The two inputs: ``readings`` answers out of ``choices``, all the first cell except, in one, the first answer."""

    choices: int = 2
    readings: int = 1

    def inputs(self) -> tuple[list[int], list[int]]:
        """The answers of both sides."""
        others = [0] * (self.readings - 1)
        return [0, *others], [1, *others]

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return {"choices": self.choices, "readings": self.readings}

    def __str__(self) -> str:
        answers = f"{self.readings} answer{'s' * (self.readings != 1)} out of {self.choices}"
        return f"Two inputs of {answers}, the first answer different"


@dataclass(frozen=True)
class AnswerDraws:
    """Reported cells, releases × answers × cells, for each of the two inputs."""

    sides: tuple[Cells, Cells]

    def __post_init__(self) -> None:
        for number, side in enumerate(self.sides):
            if len(side) < FEWEST_DRAWS:
                raise BadParameter(
                    f"{len(side):,} releases on side {number}: at least {FEWEST_DRAWS:,} are needed; draw more"
                )

    @classmethod
    def of(
        cls, sampler: AnswerSampler, setting: AnswerSetting, samples: int, progress: Progress[int, int] | None = None
    ) -> "AnswerDraws":
        """Draw ``samples`` releases for each input, in turn."""
        inputs = setting.inputs()
        sides: tuple[list[Any], list[Any]] = ([], [])
        for done in range(samples):
            for answers, side in zip(inputs, sides, strict=True):
                outputs = sampler(list(answers))
                if len(outputs) != len(answers) or len({len(cells) for cells in outputs}) > 1:
                    raise BadParameter(
                        f"{len(outputs)} outputs for {len(answers)} answers: one set of cells per answer is needed, "
                        "all of one size; correct the sampler"
                    )
                side.append([list(cells) for cells in outputs])
            if progress and done % 256 == 0:
                progress(done, samples)
        return cls((np.array(sides[0], np.int64), np.array(sides[1], np.int64)))

    @classmethod
    def read(cls, path: str | Path) -> "AnswerDraws":
        """Read draws made elsewhere: CSV with columns side, release, reading, value (cells with spaces between)."""
        releases: tuple[dict[str, dict[int, list[int]]], dict[str, dict[int, list[int]]]] = ({}, {})
        try:
            text = Path(path).read_text(encoding="utf-8")
            rows = list(read_rows(str(path), text, _COLUMNS))
        except (OSError, UnicodeDecodeError, csv.Error) as mistake:
            raise UnreadableFile(f"{path}: it cannot be read as CSV ({mistake}); check the path") from None
        for number, row in rows:
            try:
                side, reading = int(row["side"]), int(row["reading"])
                releases[side].setdefault(row["release"], {})[reading] = [int(cell) for cell in row["value"].split()]
            except (ValueError, IndexError):
                shown = ", ".join(row[column] for column in _COLUMNS)
                raise BadRow(
                    f"row {number} ({shown}): side must be 0 or 1, reading a whole number, value the numbers of the "
                    "reported cells with spaces between; correct it"
                ) from None
        lists = [[[answers[key] for key in sorted(answers)] for answers in side.values()] for side in releases]
        shapes = {tuple(map(len, release)) for side in lists for release in side}
        if len(shapes) > 1 or any(len(set(shape)) > 1 for shape in shapes):
            raise BadRow(
                f"{path}: every release must have the same answers, with sets of one size; add the missing ones"
            )
        return cls((np.array(lists[0], np.int64), np.array(lists[1], np.int64)))

    @property
    def readings(self) -> int:
        return int(self.sides[0].shape[1]) if self.sides[0].ndim > 1 else 0


def device(law: AnswerLaw, setting: AnswerSetting, stream: ByteStream | None = None) -> AnswerSampler:
    """What devices run, as a sampler."""
    stream = stream or ByteStream()
    return lambda answers: devices.reported_cells(law, [(cell, setting.choices) for cell in answers], stream)


def audit_answers(
    sampler: AnswerSampler,
    law: AnswerLaw,
    setting: AnswerSetting | None = None,
    *,
    samples: int = 20_000,
    epsilon: float | None = None,
    delta: float | None = None,
    progress: Progress[int, int] | None = None,
) -> Audit:
    """Audit any sampler of answers: a callable from a list of cells to a list of reported cells for each."""
    setting = setting or AnswerSetting()
    promise = _promise(law, setting, epsilon, delta)  # a mistake is reported before the long work
    if samples < FEWEST_DRAWS:
        raise BadParameter(f"samples {samples!r}: at least {FEWEST_DRAWS:,} are needed; write 20000, for example")
    return _audit(AnswerDraws.of(sampler, setting, samples, progress), law, setting, promise)


def audit_answer_draws(
    draws: AnswerDraws,
    law: AnswerLaw,
    setting: AnswerSetting,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Audit:
    """Audit draws made elsewhere, for the inputs of ``setting``."""
    if draws.readings != setting.readings:
        raise BadParameter(
            f"{draws.readings} answers in the draws: the setting says {setting.readings}, and they must be the same; "
            "correct one of them"
        )
    return _audit(draws, law, setting, _promise(law, setting, epsilon, delta))


def _promise(law: AnswerLaw, setting: AnswerSetting, epsilon: float | None, delta: float | None) -> tuple[float, float]:
    return check_promise(law.guarantee(setting.choices, setting.readings), epsilon, delta)


def _audit(draws: AnswerDraws, law: AnswerLaw, setting: AnswerSetting, promise: tuple[float, float]) -> Audit:
    epsilon, delta = promise
    halves = [[_events(side[part::2]) for side in draws.sides] for part in (0, 1)]
    name, favours = max(
        ((name, favours) for name in halves[0][0] for favours in (0, 1)),
        key=lambda event: _bound([halves[0][side][event[0]] for side in (0, 1)], event[1], delta),
    )
    found = _bound([halves[1][side][name] for side in (0, 1)], favours, delta)
    channel = law.channel(setting.choices)
    moves = [np.moveaxis(_moves(side, truths, setting.choices), 2, 0)
             for side, truths in zip(draws.sides, setting.inputs(), strict=True)]  # fmt: skip
    return Audit(
        law=law,
        setting=setting,
        samples=min(map(len, draws.sides)),
        delta=delta,
        promised_epsilon=epsilon,
        found_epsilon=max(0.0, found),
        event=name,
        checks=list(_checks(draws, law, channel, [(move == 0).any(axis=0) for move in moves], moves)),
    )


def _events(outputs: Cells) -> dict[str, NDArray[np.bool_]]:
    """Sets of outputs: what the first answer says, by itself and beside how many others say the first cell."""
    first, second = ((outputs[:, 0] == cell).any(axis=1) for cell in (0, 1))
    says = {"answer 1 speaks for the first cell": first & ~second, "answer 1 speaks for the second": second & ~first}
    others = (outputs[:, 1:] == 0).any(axis=2).sum(axis=1)
    beside = {
        f"{name}, and at least {least} others say the first": said & (others >= least)
        for name, said in says.items()
        for least in range(1, outputs.shape[1])
    }
    return {**says, **beside}


def _bound(holds: list[NDArray[np.bool_]], favours: int, delta: float) -> float:
    often, seldom = holds[favours], holds[1 - favours]
    return float(epsilon_bound(int(often.sum()), int(seldom.sum()), len(often), len(seldom), delta))


def _moves(outputs: Cells, truths: Sequence[int], cells: int) -> Cells:
    """By how many cells what is reported differs from the truth."""
    return np.asarray((outputs - np.asarray(truths)[None, :, None]) % cells)


def _checks(
    draws: AnswerDraws, law: AnswerLaw, channel: Channel, hits: list[NDArray[np.bool_]], moves: list[Cells]
) -> Iterator[Check]:
    yield Check("outputs are sets of cells", 1.0 if all(_is_right(side, channel) for side in draws.sides) else 0.0)
    moved, kept = np.concatenate(moves, axis=1), np.concatenate(hits)
    yield Check("answers have the law's probabilities", smallest(_fits(moved, kept, law, channel)))
    pairs = [] if law.noised_together else itertools.combinations(range(kept.shape[1]), 2)
    yield Check("each answer is drawn on its own", smallest(_alike(kept[:, a], kept[:, b], channel) for a, b in pairs))
    both = min(map(len, hits))
    consecutive = [(hit[0 : len(hit) // 2 * 2 : 2], hit[1 : len(hit) // 2 * 2 : 2]) for hit in hits]
    yield Check(
        "each release is drawn on its own",
        smallest(
            _alike(one[:, answer], other[:, answer], channel)
            for one, other in [(hits[0][:both], hits[1][:both]), *consecutive]
            for answer in range(kept.shape[1])
        ),
    )


def _is_right(outputs: Cells, channel: Channel) -> bool:
    if outputs.shape[2] != channel.size or outputs.min() < 0 or outputs.max() >= channel.cells:
        return False
    return bool((np.diff(outputs, axis=2) > 0).all())


def _fits(moves: Cells, kept: NDArray[np.bool_], law: AnswerLaw, channel: Channel) -> Iterator[float]:
    """How often the truth is reported in all answers together; and for each answer, how often each cell is."""
    if not law.noised_together:
        yield two_sided(int(kept.sum()), kept.size, channel.hit)
    releases = moves.shape[1]
    for answer in range(moves.shape[2]):
        counts = np.bincount(moves[:, :, answer].ravel(), minlength=channel.cells)
        for move, count in enumerate(counts.tolist()):
            yield two_sided(min(count, releases), releases, channel.hit if move == 0 else channel.miss)


def _alike(one: NDArray[np.bool_], other: NDArray[np.bool_], channel: Channel) -> float:
    return two_sided(int((one == other).sum()), len(one), channel.hit**2 + (1 - channel.hit) ** 2)
