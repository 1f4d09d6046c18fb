"""From the readings table straight into arrays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlalchemy import Connection, Engine, select

from sottovoce.claims.streaming import Chunk
from sottovoce.protocol.manifest import Manifest
from sottovoce.server.storage.campaigns import published_campaign
from sottovoce.server.storage.engine import readable
from sottovoce.server.storage.tables import participants, readings

_ROWS_AT_ONCE = 20_000
_PARTICIPANTS_AT_ONCE = 500
_AS_TEXT = (
    "SELECT group_concat(participant_key || ' ' || place || ' ' || value || ' ' || cohort, ' ') FROM ("
    "SELECT participant_key, place, value, cohort FROM readings "
    "WHERE campaign_key = ? AND participant_key BETWEEN ? AND ? AND cohort <= ? ORDER BY participant_key, place)"
)
# Binary COPY: a count of fields, then length and content of each, all big-endian.
_COPY_HEADER, _COPY_TRAILER = 19, 2
_COPY_ROW = np.dtype(
    [("fields", ">i2"), ("a", ">i4"), ("participant", ">i8"), ("b", ">i4"), ("place", ">i4"), ("c", ">i4"),
     ("value", ">i8"), ("d", ">i4"), ("cohort", ">i8")]
)  # fmt: skip


@dataclass(frozen=True)
class Readings:
    """Readings of a campaign: participant, place of the task, grid steps, and with whom they came in."""

    participants: NDArray[np.int64]
    places: NDArray[np.int64]
    steps: NDArray[np.int64]
    cohorts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.steps)

    def where(self, wanted: NDArray[np.bool_]) -> "Readings":
        return Readings(self.participants[wanted], self.places[wanted], self.steps[wanted], self.cohorts[wanted])

    def values(self, manifest: Manifest) -> NDArray[np.float64]:
        """In the units of the tasks. Multiplied and divided by whole numbers, so that 3 steps of 0.1 are 0.3."""
        grids = [Fraction(task.grid) for task in manifest.tasks]
        above = np.array([float(grid.numerator) for grid in grids])
        below = np.array([float(grid.denominator) for grid in grids])
        return np.asarray(self.steps.astype(np.float64) * above[self.places] / below[self.places])


_NONE = np.empty(0, np.int64)
NO_READINGS = Readings(_NONE, _NONE, _NONE, _NONE)


def load_readings(connection: Connection, campaign_key: int, cohort: int) -> Readings:
    """The readings of a campaign up to a cohort, in the order of participants and tasks."""
    if connection.dialect.name == "postgresql":
        return _copy(connection, campaign_key, cohort)
    return _gathered(connection, campaign_key, cohort)


def stream_claims(database: Engine, campaign_id: str) -> Iterator[Chunk]:
    """All claims of a campaign as the database has them, in the order of participants, some at a time."""
    with readable(database.url), database.connect() as connection:
        campaign = published_campaign(connection, campaign_id)
        manifest, labels = Manifest.parse(campaign.manifest), labels_of(connection, campaign.key)
        tasks = pa.array([task.id for task in manifest.tasks], pa.string())
        found = (
            select(readings.c.participant_key, readings.c.place, readings.c.value, readings.c.cohort)
            .where(readings.c.campaign_key == campaign.key)
            .order_by(readings.c.participant_key, readings.c.place)
            .execution_options(yield_per=_ROWS_AT_ONCE)
        )
        done = 0
        for rows in connection.execute(found).partitions():
            part = Readings(*_columns(rows))
            keys, ids = np.unique(part.participants, return_inverse=True)
            users = pa.array([labels[key] for key in keys.tolist()], pa.string()).take(pa.array(ids))
            numbers = np.arange(done, done + len(part)) + 1
            yield Chunk(users, tasks.take(pa.array(part.places)), part.values(manifest), numbers, noise=manifest.noise)
            done += len(part)


def _columns(rows: Sequence[Iterable[int]]) -> NDArray[np.int64]:
    return np.fromiter(chain.from_iterable(rows), np.int64, 4 * len(rows)).reshape(-1, 4).T


def _gathered(connection: Connection, campaign_key: int, cohort: int) -> Readings:
    """From SQLite, which writes the numbers of many participants into one text.

    As rows, each would need the interpreter's lock, and requests would wait for results to be computed.
    """
    keys = select(participants.c.key).where(participants.c.campaign_key == campaign_key).order_by(participants.c.key)
    everybody = connection.execute(keys).scalars().all()
    parts = [_NONE]
    for place in range(0, len(everybody), _PARTICIPANTS_AT_ONCE):
        some = everybody[place : place + _PARTICIPANTS_AT_ONCE]
        text = connection.exec_driver_sql(_AS_TEXT, (campaign_key, some[0], some[-1], cohort)).scalar()
        if text is not None:
            parts.append(np.fromstring(text, np.int64, sep=" "))
    return Readings(*np.concatenate(parts).reshape(-1, 4).T)


def _copy(connection: Connection, campaign_key: int, cohort: int) -> Readings:
    driver: Any = connection.connection.driver_connection
    statement = (
        "COPY (SELECT participant_key, place, value, cohort FROM readings WHERE campaign_key = %s AND cohort <= %s"
        " ORDER BY participant_key, place) TO STDOUT (FORMAT binary)"
    )
    with driver.cursor() as cursor, cursor.copy(statement, (campaign_key, cohort)) as copy:
        content = b"".join(copy)
    table = np.frombuffer(content[_COPY_HEADER:-_COPY_TRAILER], _COPY_ROW)
    return Readings(*(table[name].astype(np.int64) for name in ("participant", "place", "value", "cohort")))


def labels_of(connection: Connection, campaign_key: int) -> dict[int, str]:
    """The secrets of participants from which the names of their claims are made."""
    found = select(participants.c.key, participants.c.label).where(participants.c.campaign_key == campaign_key)
    return {row.key: row.label for row in connection.execute(found)}
