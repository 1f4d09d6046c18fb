"""Forms as browsers send them."""

from urllib.parse import parse_qsl

from fastapi import Request

from sottovoce.protocol.problems import Problem

_KIND = "application/x-www-form-urlencoded"
_MOST_FIELDS = 500


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, each once, without spaces around them and with line endings as in Python."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise Problem("unsupported_media_type", f"content type {kind[:60]!r}: a form must be sent as {_KIND}")
    content = await request.body()
    try:
        fields = parse_qsl(content.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Problem("bad_request", "the form: it must be UTF-8 and must not have too many fields") from None
    return {name: text.replace("\r\n", "\n").strip() for name, text in fields}
