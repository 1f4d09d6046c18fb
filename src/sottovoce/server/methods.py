"""Methods in requests and responses: those registered when a request arrives or the API description is made."""

from typing import Annotated, Any

from pydantic import AfterValidator, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError

from sottovoce.discovery import METHODS, methods_for
from sottovoce.privacy.laws import Kind, parse_answer_law
from sottovoce.protocol.manifest import ChoiceTask, Manifest
from sottovoce.protocol.problems import Problem


class _Registered:
    """In the API description, the names of the registered methods."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(schema) | {"enum": [*METHODS]}


def _known(name: str) -> str:
    if name not in METHODS:
        raise PydanticCustomError("method", "{message}", {"message": f"it must be one of {', '.join(METHODS)}"})
    return name


def main_kind(manifest: Manifest) -> Kind:
    """The kind of claims that a campaign's method is chosen for: numbers, if there are any.

    Questions beside them use the same method if it supports choices, otherwise the default method.
    """
    return "number" if "number" in manifest.laws else "choice"


def methods_of(manifest: Manifest) -> list[str]:
    """The methods that can evaluate a campaign."""
    if main_kind(manifest) == "number":
        return [*methods_for("number")]
    lists = {str(task.choices) for task in manifest.tasks if isinstance(task, ChoiceTask)}
    one_list = len(lists) == 1 and parse_answer_law(str(manifest.laws["choice"])).cells_reported == 1
    return [*methods_for("choice", one_list)]


def check_method(name: str, manifest: Manifest) -> None:
    """Refuse a method that cannot evaluate a campaign."""
    if name not in methods_of(manifest):
        raise Problem(
            "bad_request",
            f"method {name!r}: it cannot evaluate these tasks",
            fix=f"choose one of {', '.join(methods_of(manifest))}",
        )


# A method that was pinned earlier may be gone; its name can still be shown.
StoredMethod = Annotated[str, _Registered()]
Method = Annotated[StoredMethod, AfterValidator(_known)]
