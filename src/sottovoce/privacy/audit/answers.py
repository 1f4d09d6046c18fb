"""The audit of answers: n answers that are all the first cell, and the same with the second cell as the first answer.

Outputs are the reported cells. What is reported is compared with the law's own probabilities, which is far more
sensitive than telling the inputs apart.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import BadParameter
from sottovoce.privacy import sampler as devices
from sottovoce.privacy.answers import AnswerGuarantee
from sottovoce.privacy.audit.inputs import Neighbours, SampledOutputs, Sampler
from sottovoce.privacy.audit.result import Evidence, epsilon_bound
from sottovoce.privacy.conformity import Check, smallest, two_sided
from sottovoce.privacy.laws import AnswerLaw, Channel
from sottovoce.privacy.sampler import ByteStream
from sottovoce.progress import Progress

Cells = NDArray[np.int64]
_LARGEST_CELL = 2**31


@dataclass(frozen=True)
class AnswerDraws(SampledOutputs):
    """Reported cells, releases × answers × cells, for each of the two inputs."""

    value_rule = "the numbers of the reported cells, separated by spaces"

    @classmethod
    def _value(cls, text: str) -> list[int]:
        cells = [int(cell) for cell in text.split()]
        if any(abs(cell) > _LARGEST_CELL for cell in cells):
            raise ValueError("a cell is the number of a choice")
        return cells

    @classmethod
    def _array(cls, releases: Sequence[Sequence[Any]], readings: int) -> Cells:
        sizes = sorted({len(cells) for release in releases for cells in release})
        if len(sizes) > 1:
            raise BadParameter(
                f"answers of {sizes[0]} and of {sizes[-1]} cells: a law reports sets of one size; correct the sampler"
            )
        return np.array([[list(cells) for cells in release] for release in releases], np.int64)


@dataclass(frozen=True)
class AnswerSetting(Neighbours[AnswerLaw]):
    """The two inputs: ``readings`` answers out of ``choices``, all the first cell except the first answer of one
    input.
    """

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
        answers = f"{self.readings} answer{'s' * (self.readings != 1)} out of {self.choices} choices"
        return f"Two inputs of {answers}, whose first answers differ"

    def guarantee(self, law: AnswerLaw) -> AnswerGuarantee:
        return law.guarantee(self.choices, self.readings)

    def device(self, law: AnswerLaw, stream: ByteStream | None = None) -> Sampler:
        stream = stream or ByteStream()
        return lambda answers: devices.reported_cells(law, [(cell, self.choices) for cell in answers], stream)

    def draw(self, sampler: Sampler, samples: int, progress: Progress[int, int] | None = None) -> AnswerDraws:
        return AnswerDraws.of(sampler, self, samples, progress)

    def evidence(self, draws: AnswerDraws, law: AnswerLaw, delta: float) -> Evidence:
        halves = [[_events(side) for side in draws.half(part)] for part in (0, 1)]
        name, favours = max(
            ((name, favours) for name in halves[0][0] for favours in (0, 1)),
            key=lambda event: _bound([halves[0][side][event[0]] for side in (0, 1)], event[1], delta),
        )
        found = _bound([halves[1][side][name] for side in (0, 1)], favours, delta)
        channel = law.channel(self.choices)
        moves = [np.moveaxis(_moves(side, truths, self.choices), 2, 0)
                 for side, truths in zip(draws.sides, self.inputs(), strict=True)]  # fmt: skip
        checks = list(_checks(draws, law, channel, [(move == 0).any(axis=0) for move in moves], moves))
        return Evidence(found, name, checks)


def _events(outputs: Cells) -> dict[str, NDArray[np.bool_]]:
    """Sets of outputs: the first answer's report, alone and together with how many others report the first cell."""
    first, second = ((outputs[:, 0] == cell).any(axis=1) for cell in (0, 1))
    alone = {
        "answer 1 names the first cell, not the second": first & ~second,
        "answer 1 names the second cell, not the first": second & ~first,
    }
    others = (outputs[:, 1:] == 0).any(axis=2).sum(axis=1)
    together = {
        f"{name}, and {least} or more others name the first": named & (others >= least)
        for name, named in alone.items()
        for least in range(1, outputs.shape[1])
    }
    return {**alone, **together}


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
    yield Check(
        "each answer is drawn independently", smallest(_alike(kept[:, a], kept[:, b], channel) for a, b in pairs)
    )
    both = min(map(len, hits))
    consecutive = [(hit[0 : len(hit) // 2 * 2 : 2], hit[1 : len(hit) // 2 * 2 : 2]) for hit in hits]
    yield Check(
        "each release is drawn independently",
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
    """How often the truth is reported in all answers together, and how often each cell is in each answer."""
    if not law.noised_together:
        yield two_sided(int(kept.sum()), kept.size, channel.hit)
    releases = moves.shape[1]
    for answer in range(moves.shape[2]):
        counts = np.bincount(moves[:, :, answer].ravel(), minlength=channel.cells)
        for move, count in enumerate(counts.tolist()):
            yield two_sided(min(count, releases), releases, channel.hit if move == 0 else channel.miss)


def _alike(one: NDArray[np.bool_], other: NDArray[np.bool_], channel: Channel) -> float:
    return two_sided(int((one == other).sum()), len(one), channel.hit**2 + (1 - channel.hit) ** 2)
