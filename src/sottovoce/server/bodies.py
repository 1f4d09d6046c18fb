"""Bodies of requests: read by the strict parser, after the sender's rights are known."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict

from sottovoce.protocol.canonical import parse_json
from sottovoce.protocol.manifest import told_as
from sottovoce.protocol.problems import Problem

M = TypeVar("M", bound=BaseModel)


class RequestBody(BaseModel):
    """A request's body: nothing unknown, no type taken for another."""

    model_config = ConfigDict(extra="forbid", strict=True)


async def json_bytes(request: Request, *, required: bool = True) -> bytes:
    """The body of a request that says that it is JSON."""
    content = await request.body()
    if content or required:
        require_json(request.headers.get("content-type", ""))
    return content


def require_json(header: str) -> None:
    """Refuse what does not say that it is JSON."""
    kind = header.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem("unsupported_media_type", f"content type {kind[:60]!r}: it must be application/json")


def body_of(model: type[M], *, required: bool = True) -> Callable[[Request], Coroutine[Any, Any, M]]:
    """A dependency that reads a body into a model. A body that may be missing is then read as ``{}``."""

    async def read(request: Request) -> M:
        content = await json_bytes(request, required=required)
        document = parse_json(content, most_bytes=len(content), fractions=True) if content else {}
        with told_as("bad_request"):
            return model.model_validate(document)

    return read


def described(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """The same for the route's description."""
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": reference}}}}
