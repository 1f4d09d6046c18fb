"""Bodies of requests: read by the strict parser, after the sender's rights are known."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict

from sottovoce.protocol.canonical import parse_json
from sottovoce.protocol.fields import reported_as
from sottovoce.protocol.problems import Problem

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
# Reading this many bytes takes a few milliseconds at worst, during which no other request is answered.
SMALL = 8 << 10
# Only two, because each of them makes the event loop wait a little longer for the interpreter's lock.
_readers = ThreadPoolExecutor(max_workers=2, thread_name_prefix="reader")

BODIES: dict[str, type[BaseModel]] = {}  # of all routes, by name


class RequestBody(BaseModel):
    """A request's body: no unknown fields, no type conversion."""

    model_config = ConfigDict(extra="forbid", strict=True)


async def json_bytes(request: Request, *, required: bool = True) -> bytes:
    """The body of a request that declares JSON."""
    content = await request.body()
    if content or required:
        require_json(request.headers.get("content-type", ""))
    return content


async def read_aside(read: Callable[[bytes], T], content: bytes) -> T:
    """The content of a body. A large one is parsed in a thread, while other requests are answered."""
    if len(content) <= SMALL:
        return read(content)
    return await asyncio.get_running_loop().run_in_executor(_readers, read, content)


def require_json(header: str) -> None:
    """Refuse a body that is not declared as JSON."""
    kind = header.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem("unsupported_media_type", f"content type {kind[:60]!r}: it must be application/json")


def body_of(model: type[M], *, required: bool = True) -> Callable[[Request], Coroutine[Any, Any, M]]:
    """A dependency that reads a body into a model. A body that may be missing is then read as ``{}``."""

    async def read(request: Request) -> M:
        return await read_aside(understand, await json_bytes(request, required=required))

    def understand(content: bytes) -> M:
        document = parse_json(content, most_bytes=len(content), fractions=True) if content else {}
        with reported_as("bad_request"):
            return model.model_validate(document)

    return read


def described(model: type[BaseModel], *, required: bool = True) -> dict[str, Any]:
    """The OpenAPI description of such a body, for its route; its model is added to the API description."""
    BODIES[model.__name__] = model
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": reference}}}}
