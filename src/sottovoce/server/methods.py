"""Methods in requests and responses: those registered when a request arrives or the API description is made."""

from typing import Annotated, Any

from pydantic import AfterValidator, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError

from sottovoce.discovery import methods_for


class _Registered:
    """In the API's description, a choice of the methods' names."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return handler(schema) | {"enum": [*methods_for("number")]}


def _known(name: str) -> str:
    if name not in methods_for("number"):
        raise PydanticCustomError(
            "method", "{message}", {"message": f"it must be one of {', '.join(methods_for('number'))}"}
        )
    return name


# A method that was pinned earlier may be gone; its name can still be shown.
StoredMethod = Annotated[str, _Registered()]
Method = Annotated[StoredMethod, AfterValidator(_known)]
