"""The columns of a result. Each is described only here; frames, files, the API and the pages follow from this.

So a new column is one more entry of `NUMBERS` or, for choices, of `CHOICES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sottovoce.claims.labels import label_column

if TYPE_CHECKING:
    from sottovoce.discovery.base import TruthDiscovery

Floats = NDArray[np.float64]


class Place(Flag):
    """Where a column appears."""

    FRAME = auto()  # `fit.to_frame()`
    COMMAND = auto()  # `sottovoce discover`: its JSON, its files and its table; the analyst's page
    API = auto()  # results of a campaign as JSON
    FILE = auto()  # results of a campaign as CSV, Parquet or JSON Lines
    PAGE = auto()  # results of a campaign on a page
    EVERYWHERE = FRAME | COMMAND | API | FILE | PAGE


@dataclass(frozen=True)
class Column:
    """One figure or answer for each object."""

    name: str
    type: pa.DataType
    description: str
    values: Callable[[Any], Any]  # from `Estimates`, or from a `Result` if the column is not in frames
    appears: Place = Place.EVERYWHERE
    heading: str = ""  # in tables for people; by default the name
    measured: bool = False  # in the unit of the claims, so the width of the interval decides how many digits are shown
    iterated: bool = False  # depends slightly on where the iteration started
    decimals: int | None = None  # that a campaign publishes
    unknown: Any = None  # published while there are too few claims

    @property
    def title(self) -> str:
        return self.heading or self.name

    @property
    def is_label(self) -> bool:
        """Whether entries are answers, not figures."""
        return bool(pa.types.is_string(self.type))

    @property
    def is_nested(self) -> bool:
        """Whether an entry holds several figures, which tables for people leave out."""
        return bool(pa.types.is_nested(self.type))


Schema = dict[str, Column]


def _schema(*columns: Column) -> Schema:
    return {column.name: column for column in columns}


_BESIDE = Place.COMMAND | Place.API | Place.PAGE
NUMBERS = _schema(
    Column(
        "truth", pa.float64(), "the method's estimate", lambda result: result.fit.truths_,
        measured=True, iterated=True,
    ),
    Column(
        "low", pa.float64(), "low end of the interval", lambda result: result.interval[0],
        measured=True, iterated=True,
    ),
    Column(
        "high", pa.float64(), "high end of the interval", lambda result: result.interval[1],
        measured=True, iterated=True,
    ),
    Column("claims", pa.int64(), "number of claims", lambda result: result.fit.claims_, unknown=0),
    Column(
        "effective_users", pa.float64(), "equivalent number of equally weighted users",
        lambda result: result.fit.effective_users_, Place.FRAME | Place.COMMAND | Place.API,
        heading="effective", iterated=True, decimals=1,
    ),
    Column("mean", pa.float64(), "the plain mean, for comparison", lambda result: result.means, _BESIDE, measured=True),
    Column(
        "median", pa.float64(), "the plain median, for comparison", lambda result: result.medians, _BESIDE,
        measured=True,
    ),
)  # fmt: skip


CHOICES = _schema(
    Column("truth", pa.string(), "the most probable answer", lambda result: result.fit.truths_, iterated=True),
    Column(
        "chance", pa.float64(), "the probability that this answer is right", lambda result: result.chance,
        iterated=True, decimals=3,
    ),
    Column(
        "runner_up", pa.string(), "the second most probable answer", lambda result: result.runner_up,
        Place.COMMAND, heading="runner-up", iterated=True,
    ),
    Column(
        "majority", pa.string(), "the answer that most users gave, for comparison", lambda result: result.majority,
        _BESIDE,
    ),
    Column("claims", pa.int64(), "number of claims", lambda result: result.fit.claims_, unknown=0),
    Column(
        "effective_users", pa.float64(), "equivalent number of equally weighted users",
        lambda result: result.fit.effective_users_, Place.FRAME | Place.COMMAND | Place.API,
        heading="effective", iterated=True, decimals=1,
    ),
    Column(
        "chances", pa.map_(pa.string(), pa.float64()), "the probability of each answer",
        lambda result: result.chances, Place.COMMAND | Place.API | Place.PAGE, iterated=True,
    ),
)  # fmt: skip
SCHEMAS: dict[str, Schema] = {"number": NUMBERS, "choice": CHOICES}  # by the kind of claims


def columns_in(place: Place, schema: Schema = NUMBERS) -> list[Column]:
    """The columns that appear in a place."""
    return [column for column in schema.values() if place in column.appears]


def for_people(columns: list[Column]) -> list[Column]:
    """The columns in the order of tables for people: measured values come before counts."""
    return sorted(columns, key=lambda column: not column.measured)


@dataclass(frozen=True)
class Estimates:
    """The truths of a fit with their intervals at a level."""

    fit: "TruthDiscovery"
    level: float = 0.95

    @cached_property
    def interval(self) -> tuple[Floats, Floats]:
        return self.fit.intervals(self.level)

    @cached_property
    def chance(self) -> Floats:
        """The chance of each truth, as shown to people."""
        return self.fit.shown_chances()[0]

    @cached_property
    def runner_up(self) -> NDArray[Any]:
        return self.fit.shown_chances()[1]

    @cached_property
    def chances(self) -> NDArray[Any]:
        """For each object, its answers and their chances."""
        chances = np.empty(len(self.fit.truths_), object)
        chances[:] = self.fit.chances_by_answer()
        return chances

    @property
    def schema(self) -> Schema:
        return SCHEMAS[self.fit.kind_]

    def columns(self, place: Place) -> dict[str, Any]:
        """The columns that appear in a place: by name, an array with an entry per object."""
        return {column.name: column.values(self) for column in columns_in(place, self.schema)}

    def rows(self, place: Place) -> list[dict[str, Any]]:
        """One row per object, as plain Python values, without its label."""
        columns = self.columns(place)
        entries = zip(*(column.tolist() for column in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in entries]

    def table(self, place: Place, objects: slice = slice(None)) -> pa.Table:
        """One row per object, its label first."""
        columns = {
            name: _arrow(values[objects], self.schema[name].type) for name, values in self.columns(place).items()
        }
        return pa.table({"object": label_column(self.fit.objects_[objects]), **columns})


def _arrow(values: NDArray[Any], kind: pa.DataType) -> pa.Array:
    """A column of a table: answers and figures have the type of their values, mappings that of the schema."""
    if pa.types.is_string(kind):
        return label_column(values)
    if pa.types.is_map(kind):
        return pa.array([list(entry.items()) for entry in values], kind)
    return pa.array(values)
