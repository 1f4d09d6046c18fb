"""Tasks that are answered by comparison: what the answers show, and which cuts to publish next.

Everything follows from the stored answers. What is kept in memory between two steps only saves time: after a restart,
or in another process, the figures are the same, to the last bit.
"""

import json
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sottovoce.comparisons.board import Board
from sottovoce.comparisons.policy import Cuts, offers, places
from sottovoce.comparisons.posterior import Scale
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.protocol.manifest import Manifest, NumberTask
from sottovoce.server.results import LEVEL, Computation, rounded
from sottovoce.server.storage.offers import CountedAnswers

_GUESSED_SHARE = 50  # the first guess of readings' spread is the range divided by this: too large rather than too small
_BOARDS_KEPT = 4
_TASKS_KEPT = 20_000  # whose windows stay in memory, 20 kB each


@dataclass(frozen=True)
class ComparedFigures:
    """What a step publishes about compared tasks, by place."""

    figures: dict[int, dict[str, Any]]
    offers: dict[int, list[Cuts]]


def compared_tasks(manifest: Manifest) -> dict[int, NumberTask]:
    """The tasks that are answered by comparison, by place."""
    return {
        place: task
        for place, task in enumerate(manifest.tasks)
        if isinstance(task, NumberTask) and manifest.part_of(task).cells is not None
    }


def first_offers(manifest: Manifest) -> dict[int, list[Cuts]]:
    """The cuts before there is any answer."""
    board = _board(manifest)
    return {place: _offers(board, manifest, place) for place in compared_tasks(manifest)}


class BoardCache:
    """The boards of the campaigns that were evaluated most recently."""

    def __init__(self) -> None:
        self._boards: OrderedDict[int, Board] = OrderedDict()

    def evaluate(
        self, campaign_key: int, computation: Computation, answers: Iterable[CountedAnswers]
    ) -> ComparedFigures:
        """Figures and new cuts of the tasks that take a step."""
        manifest, step = computation.manifest, computation.step
        last: dict[int, int] = {}  # the last cohort in a task's figures
        for place, cohort in zip(step.included.places.tolist(), step.included.cohorts.tolist(), strict=True):
            last[place] = max(cohort, last.get(place, 0))
        counts: dict[int, dict[tuple[tuple[float, ...], int], int]] = {}
        tasks = compared_tasks(manifest)
        for answer in answers:
            if answer.place in tasks and answer.cohort <= last.get(answer.place, 0):
                where = places(json.loads(answer.cuts), Fraction(tasks[answer.place].grid))
                of_task = counts.setdefault(answer.place, {})
                of_task[where, answer.level] = of_task.get((where, answer.level), 0) + answer.people
        board = self._boards.pop(campaign_key, None) or _board(manifest)
        for place in tasks:
            board.replace(str(place), counts.get(place, {}))
        stepping = [place for place in tasks if step.changed[place]]
        compared = ComparedFigures(
            {place: _figures(board, place) for place in stepping if counts.get(place)},
            {place: _offers(board, manifest, place) for place in stepping},
        )
        if len(tasks) > _TASKS_KEPT:
            board.forget(map(str, tasks))
        self._boards[campaign_key] = board
        if len(self._boards) > _BOARDS_KEPT:
            self._boards.popitem(last=False)
        return compared


def with_figures(content: dict[str, Any], compared: ComparedFigures, manifest: Manifest) -> dict[str, Any]:
    """Results with the figures of compared tasks. Tasks that take no step keep the figures they had."""
    rows = list(content["results"])
    for place, figures in compared.figures.items():
        task = compared_tasks(manifest)[place]
        if rows[place]["claims"]:
            rows[place] = rows[place] | rounded(rows[place] | figures, float(task.grid))
    return content | {"results": rows, "converged": True if content["converged"] is None else content["converged"]}


def _board(manifest: Manifest) -> Board:
    return Board({str(place): _scale(manifest, task) for place, task in compared_tasks(manifest).items()})


def _scale(manifest: Manifest, task: NumberTask) -> Scale:
    part = manifest.part_of(task)
    assert part.cells is not None
    low, high = float(task.low), float(task.high)
    floor = parse_answer_law(part.noise).channel(part.cells).miss
    return Scale(low, high, part.cells, floor, (high - low) / _GUESSED_SHARE)


def _figures(board: Board, place: int) -> dict[str, Any]:
    posterior = board.posterior(str(place))
    low, high = posterior.interval(LEVEL)
    return {"truth": posterior.median, "low": low, "high": high}


def _offers(board: Board, manifest: Manifest, place: int) -> list[Cuts]:
    task = compared_tasks(manifest)[place]
    levels = board.tasks[str(place)].scale.levels
    return offers(board.posterior(str(place)), levels, Fraction(task.grid))
