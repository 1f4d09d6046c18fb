"""PNG and JPEG, taken apart and put together again with only the parts that are needed to draw them."""

import struct
import zlib
from collections.abc import Iterator

from sottovoce.protocol.pictures.picture_limits import MOST_BYTES, Picture, check_size, refused

_PNG = b"\x89PNG\r\n\x1a\n"
_JPEG = b"\xff\xd8\xff"
# What a still picture is drawn from. Text, time, place, camera, colour profile and further frames are left out.
_KEPT_CHUNKS = (b"IHDR", b"PLTE", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"IDAT", b"IEND")
_SAMPLES = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of a pixel, by kind of colour
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PIECE = 1 << 20

_SCAN, _END, _ORIENTATION = 0xDA, 0xD9, 0x0112
_MOST_SCANS = 64  # each of them is a pass over all pixels
_SIZES = {0xC0, 0xC1, 0xC2}  # frames that browsers decode: baseline, extended, progressive
_KEPT_SEGMENTS = {*_SIZES, 0xC4, 0xDB, 0xDD, _SCAN}  # tables of codes and of quantisation, restarts, scans
_ADOBE = b"Adobe"  # says how its colours are coded


def cleaned_raster(content: bytes) -> Picture | None:
    """The picture, rewritten; None if it is neither PNG nor JPEG."""
    try:
        if content.startswith(_PNG):
            return _cleaned_png(content)
        if content.startswith(_JPEG):
            return _cleaned_jpeg(content)
    except (struct.error, IndexError, zlib.error):
        raise refused("a file that ends too early or is damaged: it must be complete and undamaged") from None
    return None


def _cleaned_png(content: bytes) -> Picture:
    header, data, parts = None, [], [_PNG]
    for kind, body in _chunks(content):
        if (header is None) != (kind == b"IHDR"):
            raise refused("a PNG without its header: it must be complete")
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", body)
            check_size(header[0], header[1])
        elif kind[:1].isupper() and kind not in _KEPT_CHUNKS:
            raise refused(f"a PNG with the unknown chunk {kind!r}: it must be a standard PNG")
        if kind in _KEPT_CHUNKS:
            parts.append(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))
        if kind == b"IDAT":
            data.append(body)
    if header is None or not data:
        raise refused("a PNG without pixels: it must be complete")
    _check_pixels(header, data)
    return Picture(b"".join(parts), "image/png", header[0], header[1])


def _chunks(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    place = len(_PNG)
    while True:
        (length,), kind = struct.unpack_from(">I", content, place), content[place + 4 : place + 8]
        body = content[place + 8 : place + 8 + length]
        (check,) = struct.unpack_from(">I", content, place + 8 + length)
        if zlib.crc32(kind + body) != check:
            raise refused("a damaged PNG: its checksums must be right")
        yield kind, body
        if kind == b"IEND":
            return  # what follows is not part of the picture
        place += 12 + length


def _check_pixels(header: tuple[int, ...], data: list[bytes]) -> None:
    """Unpack the pixels in small pieces: there must be exactly as many as the header says."""
    width, height, depth, colour, _, _, interlaced = header
    if depth not in _DEPTHS.get(colour, ()) or interlaced not in (0, 1):
        raise refused("a PNG with an invalid colour type, bit depth or interlacing: it must be a standard PNG")
    wanted = sum(
        rows * (1 + (columns * _SAMPLES[colour] * depth + 7) // 8)
        for columns, rows in _passes(width, height, bool(interlaced))
        if columns
    )
    unpack, found, left = zlib.decompressobj(), 0, b"".join(data)
    while found <= wanted and not unpack.eof:
        piece = unpack.decompress(left, _PIECE)
        found, left = found + len(piece), unpack.unconsumed_tail
        if not piece and not left:
            break
    if found != wanted or not unpack.eof:
        raise refused(f"a PNG whose pixel data does not match its size of {width:,} by {height:,}: it must be complete")


def _passes(width: int, height: int, interlaced: bool) -> list[tuple[int, int]]:
    """Columns and rows of each pass over the picture."""
    if not interlaced:
        return [(width, height)]
    starts = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
    return [(-(-(width - x) // dx) if width > x else 0, -(-(height - y) // dy) if height > y else 0)
            for x, y, dx, dy in starts]  # fmt: skip


def _cleaned_jpeg(content: bytes) -> Picture:
    size, turned, parts, scans = None, 1, [], 0
    for marker, body, scan in _segments(content):
        if marker in _SIZES:
            height, width = struct.unpack_from(">HH", body, 1)
            check_size(width, height)
            size = (width, height)
        elif 0xC0 <= marker <= 0xCF and marker != 0xC4:
            raise refused("a JPEG of a kind that browsers do not show: it must be an ordinary one")
        elif marker == 0xE1 and body.startswith(b"Exif\0\0"):
            turned = _orientation(body[6:])
        if marker in _KEPT_SEGMENTS or (marker == 0xEE and body.startswith(_ADOBE)):
            parts.append(_segment(marker, body) + scan)
            scans += marker == _SCAN
            if scans > _MOST_SCANS:
                raise refused(f"a JPEG in more than {_MOST_SCANS} passes: it must be an ordinary one")
    if size is None or not scans:
        raise refused("a JPEG without pixels: it must be complete")
    head = b"\xff\xd8" + (_segment(0xE1, _orientation_only(turned)) if turned != 1 else b"")
    width, height = size if turned < 5 else size[::-1]
    return Picture(head + b"".join(parts) + b"\xff\xd9", "image/jpeg", width, height)


def _segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def _segments(content: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Marker, body and, after the start of a scan, the coded pixels; up to the end of the picture."""
    place = 2
    while place < MOST_BYTES:
        if content[place] != 0xFF:
            raise refused("a damaged JPEG: its segments must follow each other")
        while content[place] == 0xFF:  # any number of them may stand before a marker
            place += 1
        marker = content[place]
        if marker == _END:
            return
        (length,) = struct.unpack_from(">H", content, place + 1)
        body, place = content[place + 3 : place + 1 + length], place + 1 + length
        if length < 2 or place > len(content):
            raise IndexError(place)
        end = place
        if marker == _SCAN:
            # Within a scan, 0xFF is followed by 0 or by the number of a restart.
            while True:
                end = content.find(b"\xff", end)
                if not 0 <= end < len(content) - 1:
                    raise IndexError(end)
                if content[end + 1] != 0 and not 0xD0 <= content[end + 1] <= 0xD7:
                    break
                end += 2
        yield marker, body, content[place:end]
        place = end


def _orientation(exif: bytes) -> int:
    """How the camera was held, which is needed to show the picture upright; 1 if the file does not say."""
    order = {b"II": "<", b"MM": ">"}.get(exif[:2])
    if order is None:
        return 1
    try:
        (first,) = struct.unpack_from(f"{order}I", exif, 4)
        (entries,) = struct.unpack_from(f"{order}H", exif, first)
        for place in range(first + 2, first + 2 + 12 * entries, 12):
            tag, kind, count, turned = struct.unpack_from(f"{order}HHIH", exif, place)
            if (tag, kind, count) == (_ORIENTATION, 3, 1):
                return turned if 1 <= turned <= 8 else 1
    except struct.error:
        pass  # a damaged description of the picture, not a damaged picture
    return 1


def _orientation_only(turned: int) -> bytes:
    """A description of the picture that says only how it is turned."""
    return b"Exif\0\0" + struct.pack(">2sHIHHHIHHI", b"MM", 42, 8, 1, _ORIENTATION, 3, 1, turned, 0, 0)
