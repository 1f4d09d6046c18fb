"""The manifest: everything that a campaign asks and promises, in one document whose hash is in the invitation link.

Participants consent to these bytes, and nothing else is binding. Each format is a model in a file of its own; the
interface that the rest of the project uses is defined here and is the same for all formats.
"""

import builtins
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from sottovoce.privacy.laws import Kind, Law, parse_law
from sottovoce.protocol.canonical import MOST_BYTES, canonical_bytes, first_repeated, parse_json, sha256_of
from sottovoce.protocol.fields import (
    Decimal,
    Document,
    Identifier,
    Moment,
    Text,
    field_error,
    in_language,
    reported_as,
)
from sottovoce.protocol.parts import Part
from sottovoce.protocol.problems import Problem
from sottovoce.protocol.task_fields import TaskColumn

MOST_TASKS = 10_000
MOST_CHOICES = 100  # of one task
MOST_GRIDS = 100  # of a new campaign, each with a promise of its own
_MOST_STEPS = 2**53  # up to here, a double counts the steps of a reading exactly


class Task(Document):
    """One thing to find out."""

    id: Annotated[Identifier, TaskColumn("Id")]
    title: Text
    if TYPE_CHECKING:

        @property
        def kind(self) -> Kind: ...  # a field in formats that have several kinds


class NumberTask(Task):
    """A number to measure: its public range, to which devices clip, and its grid, to which they round."""

    unit: Text
    low: Annotated[
        Decimal,
        TaskColumn("Lowest", "lowest value", headings=("min", "minimum", "from"), example="0", repeated=True),
    ]
    high: Annotated[
        Decimal,
        TaskColumn("Highest", "highest value", headings=("max", "maximum", "to"), example="100", repeated=True),
    ]
    grid: Annotated[
        Decimal, TaskColumn("Step", "step", headings=("resolution", "precision"), example="0.1", repeated=True)
    ]

    @model_validator(mode="after")
    def _check_range(self) -> Self:
        low, high, grid = Fraction(self.low), Fraction(self.high), Fraction(self.grid)
        if grid <= 0:
            raise field_error("grid", f"grid {self.grid} of task {self.id!r} must be positive", "it must be positive")
        if low >= high:
            raise field_error(
                "high",
                f"range {self.low} to {self.high} of task {self.id!r} must have its low end below its high end",
                f"it must be above the lowest value, {self.low}",
            )
        if grid > high - low:
            raise field_error(
                "grid",
                f"grid {self.grid} of task {self.id!r} must not be wider than the range",
                f"it must not be wider than the range, {self.low} to {self.high}",
            )
        if max(abs(low), abs(high)) / grid > _MOST_STEPS:
            raise field_error(
                "grid",
                f"grid {self.grid} of task {self.id!r} is too fine for values this large: over 2^53 steps from 0",
                "it is too fine for values this large: over 2^53 steps from 0",
            )
        return self


class ChoiceTask(Task):
    """A question with choices, of which a participant picks one."""

    choices: tuple[Text, ...]


