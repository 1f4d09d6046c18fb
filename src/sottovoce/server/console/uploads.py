"""Forms with files, parsed in memory: no upload touches a disk.

Browsers send them as multipart/form-data (RFC 7578). The headers of the parts are left to the standard library; the
content of a part is what lies between the boundaries, byte for byte.
"""

import io
from dataclasses import dataclass, field
from email.message import Message
from email.parser import HeaderParser

from fastapi import Request

from sottovoce.protocol.problems import Problem

_KIND = "multipart/form-data"
_MOST_PARTS = 500
_LONGEST_HEAD = 8 << 10  # bytes before the content of a part


class Upload(io.BytesIO):
    """An uploaded file, with its name but without the folders that some browsers send."""

    def __init__(self, name: str, content: bytes) -> None:
        super().__init__(content)
        self.name: str = name.replace("\\", "/").rpartition("/")[2] or "the file"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class UploadForm:
    """The content of a form, without files that were not chosen."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, Upload] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """A field that appears once, without spaces around it."""
        return next(iter(self.fields.get(name, ())), "").strip()


async def upload_form(request: Request) -> UploadForm:
    """The fields and files of a request."""
    header = Message()
    header["Content-Type"] = request.headers.get("content-type", "")
    boundary = header.get_boundary()
    if header.get_content_type() != _KIND or not boundary:
        kind = header.get_content_type()
        raise Problem(
            "unsupported_media_type", f"content type {kind[:60]!r}: a form with files must be sent as {_KIND}"
        )
    return parse_parts(await request.body(), boundary.encode())


def parse_parts(content: bytes, boundary: bytes) -> UploadForm:
    """Parse a body.

    >>> form = parse_parts(b'--x\\r\\nContent-Disposition: form-data; name="a"\\r\\n\\r\\none\\r\\n--x--\\r\\n', b"x")
    >>> form.text("a")
    'one'
    """
    form = UploadForm()
    before, *parts = (b"\r\n" + content).split(b"\r\n--" + boundary, _MOST_PARTS)
    if before or not parts or not parts[-1].startswith(b"--"):
        raise Problem("bad_request", f"the form: it must be complete, with at most {_MOST_PARTS - 1} fields")
    for part in parts[:-1]:
        head, separator, body = part.partition(b"\r\n\r\n")
        try:
            if not separator or len(head) > _LONGEST_HEAD:
                raise ValueError(len(head))
            header = HeaderParser().parsestr(head.strip().decode())
            name, filename = header.get_param("name", header="content-disposition"), header.get_filename()
            if not isinstance(name, str):
                raise ValueError(name)
            if filename is None:
                form.fields.setdefault(name, []).append(body.decode())
            elif filename or body:
                form.files[name] = Upload(filename, body)
        except ValueError:  # includes text that is not UTF-8
            raise Problem("bad_request", "the form: every field must have a name, and text must be UTF-8") from None
    return form
