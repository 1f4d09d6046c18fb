"""The first format of manifests: numbers with one noise law and one distance. It never changes."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from sottovoce.privacy.laws import parse_noise_law
from sottovoce.protocol.fields import Decimal, Line, Printable, law_text
from sottovoce.protocol.manifest import MOST_TASKS, Manifest, NumberTask, Task
from sottovoce.protocol.parts import NoisyNumbers

FORMAT: Final = "sottovoce-manifest/1"


class FirstTask(NumberTask):
    """A number to measure."""

    title: Annotated[Line, StringConstraints(max_length=200)] = ""
    unit: Annotated[Line, StringConstraints(max_length=40)] = ""

    @property
    def kind(self) -> Literal["number"]:
        return "number"


class FirstManifest(Manifest):
    """A campaign that asks for numbers."""

    format: Literal["sottovoce-manifest/1"] = FORMAT
    title: Annotated[Line, StringConstraints(min_length=1, max_length=200)]
    asked_by: Annotated[Line, StringConstraints(min_length=1, max_length=200)]
    purpose: Annotated[Printable, StringConstraints(max_length=2000)] = ""
    tasks: Annotated[tuple[FirstTask, ...], Field(fail_fast=True, min_length=1, max_length=MOST_TASKS, strict=False)]
    noise: Annotated[str, BeforeValidator(law_text)]
    distance: Decimal

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        self.check_tasks()
        for part in self.parts:
            part.check()
        if not parse_noise_law(self.noise).takes_grids(self.unit, len(self.parts)):
            raise ValueError(
                f"tasks must have one grid, not {len(self.parts)}: under {self.noise} at the level of a {self.unit}, "
                "readings are perturbed or accounted for together"
            )
        return self

    @property
    def most_readings(self) -> int:
        return min(self.readings, len(self.tasks))

    def part_of(self, task: Task) -> NoisyNumbers:
        assert isinstance(task, NumberTask)
        return NoisyNumbers(self.noise, self.distance, task.grid)

    def content(self) -> dict[str, Any]:
        """All fields: in this format none is ever left out."""
        return self.model_dump()

    @classmethod
    def task_model(cls, content: dict[str, Any]) -> FirstTask:
        return FirstTask.model_construct(**content)
