"""Tasks in the API, as operators send them and as the server returns them: with the fields of the protocol's models."""

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_origin

from pydantic import BaseModel, Field, create_model

from sottovoce.privacy.laws import Kind
from sottovoce.protocol import fields as protocol
from sottovoce.protocol.format_2 import TASK_FIELDS, Quota
from sottovoce.protocol.task_fields import Shape, TaskField
from sottovoce.server.bodies import RequestBody

Number = Annotated[
    Decimal | int | str,
    Field(json_schema_extra={"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}]}),
]
Text = (
    Annotated[str, Field(max_length=2000)]
    | Annotated[dict[str, Annotated[str, Field(max_length=2000)]], Field(max_length=100)]
)
# What a field may hold before the manifest's own rules apply; mistakes against those have a code of their own.
_LOOSE: dict[Shape, Any] = {
    "line": Text,
    "lines": Text,
    "number": Number,
    "list": Annotated[list[Text], Field(fail_fast=True, max_length=1000)],
    "chosen": Annotated[str, Field(max_length=200)],
}
_List = Annotated[list[Any], Field(max_length=1000)]


class _TaskDraft(RequestBody):
    """A task. Numbers may be written as numbers or as text; a task with choices is a question."""

    id: Annotated[str, Field(min_length=1, max_length=100)]
    kind: Literal["number", "choice"] | None = None
    title: Text = ""
    quota: Quota | None = None


class _TaskEntry(BaseModel):
    """A number to measure, or a question with choices; what does not apply is null or empty."""

    id: str
    title: protocol.Text
    kind: Kind = "number"
    quota: int | None


def _draft_field(field: TaskField) -> tuple[Any, Any]:
    loose = _List if get_origin(field.plain_type) is tuple else field.own_type
    return _LOOSE.get(field.shape, loose) | None, None


def _entry_field(field: TaskField) -> tuple[Any, Any]:
    return (field.plain_type, "") if field.plain_type == protocol.Text else (field.plain_type | None, None)


if TYPE_CHECKING:
    TaskDraft = _TaskDraft
    TaskEntry = _TaskEntry
else:

    def _with_the_rest(name, base, made):
        rest = {field.name: made(field) for field in TASK_FIELDS.values() if field.name not in base.model_fields}
        return create_model(name, __base__=base, __doc__=base.__doc__, __module__=__name__, **rest)

    TaskDraft = _with_the_rest("TaskDraft", _TaskDraft, _draft_field)
    TaskEntry = _with_the_rest("TaskEntry", _TaskEntry, _entry_field)
