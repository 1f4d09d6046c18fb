"""Responses that need not be sent twice."""

from fastapi import Request
from fastapi.responses import Response


def tagged(request: Request, content: bytes, tag: str, media_type: str, *, filename: str | None = None) -> Response:
    """Content with its ETag, or 304 for a client that has it already."""
    headers = {"ETag": f'"{tag}"', "Cache-Control": "no-cache"}
    if _named(tag, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    if filename:
        headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    return Response(content, headers=headers, media_type=media_type)


def _named(tag: str, header: str) -> bool:
    names = [name.strip().removeprefix("W/") for name in header.split(",")]
    return "*" in names or f'"{tag}"' in names
