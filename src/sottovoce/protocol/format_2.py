"""The second format of manifests: numbers and choices, each with a noise law of its own, in several languages.

A field that does not apply is left out, never null, so that a document has one form.
"""

from collections.abc import Iterator
from functools import cache
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from sottovoce.privacy.laws import Kind, parse_noise_law
from sottovoce.protocol.canonical import first_repeated
from sottovoce.protocol.fields import (
    Decimal,
    Document,
    Hash,
    LongText,
    NameText,
    Tag,
    Text,
    TitleText,
    UnitText,
    comparable,
    field_error,
    in_language,
    law_text,
)
from sottovoce.protocol.instruments import TYPED, checked_instrument, known_instruments
from sottovoce.protocol.manifest import MOST_CHOICES, MOST_TASKS, ChoiceTask, Manifest, NumberTask, Task
from sottovoce.protocol.parts import NoisyNumbers, Part, PerturbedAnswers
from sottovoce.protocol.task_fields import TaskColumn, fields_of, text_fields

FORMAT: Final = "sottovoce-manifest/2"
MOST_POINTS = 100  # of a line on the plan
WIDTH_OF_PLAN = 10_000  # coordinates count this many parts of its width, and of its height
MOST_DAYS = 36_500
MOST_QUOTA = 10**12
WHOLE_TEXTS = ("title", "asked_by", "purpose", "contact")  # texts of the campaign itself, not of its tasks

Coordinate = Annotated[int, Field(ge=0, le=WIDTH_OF_PLAN)]
Point = Annotated[tuple[Coordinate, Coordinate], Field(strict=False)]
Place = Annotated[tuple[Point, ...], Field(min_length=1, max_length=MOST_POINTS, strict=False)]
Quota = Annotated[int, Field(ge=1, le=MOST_QUOTA)]


class SecondTask(Task):
    """What both kinds of tasks have. A field is declared only here; tables, forms and the API follow.

    A new field must be None where it is not given, so that campaigns without it keep their bytes and hashes.
    """

    title: Annotated[
        TitleText,
        TaskColumn("Task", "title", headings=("tasks", "name", "question", "what"), example="Entrance to library"),
    ] = ""
    help: Annotated[
        LongText,
        TaskColumn(
            "Help",
            headings=("help text", "hint", "explanation", "instructions"),
            example="shown with the task",
            explained="is shown with the task",
        ),
    ] = ""
    place: Place | None = None  # a point on the plan, or a line of several
    quota: Annotated[
        Quota | None,
        TaskColumn(
            "Quota",
            headings=("most readings", "readings"),
            example="no limit",
            explained="is the number of readings after which a task accepts no more",
        ),
    ] = None

    def texts(self) -> Iterator[Text]:
        """Everything that people read."""
        for name in self._text_fields():
            entry = getattr(self, name)
            yield from entry if isinstance(entry, tuple) else (entry,)

    @classmethod
    @cache
    def _text_fields(cls) -> list[str]:
        return text_fields(cls)


class SecondNumberTask(SecondTask, NumberTask):
    """A number to measure, or to compare with cuts."""

    kind: Literal["number"] = "number"
    unit: Annotated[UnitText, TaskColumn("Unit", example="m", repeated=True)] = ""
    distance: Decimal | None = None  # none where comparisons protect the whole range
    instrument: Annotated[
        str,
        AfterValidator(checked_instrument),
        TaskColumn("Measured with", explained=f"is {known_instruments()}", chosen=True, repeated=True),
    ] = TYPED


class SecondChoiceTask(SecondTask, ChoiceTask):
    """A question with choices."""

    kind: Literal["choice"] = "choice"
    choices: Annotated[
        tuple[NameText, ...],
        Field(min_length=2, max_length=MOST_CHOICES, strict=False),
        TaskColumn("Choices", headings=("choice", "answers", "options"), example="only for a question"),
    ]

    def check_choices(self, language: str) -> None:
        """Refuse choices that people could not tell apart, in any language."""
        tags = {tag for choice in self.choices if isinstance(choice, dict) for tag in choice}
        for tag in sorted(tags | {language}):
            words = [in_language(choice, tag, language) for choice in self.choices]
            alike = first_repeated(map(comparable, words))
            if alike is not None:
                one, *_, other = [word for word in words if comparable(word) == alike]
                rule = "must differ in more than spaces, case and invisible characters"
                raise field_error(
                    "choices",
                    f"choices {one!r} and {other!r} of task {self.id!r} {rule}",
                    f"{one!r} and {other!r} {rule}",
                )


TASK_MODELS: dict[Kind, type[SecondTask]] = {"number": SecondNumberTask, "choice": SecondChoiceTask}
TASK_FIELDS = fields_of(TASK_MODELS)


def _laws(noise: Any) -> Any:
    if isinstance(noise, dict):
        return {kind: law_text(text) for kind, text in noise.items()}
    return law_text(noise)


class Plan(Document):
    """A picture of the place, by its hash."""

    sha256: Hash
    type: Literal["image/png", "image/jpeg", "image/svg+xml"]


