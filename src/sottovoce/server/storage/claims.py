"""Claims, read from the readings table straight into arrays."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Engine, select

from sottovoce.claims.streaming import Chunk
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import Kind
from sottovoce.protocol.manifest import ChoiceTask, Manifest, NumberTask
from sottovoce.server.fast.arrays import gathered
from sottovoce.server.storage.campaigns import published_campaign
from sottovoce.server.storage.engine import readable
from sottovoce.server.storage.tables import details, participants, readings

_ROWS_AT_ONCE = 20_000


@dataclass(frozen=True)
class Readings:
    """Readings of a campaign: participant, place of the task, grid steps, and cohort."""

    participants: NDArray[np.int64]
    places: NDArray[np.int64]
    steps: NDArray[np.int64]
    cohorts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.steps)

    def where(self, mask: NDArray[np.bool_]) -> "Readings":
        return Readings(self.participants[mask], self.places[mask], self.steps[mask], self.cohorts[mask])

    def values(self, manifest: Manifest) -> NDArray[np.float64]:
        """Values in the units of the tasks: multiplied and divided by whole numbers, so that 3 steps of 0.1 are 0.3."""
        grids = [Fraction(task.grid) if isinstance(task, NumberTask) else Fraction(1) for task in manifest.tasks]
        above = np.array([float(grid.numerator) for grid in grids])
        below = np.array([float(grid.denominator) for grid in grids])
        return np.asarray(self.steps.astype(np.float64) * above[self.places] / below[self.places])


Sets = dict[tuple[int, int], list[int]]  # of choices, by participant and place
_NONE = np.empty(0, np.int64)
NO_READINGS = Readings(_NONE, _NONE, _NONE, _NONE)


def load_readings(connection: Connection, campaign_key: int, cohort: int) -> Readings:
    """The readings of a campaign up to a cohort, in the order of participants and tasks."""
    if connection.dialect.name == "sqlite":
        return Readings(*gathered(connection, campaign_key, cohort))
    parts = [_columns(rows) for rows in _in_parts(connection, campaign_key, readings.c.cohort <= cohort)]
    return Readings(*np.concatenate([np.empty((4, 0), np.int64), *parts], axis=1))


def load_sets(connection: Connection, campaign_key: int, between: tuple[int, int] | None = None) -> Sets:
    """The sets of choices that participants reported, where there are such sets; of some participants or of all."""
    query = select(details.c.participant_key, details.c.place, details.c.content).where(
        details.c.campaign_key == campaign_key
    )
    if between is not None:
        query = query.where(details.c.participant_key.between(int(between[0]), int(between[1])))
    return {(row[0], row[1]): json.loads(row[2]) for row in connection.execute(query)}


def stream_claims(database: Engine, campaign_id: str, kind: Kind | None = None) -> Iterator[Chunk]:
    """All claims of a campaign as they are stored, in the order of participants, in batches.

    Where a campaign has both numbers and choices, ``kind`` selects one of them.
    """
    with readable(database.url), database.connect() as connection:
        campaign = published_campaign(connection, campaign_id)
        manifest, labels = Manifest.parse(campaign.manifest), labels_of(connection, campaign.key)
        wanted = _one_kind(manifest, campaign_id, kind)
        places = [place for place, task in enumerate(manifest.tasks) if task.kind == wanted]
        tasks = pa.array([task.id for task in manifest.tasks], pa.string())
        words, numbers_of_choices, law = choice_words(manifest), numbers_of(manifest), manifest.laws[wanted]
        size = options_named(manifest) if wanted == "choice" else 1
        done = 0
        for rows in _in_parts(connection, campaign.key):
            part = Readings(*_columns(rows))
            part = part.where(np.isin(part.places, places))
            if not len(part):
                continue
            keys, ids = np.unique(part.participants, return_inverse=True)
            users = pa.array([labels[key] for key in keys.tolist()], pa.string()).take(pa.array(ids))
            numbers = np.arange(done, done + len(part)) + 1
            values: NDArray[np.float64] | pa.Array = part.values(manifest)
            choices = None
            if wanted == "choice":
                sets = load_sets(connection, campaign.key, between=(keys[0], keys[-1])) if size > 1 else {}
                values = pa.array(chain.from_iterable(answers_in(part, words, sets)), pa.string())
                choices = numbers_of_choices[part.places]
            yield Chunk(users, tasks.take(pa.array(part.places)), values, numbers, 0, str(law), choices, size)
            done += len(part)


def _one_kind(manifest: Manifest, campaign_id: str, kind: Kind | None) -> Kind:
    """The kind of claims to read."""
    kinds = list(manifest.laws)
    if kind is None and len(kinds) > 1:
        raise BadParameter(
            f"campaign {campaign_id!r}: it has numbers and choices, but a pack holds claims of one kind; say which "
            "with kind= (--kind number or --kind choice)",
        )
    wanted = kind or kinds[0]
    if wanted not in kinds:
        raise BadParameter(
            f"kind {wanted!r}: campaign {campaign_id!r} has only {kinds[0]}s; leave the kind out, or give {kinds[0]!r}",
        )
    if wanted == "number" and any(map(manifest.is_compared, manifest.tasks)):
        raise BadParameter(
            f"campaign {campaign_id!r}: its numbers are compared with cuts, but a pack holds values; export its "
            "claims and run sottovoce discover on that file",
        )
    return wanted


def choice_words(manifest: Manifest) -> list[list[str]]:
    """The choices of each task, in the campaign's own language; none for numbers."""
    return [
        [manifest.words(choice) for choice in task.choices] if isinstance(task, ChoiceTask) else []
        for task in manifest.tasks
    ]


def numbers_of(manifest: Manifest) -> NDArray[np.int64]:
    """The number of choices of each task; 0 for numbers."""
    return np.array([len(task.choices) if isinstance(task, ChoiceTask) else 0 for task in manifest.tasks], np.int64)


def options_named(manifest: Manifest) -> int:
    """How many choices one answer names."""
    return max((manifest.part_of(task).cells_reported for task in manifest.tasks if task.kind == "choice"), default=1)


def answers_in(readings: Readings, words: list[list[str]], sets: Sets) -> Iterator[list[str]]:
    """The choices that each reading names: one, or those of its set."""
    rows = zip(readings.participants.tolist(), readings.places.tolist(), readings.steps.tolist(), strict=True)
    for who, place, step in rows:
        yield [words[place][number] for number in sets.get((who, place), (step,))]


def _in_parts(
    connection: Connection, campaign_key: int, *conditions: ColumnElement[bool]
) -> Iterator[Sequence[Iterable[int]]]:
    """Rows of readings as they are stored, in batches."""
    ordered = (
        select(readings.c.participant_key, readings.c.place, readings.c.value, readings.c.cohort)
        .where(readings.c.campaign_key == campaign_key, *conditions)
        .order_by(readings.c.participant_key, readings.c.place)
        .execution_options(yield_per=_ROWS_AT_ONCE)
    )
    return connection.execute(ordered).partitions()


def _columns(rows: Sequence[Iterable[int]]) -> NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(rows), np.int64, 4 * len(rows)).reshape(-1, 4).T


def labels_of(connection: Connection, campaign_key: int) -> dict[int, str]:
    """The random secrets of participants, from which their names in exports are made."""
    query = select(participants.c.key, participants.c.label).where(participants.c.campaign_key == campaign_key)
    return {row.key: row.label for row in connection.execute(query)}
