"""The API description: the framework's, with our problems and the bodies that we read ourselves."""

import json
from functools import cache
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import Response
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from sottovoce.protocol.format_1 import FirstManifest
from sottovoce.protocol.format_2 import SecondManifest
from sottovoce.server.bodies import BODIES
from sottovoce.server.problems import PROBLEM_SCHEMA

_ADDRESS = "/api/openapi.json"
_FORMATS: tuple[type[BaseModel], ...] = (FirstManifest, SecondManifest)
_UUID = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"


def describe(app: FastAPI) -> None:
    """Replace the framework's own description of the application."""

    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            description = get_openapi(title=app.title, version=app.version, routes=app.routes)
            schemas = description.setdefault("components", {}).setdefault("schemas", {})
            _, bodies = models_json_schema(
                [(body, "validation") for body in (*_FORMATS, *BODIES.values())],
                ref_template="#/components/schemas/{model}",
            )
            schemas |= bodies["$defs"] | {"Problem": PROBLEM_SCHEMA}
            schemas["Manifest"] = {"anyOf": [{"$ref": f"#/components/schemas/{model.__name__}"} for model in _FORMATS]}
            for name in ("Report", "GatewayReport"):
                schemas[name]["properties"]["report_id"] |= {"format": "uuid", "pattern": _UUID}
            for name in ("HTTPValidationError", "ValidationError"):  # reported as problems instead
                schemas.pop(name, None)
            app.openapi_schema = description
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]

    @cache
    def content() -> bytes:
        return json.dumps(openapi(), ensure_ascii=False).encode()

    # In a thread: making it the first time takes long enough to delay other requests.
    @app.get(_ADDRESS, include_in_schema=False)
    def description() -> Response:
        return Response(content(), media_type="application/json")