class Manifest(Document):
    """A campaign as participants see it.

    `of` brings decimals, noise and deadline into their canonical form; `parse` accepts only canonical bytes.
    """

    format: str
    campaign: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    title: Text
    asked_by: Text
    purpose: Text
    tasks: Sequence[Task]
    noise: str | dict[Kind, str]
    unit: Literal["reading", "participant"] = "reading"
    readings: Annotated[int, Field(ge=1, le=MOST_TASKS)]
    deadline: Moment = None
    version: Annotated[int, Field(ge=1, le=10**9)] = 1

    # What differs between the formats

    @property
    @abstractmethod
    def most_readings(self) -> int:
        """How many tasks a participant answers at most."""

    @property
    def most_answers(self) -> int:
        """How many readings a server accepts from one participant; there may be fewer tasks."""
        return self.readings

    @abstractmethod
    def part_of(self, task: Task) -> Part:
        """How a task is protected."""

    def is_compared(self, task: Task) -> bool:
        """Whether a number is compared with cuts, so that its readings are levels."""
        return task.kind == "number" and self.part_of(task).cells is not None

    def check_comparisons(self, fix: str = "tell the operator") -> None:
        """Refuse comparisons that would report several levels: the manifest is valid, but nobody can take part."""
        if any(self.is_compared(task) and self.part_of(task).cells_reported > 1 for task in self.tasks):
            rule = "a comparison reports one level, so its law has no SIZE"
            raise Problem("bad_manifest", f"noise {self.laws['number']}: {rule}", fix=fix)

    def words(self, text: Text, language: str = "") -> str:
        """A text of this campaign, in this language if there is one, otherwise in the campaign's own."""
        return in_language(text, language, self.main_language)

    @property
    def main_language(self) -> str:
        """The language of texts that are not given in several."""
        return ""

    # What follows from the fields

    @cached_property
    def task_of(self) -> dict[str, Task]:
        """Tasks by id."""
        return {task.id: task for task in self.tasks}

    @cached_property
    def place_of(self) -> dict[str, int]:
        """Places of the tasks in the manifest, by id."""
        return {task.id: place for place, task in enumerate(self.tasks)}

    @cached_property
    def laws(self) -> dict[Kind, Law]:
        """The noise law of each kind of task in the campaign."""
        kinds = sorted({task.kind for task in self.tasks}, reverse=True)
        return {kind: parse_law(self.noise if isinstance(self.noise, str) else self.noise[kind]) for kind in kinds}

    @cached_property
    def parts(self) -> Mapping[Part, int]:
        """The parts of the campaign, each with its number of tasks."""
        return Counter(map(self.part_of, self.tasks))

    @property
    def moved_readings(self) -> int:
        """How many of a participant's readings may differ for the promise still to hold."""
        return self.most_readings if self.unit == "participant" else 1

    @property
    def readings_come_at_once(self) -> bool:
        """Whether a participant's readings share random draws, so that noise must be added to all of them at once."""
        return any(law.noised_together for law in self.laws.values())

    @property
    def device_draws(self) -> bool:
        """Whether each device chooses at random which of the tasks it answers."""
        return False

    @property
    def results_are_public(self) -> bool:
        """Whether everybody may see the results."""
        return True

    @property
    def retention_days(self) -> int | None:
        """How many days after closing the readings are erased at the latest; None if the manifest does not say."""
        return None

    @property
    def plan_sha256(self) -> str | None:
        """The hash of the picture of the place, if there is one."""
        return None

    @property
    def logo_sha256(self) -> str | None:
        """The hash of the logo, if there is one."""
        return None

    @property
    def contact_words(self) -> Text:
        """Where participants can ask questions; empty if the manifest does not say."""
        return ""

    def check_tasks(self) -> None:
        twice = first_repeated(task.id for task in self.tasks)
        if twice is not None:
            raise ValueError(f"task {twice!r} must appear only once")

    # Documents

    def content(self) -> dict[str, Any]:
        """The fields and their values. What does not apply is left out."""
        return self.model_dump(exclude_none=True)

    def bytes(self) -> bytes:
        """The canonical bytes."""
        return canonical_bytes(self.content())

    @cached_property
    def sha256(self) -> str:
        """The hash of the canonical bytes."""
        return sha256_of(self.bytes())

    @classmethod
    def parse(cls, data: builtins.bytes) -> "Manifest":
        """Read canonical bytes; refuse any other spelling, since its hash would differ."""
        manifest = cls._checked(parse_json(data))
        if manifest.bytes() != data:
            raise Problem("bad_manifest", "manifest: it must be in canonical JSON, with every field")
        return manifest

    @classmethod
    def of(cls, content: Any) -> "Manifest":
        """Make a manifest from its fields, as an operator's request gives them; mistakes raise a `Problem`.

        Unless a format is named, it is the first one.
        """
        manifest = cls._checked(content)
        size = len(manifest.bytes())
        if size > MOST_BYTES:
            raise Problem(
                "bad_manifest",
                f"manifest of {size:,} bytes: devices accept at most {MOST_BYTES:,}",
                fix="shorten its texts, or divide the tasks among several campaigns",
            )
        return manifest

    @classmethod
    def _checked(cls, content: Any) -> "Manifest":
        with reported_as("bad_manifest"):
            return _model(content).model_validate(content)

    @classmethod
    def trusted(cls, content: dict[str, Any]) -> "Manifest":
        """A manifest from content that was checked when it was stored, which is faster with thousands of tasks."""
        model = _model(content)
        return model.model_construct(**content | {"tasks": [model.task_model(task) for task in content["tasks"]]})

    @classmethod
    @abstractmethod
    def task_model(cls, content: dict[str, Any]) -> Task:
        """A task from content that was checked."""


def _model(content: Any) -> type[Manifest]:
    from sottovoce.protocol.format_1 import FORMAT as FIRST
    from sottovoce.protocol.format_1 import FirstManifest
    from sottovoce.protocol.format_2 import FORMAT as SECOND
    from sottovoce.protocol.format_2 import SecondManifest

    named = content.get("format", FIRST) if isinstance(content, dict) else FIRST
    if named not in (FIRST, SECOND):
        raise Problem("bad_manifest", f"format {str(named)[:40]!r}: it must be {FIRST!r} or {SECOND!r}")
    return FirstManifest if named == FIRST else SecondManifest
