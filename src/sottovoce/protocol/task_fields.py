"""The fields of a task, read from the models that declare them, so that they are listed nowhere else.

A field is declared once, in the model of a format. How it appears where people write tasks, in a table or in a form, is
a `TaskColumn` among its annotations; a field without one, such as a place on the plan, is set elsewhere.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo

from sottovoce.privacy.laws import Kind
from sottovoce.protocol.canonical import canonical_decimal
from sottovoce.protocol.fields import Text, TextRule

_LONGEST_LIST = 20_000  # characters of a list that is typed
Shape = Literal["line", "number", "count", "list", "chosen", "lines", "other"]
# Short fields share the first row of a form; the longer ones follow.
_IN_A_FORM: tuple[tuple[Shape, ...], ...] = (("line", "number", "count"), ("list",), ("chosen",), ("lines",))


@dataclass(frozen=True)
class TaskColumn:
    """How a field appears where people write tasks: in a form, and as a column of a table."""

    label: str  # in a form, and one of the headings of the column
    called: str = ""  # in messages; by default the field's name
    headings: tuple[str, ...] = ()  # other headings that people give the column
    example: str = ""  # in a form
    explained: str = ""  # for authors of tables: what it is, after its name
    chosen: bool = False  # from a list of names, in a form
    repeated: bool = False  # usually the same for all tasks of a campaign, so a new row of a form begins with it


@dataclass(frozen=True)
class TaskField:
    """A field of a task: what it accepts, and which kinds of tasks have it."""

    name: str
    info: FieldInfo
    kinds: tuple[Kind, ...]

    @property
    def default(self) -> Any:
        return self.info.default

    @property
    def required(self) -> bool:
        return self.info.is_required()

    @cached_property
    def annotations(self) -> list[Any]:
        """The annotations of the field, and those of its type if the field is optional."""
        found = [*self.info.metadata, *getattr(_present(self.info.annotation), "__metadata__", ())]
        return [rule for one in found for rule in (one.metadata if isinstance(one, FieldInfo) else [one])]

    @cached_property
    def column(self) -> TaskColumn | None:
        return next((one for one in self.annotations if isinstance(one, TaskColumn)), None)

    @cached_property
    def plain_type(self) -> Any:
        """Its type without rules, as in the server's responses."""
        return _plain(_present(self.info.annotation))

    @cached_property
    def own_type(self) -> Any:
        """Its type with its rules, without the None that makes it optional."""
        present = _present(self.info.annotation)
        return Annotated[present, *self.info.metadata] if self.info.metadata else present

    @cached_property
    def text_rule(self) -> TextRule | None:
        return next((rule for rule in self._validators if isinstance(rule, TextRule)), None)

    @cached_property
    def shape(self) -> Shape:
        """How people write it: a line, a decimal number, a whole number, a list of texts, a name, or several lines."""
        if self.column and self.column.chosen:
            return "chosen"
        if canonical_decimal in self._validators:
            return "number"
        if self.plain_type is int:
            return "count"
        if self.plain_type == tuple[Text, ...]:
            return "list"
        if self.plain_type in (str, Text):
            return "lines" if self.text_rule and self.text_rule.lines else "line"
        return "other"

    @property
    def is_text(self) -> bool:
        """Whether people read it, in their language."""
        return self.plain_type in (Text, tuple[Text, ...])

    @property
    def longest(self) -> int | None:
        """How many characters can be typed."""
        return _LONGEST_LIST if self.shape == "list" else self.text_rule.most if self.text_rule else None

    @property
    def bounds(self) -> tuple[int, int]:
        """The bounds of a whole number."""
        least = next(one.ge for one in self.annotations if hasattr(one, "ge"))
        return least, next(one.le for one in self.annotations if hasattr(one, "le"))

    @property
    def _validators(self) -> Iterator[Any]:
        return (one.func for one in self.annotations if isinstance(one, BeforeValidator))


def fields_of(models: Mapping[Kind, type[BaseModel]]) -> dict[str, TaskField]:
    """The fields of tasks of all kinds, by name, in the order of a form; fields that no form has come last."""
    names = dict.fromkeys(name for model in models.values() for name in model.model_fields)
    having = {name: [kind for kind, model in models.items() if name in model.model_fields] for name in names}
    fields = [TaskField(name, models[kinds[0]].model_fields[name], tuple(kinds)) for name, kinds in having.items()]
    return {field.name: field for field in sorted(fields, key=_row_of_a_form)}


def text_fields(model: type[BaseModel]) -> list[str]:
    """The names of the fields of a model that people read."""
    return [name for name, info in model.model_fields.items() if TaskField(name, info, ()).is_text]


def _row_of_a_form(field: TaskField) -> int:
    rows = (row for row, shapes in enumerate(_IN_A_FORM) if field.column and field.shape in shapes)
    return next(rows, len(_IN_A_FORM))


def _present(annotation: Any) -> Any:
    """The type of an optional field, without None."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    parts = [part for part in get_args(annotation) if part is not NoneType]
    return parts[0] if len(parts) == 1 else annotation


def _plain(annotation: Any) -> Any:
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        parts = (part if part is Ellipsis else _plain(part) for part in get_args(annotation))
        return tuple.__class_getitem__(tuple(parts))
    return annotation
