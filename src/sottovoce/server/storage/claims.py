"""From the readings table straight into arrays."""

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
from sottovoce.protocol.manifest import Manifest, NumberTask
from sottovoce.protocol.problems import Problem
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
        """In the units of the tasks. Multiplied and divided by whole numbers, so that 3 steps of 0.1 are 0.3."""
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


def load_sets(connection: Connection, campaign_key: int) -> Sets:
    """The sets of choices that participants reported, where there are such sets."""
    query = select(details.c.participant_key, details.c.place, details.c.content).where(
        details.c.campaign_key == campaign_key
    )
    return {(row[0], row[1]): json.loads(row[2]) for row in connection.execute(query)}


def stream_claims(database: Engine, campaign_id: str) -> Iterator[Chunk]:
    """All claims of a campaign as the database has them, in the order of participants, in batches."""
    with readable(database.url), database.connect() as connection:
        campaign = published_campaign(connection, campaign_id)
        if set(Manifest.parse(campaign.manifest).laws) != {"number"}:
            raise Problem(
                "bad_request", f"campaign {campaign_id!r}: it has choices; export its claims, and read the file"
            )
        manifest, labels = Manifest.parse(campaign.manifest), labels_of(connection, campaign.key)
        tasks = pa.array([task.id for task in manifest.tasks], pa.string())
        done = 0
        for rows in _in_parts(connection, campaign.key):
            part = Readings(*_columns(rows))
            keys, ids = np.unique(part.participants, return_inverse=True)
            users = pa.array([labels[key] for key in keys.tolist()], pa.string()).take(pa.array(ids))
            numbers = np.arange(done, done + len(part)) + 1
            yield Chunk(
                users,
                tasks.take(pa.array(part.places)),
                part.values(manifest),
                numbers,
                noise=str(manifest.laws["number"]),
            )
            done += len(part)


def _in_parts(
    connection: Connection, campaign_key: int, *conditions: ColumnElement[bool]
) -> Iterator[Sequence[Iterable[int]]]:
    """Rows of readings as the database has them, in batches."""
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
    """The secrets of participants from which the names of their claims are made."""
    query = select(participants.c.key, participants.c.label).where(participants.c.campaign_key == campaign_key)
    return {row.key: row.label for row in connection.execute(query)}