class SecondManifest(Manifest):
    """A campaign that asks for numbers, choices or both."""

    format: Literal["sottovoce-manifest/2"] = FORMAT
    language: Tag = "en"
    title: NameText
    asked_by: NameText
    purpose: LongText = ""
    contact: TitleText = ""
    tasks: Annotated[
        tuple[Annotated[SecondNumberTask | SecondChoiceTask, Field(discriminator="kind")], ...],
        Field(fail_fast=True, min_length=1, max_length=MOST_TASKS, strict=False),
    ]
    noise: Annotated[str | dict[Kind, str], BeforeValidator(_laws)]
    levels: Literal[2, 4] | None = None  # of comparisons
    answer: Annotated[int, Field(ge=1, le=MOST_TASKS)]
    public_results: bool = True
    retention: Annotated[int, Field(ge=0, le=MOST_DAYS)] | None = None  # in days after closing
    plan: Plan | None = None
    logo: Hash | None = None

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, content: Any) -> Any:
        """Unless ``answer`` is given, a participant answers as many tasks as the number of readings allows."""
        if isinstance(content, dict) and "answer" not in content:
            readings, tasks = content.get("readings"), content.get("tasks")
            if isinstance(readings, int) and isinstance(tasks, list | tuple):
                return content | {"answer": min(readings, len(tasks))}
        return content

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        self.check_tasks()
        self._check_texts()
        self._check_laws()
        if self.answer > min(self.readings, len(self.tasks)):
            raise ValueError(
                f"answer {self.answer} must be at most {min(self.readings, len(self.tasks))}, the smaller of the "
                "number of tasks and the number of readings per participant"
            )
        for task in self.tasks:
            if task.place and not self.plan:
                raise ValueError(f"place of task {task.id!r} must be on a plan, but the campaign has none")
        return self

    def _check_texts(self) -> None:
        whole = (getattr(self, name) for name in WHOLE_TEXTS)
        for text in (*whole, *(text for task in self.tasks for text in task.texts())):
            if isinstance(text, dict) and self.language not in text:
                raise ValueError(
                    f"text {next(iter(text.values()))[:40]!r} must be given in {self.language!r} too, the campaign's "
                    "own language"
                )
        for task in self.tasks:
            if isinstance(task, SecondChoiceTask):
                task.check_choices(self.language)

    def _check_laws(self) -> None:
        kinds = {task.kind for task in self.tasks}
        if isinstance(self.noise, dict) and (kinds != set(self.noise) or len(set(self.noise.values())) < 2):
            raise ValueError("noise must be one law, or two different ones if there are both numbers and choices")
        for kind, law in self.laws.items():
            if kind not in law.kinds:
                raise ValueError(f"noise {law} must be a law for {kind} tasks")
        if self.compares != (self.levels is not None):
            raise ValueError("levels must be 2 or 4 if numbers are compared under a response law, and absent otherwise")
        for task in self.tasks:
            if isinstance(task, SecondNumberTask) and self.compares != (task.distance is None):
                raise ValueError(f"distance of task {task.id!r} must be given for noise, and left out for comparisons")
        for part in self.parts:
            part.check()
        if "number" in self.laws and not self.compares:
            self._check_grids()

    def _check_grids(self) -> None:
        """Numbers perturbed or accounted for together need one grid and one distance; a pure ε is simply added up."""
        law = parse_noise_law(str(self.laws["number"]))
        parts = {self.part_of(task) for task in self.tasks if task.kind == "number"}
        if not law.takes_grids("reading" if law.is_pure else self.unit, len(parts)):
            raise ValueError(
                f"tasks must have one grid and one distance, not {len(parts)} different pairs: under {law} at the "
                f"level of a {self.unit}, readings are perturbed or accounted for together"
            )

    @property
    def compares(self) -> bool:
        """Whether numbers are compared with cuts instead of being noised."""
        law = self.laws.get("number")
        return law is not None and "choice" in law.kinds

    @property
    def main_language(self) -> str:
        return self.language

    @property
    def results_are_public(self) -> bool:
        return self.public_results

    @property
    def retention_days(self) -> int | None:
        return self.retention

    @property
    def plan_sha256(self) -> str | None:
        return self.plan.sha256 if self.plan else None

    @property
    def logo_sha256(self) -> str | None:
        return self.logo

    @property
    def contact_words(self) -> Text:
        return self.contact

    @property
    def most_readings(self) -> int:
        return self.answer

    @property
    def most_answers(self) -> int:
        return self.answer

    @property
    def device_draws(self) -> bool:
        return self.answer < len(self.tasks)

    def part_of(self, task: Task) -> Part:
        noise = str(self.laws[task.kind])
        if isinstance(task, ChoiceTask):
            return PerturbedAnswers(noise, len(task.choices))
        assert isinstance(task, SecondNumberTask)
        if task.distance is None:
            assert self.levels
            return PerturbedAnswers(noise, self.levels)
        return NoisyNumbers(noise, task.distance, task.grid)

    @classmethod
    def task_model(cls, content: dict[str, Any]) -> SecondTask:
        return TASK_MODELS[content["kind"]].model_construct(**content)
