"""The manifest: all that a campaign asks and promises, in one document whose hash is in the invitation link.

A device consents to these bytes. Whatever is not in them binds nobody.
"""

import builtins
import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import NoiseLaw, parse_noise_law
from sottovoce.protocol.canonical import canonical_bytes, canonical_decimal, first_repeated, parse_json, sha256_of
from sottovoce.protocol.problems import Problem

MOST_TASKS = 10_000
MOST_GRIDS = 100  # of a new campaign, each with a promise of its own
# A reading and its noise, in grid steps, stay far inside 63 bits, and a reading inside what a double counts exactly.
_MOST_STEPS = 2**53
_WIDEST_NOISE = 2**50
_FIRST_YEAR = 1000  # earlier years have no four-digit form that every parser accepts


def _printable(text: Any) -> Any:
    if isinstance(text, str) and (not text.replace("\n", "").isprintable() or text != text.strip()):
        raise ValueError("must be printable text without spaces around it")
    return text


def _one_line(text: Any) -> Any:
    if isinstance(text, str) and "\n" in text:
        raise ValueError("must be one line")
    return _printable(text)


def _law_text(text: Any) -> Any:
    return str(parse_noise_law(text)) if isinstance(text, str) else text


def _moment(moment: Any) -> Any:
    """A deadline in UTC, to the second."""
    if moment is None:
        return None
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        raise ValueError("must be a date and time with its zone, such as 2030-01-31T12:00:00Z")
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        moment = moment.replace(year=1, tzinfo=UTC)  # at one of the ends, which are both too far away
    if moment.year < _FIRST_YEAR:
        raise ValueError(f"must lie in the years {_FIRST_YEAR} to 9999")
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


Decimal = Annotated[str, BeforeValidator(canonical_decimal)]
Line = Annotated[str, BeforeValidator(_one_line)]
Identifier = Annotated[Line, StringConstraints(min_length=1, max_length=100)]


class Document(BaseModel):
    """A document of the protocol: immutable, no unknown fields, no type conversion."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Task(Document):
    """One thing to measure: its public range, to which devices clip, and its grid, to which they round."""

    id: Identifier
    title: Annotated[Line, StringConstraints(max_length=200)] = ""
    unit: Annotated[Line, StringConstraints(max_length=40)] = ""
    low: Decimal
    high: Decimal
    grid: Decimal

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        low, high, grid = Fraction(self.low), Fraction(self.high), Fraction(self.grid)
        if grid <= 0:
            raise ValueError(f"grid {self.grid} of task {self.id!r} must be positive")
        if low >= high:
            raise ValueError(
                f"range {self.low} to {self.high} of task {self.id!r} must have its low end below its high"
            )
        if grid > high - low:
            raise ValueError(f"grid {self.grid} of task {self.id!r} must not be wider than the range")
        if max(abs(low), abs(high)) / grid > _MOST_STEPS:
            raise ValueError(f"grid {self.grid} of task {self.id!r} is too fine for its range: over 2^53 steps")
        return self


class Manifest(Document):
    """A campaign as participants see it.

    Made from loose parts, it writes decimals, noise and deadline canonically; `parse` accepts only canonical bytes.
    """

    format: Literal["sottovoce-manifest/1"] = "sottovoce-manifest/1"
    campaign: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    title: Annotated[Line, StringConstraints(min_length=1, max_length=200)]
    asked_by: Annotated[Line, StringConstraints(min_length=1, max_length=200)]
    purpose: Annotated[str, BeforeValidator(_printable), StringConstraints(max_length=2000)] = ""
    tasks: Annotated[tuple[Task, ...], Field(fail_fast=True, min_length=1, max_length=MOST_TASKS, strict=False)]
    noise: Annotated[str, BeforeValidator(_law_text)]
    distance: Decimal
    unit: Literal["reading", "participant"] = "reading"
    readings: Annotated[int, Field(ge=1, le=MOST_TASKS)]
    deadline: Annotated[str | None, BeforeValidator(_moment)] = None
    version: Annotated[int, Field(ge=1, le=10**9)] = 1

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        twice = first_repeated(task.id for task in self.tasks)
        if twice is not None:
            raise ValueError(f"task {twice!r} must appear once")
        if Fraction(self.distance) <= 0:
            raise ValueError(f"distance {self.distance} must be positive")
        if not all(self._deviation / float(grid) <= _WIDEST_NOISE for grid in self.grids):
            raise ValueError(f"noise {self.noise} is too wide for the grid: over 2^50 steps")
        if not self.law.takes_grids(self.unit, len(self.grids)):
            raise ValueError(
                f"tasks must have one grid, not {len(self.grids)}: under {self.noise} at the level of a {self.unit}, "
                "readings are noised or judged together"
            )
        return self

    @cached_property
    def task_of(self) -> dict[str, Task]:
        """Tasks by id."""
        return {task.id: task for task in self.tasks}

    @cached_property
    def law(self) -> NoiseLaw:
        """The noise law."""
        return parse_noise_law(self.noise)

    @property
    def _deviation(self) -> float:
        return math.sqrt(self.law.mean_variance)

    @property
    def grids(self) -> set[str]:
        """The different grids of the tasks."""
        return {task.grid for task in self.tasks}

    @property
    def most_readings(self) -> int:
        """How many readings a participant can give: as many as allowed, each task once."""
        return min(self.readings, len(self.tasks))

    @property
    def moved_readings(self) -> int:
        """How many readings of a participant may be different, for the promise to hold."""
        return self.most_readings if self.unit == "participant" else 1

    @property
    def readings_come_at_once(self) -> bool:
        """Whether a participant's readings share random draws, so that noise must be added to all of them at once."""
        return self.law.noised_together

    @property
    def deadline_moment(self) -> datetime | None:
        """The deadline as a time."""
        return datetime.fromisoformat(self.deadline) if self.deadline else None

    def bytes(self) -> bytes:
        """The canonical bytes."""
        return canonical_bytes(self.model_dump())

    @cached_property
    def sha256(self) -> str:
        """The hash of the canonical bytes."""
        return sha256_of(self.bytes())

    @classmethod
    def parse(cls, data: builtins.bytes) -> Self:
        """Read canonical bytes; refuse any other spelling, since its hash would be another."""
        manifest = cls.of(parse_json(data))
        if manifest.bytes() != data:
            raise Problem("bad_manifest", "manifest: it must be in canonical JSON, with every field")
        return manifest

    @classmethod
    def of(cls, content: Any) -> Self:
        """Make a manifest from loose parts, such as an operator's request; mistakes are problems."""
        with reported_as("bad_manifest"):
            return cls.model_validate(content)


@contextmanager
def reported_as(code: str) -> Iterator[None]:
    """The first validation error, as a problem."""
    try:
        yield
    except ValidationError as mistake:
        raise _problem(code, mistake) from None
    except BadParameter as mistake:
        raise Problem(code, str(mistake)) from None


def _problem(code: str, mistake: ValidationError) -> Problem:
    first = mistake.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "document"
    # The text of a whole document would take long to produce, and nobody would read it.
    shown = "" if isinstance(first["input"], dict | list) else repr(first["input"])
    value = f" {shown}" if shown and len(shown) <= 60 else ""
    return Problem(code, f"{place}{value}: {first['msg'].removeprefix('Value error, ')}")
