"""Pictures from operators: what can be drawn is kept as it is, everything else is removed or refused."""

import base64
import io
import struct
import zlib

import pytest
from PIL import Image, ImageOps, PngImagePlugin

from plans import SVG, decoded, drawn, encoded
from sottovoce.protocol.pictures import MOST_BYTES, cleaned_picture
from sottovoce.protocol.problems import Problem

SECRET = b"Nikon 48.137 11.575 Ann"


def svg(inner="", attributes='viewBox="0 0 9 9"', before=""):
    return (
        f'{before}<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" {attributes}>'
        f"{inner}</svg>"
    ).encode()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_a_png_keeps_its_pixels(mode):
    image = drawn(mode=mode) if mode != "I;16" else drawn(mode="I").convert("I;16")
    picture = cleaned_picture(encoded(image))
    assert (picture.type, picture.width, picture.height) == ("image/png", 400, 300)
    assert decoded(picture.content).convert("RGBA").tobytes() == image.convert("RGBA").tobytes()


def interlaced(width, height):
    """A grey PNG in seven passes, by the definition of Adam7."""
    rows = bytearray()
    for x, y, dx, dy in (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    ):
        for row in range(y, height, dy):
            line = bytes((row * 7 + column) % 256 for column in range(x, width, dx))
            rows += b"\0" + line if line else b""
    return png(width, height, bytes(rows), 0, 1)


def png(width, height, pixels, colour=2, interlace=0):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, interlace)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5, 5), (17, 9)])
def test_an_interlaced_png_is_counted_pass_by_pass(size):
    picture = cleaned_picture(interlaced(*size))
    assert decoded(picture.content).getpixel((size[0] - 1, size[1] - 1)) == ((size[1] - 1) * 7 + size[0] - 1) % 256


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"restart_marker_rows": 1}, {"optimize": True}])
def test_a_jpeg_keeps_its_pixels(options):
    content = encoded(drawn(), "JPEG", **options)
    assert decoded(cleaned_picture(content).content).tobytes() == decoded(content).tobytes()


def test_a_cmyk_jpeg_keeps_its_colours():
    content = encoded(drawn(mode="CMYK"), "JPEG")
    assert decoded(cleaned_picture(content).content).tobytes() == decoded(content).tobytes()


@pytest.mark.parametrize("turned", range(1, 9))
def test_a_photograph_stays_upright_and_loses_its_metadata(turned):
    about = Image.Exif()
    about[0x0112] = turned
    about[0x010F] = SECRET.decode()
    about.get_ifd(0x8825)[1] = "N"
    content = encoded(drawn(), "JPEG", exif=about, comment=SECRET)
    assert SECRET in content
    picture = cleaned_picture(content)
    assert SECRET not in picture.content
    found = decoded(picture.content)
    assert set(found.getexif()) <= {0x0112}
    upright = ImageOps.exif_transpose(decoded(content))
    assert ImageOps.exif_transpose(found).tobytes() == upright.tobytes()
    assert (picture.width, picture.height) == upright.size


def test_texts_in_a_png_are_gone_and_so_is_a_file_behind_it():
    about = PngImagePlugin.PngInfo()
    about.add_text("Author", SECRET.decode())
    about.add_itxt("Comment", SECRET.decode())
    content = encoded(drawn(), pnginfo=about, exif=_exif()) + b"PK\x03\x04" + SECRET
    picture = cleaned_picture(content)
    assert SECRET not in picture.content
    assert b"PK\x03\x04" not in picture.content
    assert not decoded(picture.content).info


def _exif():
    about = Image.Exif()
    about[0x010F] = SECRET.decode()
    return about


def test_a_page_behind_a_jpeg_is_gone():
    picture = cleaned_picture(encoded(drawn(), "JPEG") + b"<script>alert(1)</script>")
    assert b"script" not in picture.content


def test_frames_of_an_animation_are_gone():
    frames = [drawn(), drawn().transpose(Image.Transpose.ROTATE_180)]
    content = io.BytesIO()
    frames[0].save(content, "PNG", save_all=True, append_images=frames[1:])
    assert getattr(decoded(cleaned_picture(content.getvalue()).content), "n_frames", 1) == 1


def test_cleaning_twice_changes_nothing():
    for content in (encoded(drawn()), encoded(drawn(), "JPEG", exif=_exif()), SVG):
        once = cleaned_picture(content)
        assert cleaned_picture(once.content) == once


REFUSED = {
    "nothing": (b"", "nor valid SVG"),
    "a page": (b"<html><body>hello</body></html>", "html"),
    "a GIF": (encoded(drawn(), "GIF"), "neither PNG nor JPEG"),
    "half a PNG": (encoded(drawn())[:300], "damaged"),
    "half a JPEG": (encoded(drawn(), "JPEG")[:700], "ends too early"),
    "a PNG with a wrong checksum": (encoded(drawn()).replace(b"IDAT", b"IDAS", 1), "checksum"),
    "a PNG that is too wide": (png(10_001, 1, b""), "10,001 by 1 pixels"),
    "a PNG of too many pixels": (png(10_000, 9_000, b""), "10,000 by 9,000 pixels"),
    "a PNG that unpacks to more than it shows": (png(2, 2, b"\0" * 50_000_000), "does not match its size"),
    "a PNG that unpacks to less": (png(20, 20, b"\0"), "does not match its size"),
    "a PNG without width": (png(0, 5, b""), "0 by 5"),
    "a JPEG without pixels": (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xd9", "without pixels"),
    "too many bytes": (b"\x89PNG\r\n\x1a\n" + bytes(MOST_BYTES), "bytes"),
    "an SVG with a script": (svg("<script>alert(1)</script>"), "script"),
    "a script in another namespace": (svg('<x:script xmlns:x="http://www.w3.org/1999/xhtml">1</x:script>'), "script"),
    "a handler": (svg('<rect width="9" height="9" onload="alert(1)"/>'), "onload"),
    "a handler in what is left out": (svg('<metadata><rect onclick="x()"/></metadata>'), "onclick"),
    "a page in an SVG": (svg("<foreignObject><p>hello</p></foreignObject>"), "foreignObject"),
    "a picture from elsewhere": (svg('<image href="https://example.org/a.png"/>'), "https://example.org/a.png"),
    "the old kind of link": (svg('<use xlink:href="//example.org/a.svg#b"/>'), "//example.org"),
    "a script as a link": (svg('<use href=" javascript:alert(1)"/>'), "javascript"),
    "a file": (svg('<image href="file:///etc/passwd"/>'), "/etc/passwd"),
    "a page in a link": (svg('<image href="data:text/html;base64,PGI+"/>'), "data:text/html"),
    "an SVG in an SVG": (svg('<image href="data:image/svg+xml;base64,PGI+"/>'), "data:image/svg"),
    "no picture in a link": (svg('<image href="data:image/png;base64,PGI+"/>'), "neither PNG nor JPEG"),
    "a fill from elsewhere": (svg('<rect fill="url(https://example.org/a#b)"/>'), "https://example.org"),
    "a fill that is not closed": (svg('<rect fill="url(//example.org"/>'), "//example.org"),
    "a style from elsewhere": (svg("<style>@import 'https://example.org/a.css';</style>"), "style"),
    "a font from elsewhere": (svg("<style>@font-face { src: url(https://example.org) }</style>"), "style"),
    "an escaped style": (svg(r'<rect style="fill: \75rl(https://example.org)"/>'), "style"),
    "a set of pictures": (svg('<rect style="fill:image-set(&quot;https://example.org&quot;)"/>'), "image-set"),
    "an entity": (svg("<text>&a;</text>", before='<!DOCTYPE svg [<!ENTITY a "b">]>'), "entity"),
    "billion laughs": (
        svg(
            "<text>&i;</text>",
            before="<!DOCTYPE svg [<!ENTITY a 'ha'>"
            + "".join(f"<!ENTITY {two} '{f'&{one};' * 10}'>" for one, two in zip("abcdefgh", "bcdefghi", strict=True))
            + "]>",
        ),
        "entity",
    ),
    "a file as an entity": (
        svg("<text>&a;</text>", before='<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>'), "entity",
    ),
    "laughs by references": (
        svg(
            '<path id="r0" d="M0 0h1"/>'
            + "".join(f'<g id="r{n + 1}">{f"""<use href="#r{n}"/>""" * 10}</g>' for n in range(9))
            + '<use href="#r9"/>'
        ),
        "draws more than",
    ),
    "patterns within patterns": (
        svg(
            '<pattern id="r0"><path d="M0 0h1"/></pattern>'
            + "".join(f'<pattern id="r{n + 1}">{f"""<rect fill="url(#r{n})"/>""" * 10}</pattern>' for n in range(9))
            + '<rect fill="url(#r9)"/>'
        ),
        "draws more than",
    ),
    "a pattern by style": (svg('<style>rect{fill:url(#p)}</style><pattern id="p"/>'), "gradient"),
    "a circle of references": (svg('<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'), "circles"),
    "deeply nested": (svg("<g>" * 200 + "</g>" * 200), "nested"),
    "endless elements": (svg("<g/>" * 50_001), "elements"),
    "no size": (svg(attributes=""), "without a size"),
    "an endless size": (svg(attributes='width="1e9" height="2"'), "without a size"),
    "not well formed": (b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><g></svg>', "nor valid SVG"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_picture_that_cannot_be_trusted_is_refused_with_the_reason(case):
    content, reason = REFUSED[case]
    with pytest.raises(Problem) as refused:
        cleaned_picture(content)
    assert refused.value.code == "bad_picture"
    assert reason in str(refused.value)


def test_an_svg_keeps_what_draws_and_nothing_else():
    content = svg(
        "<!-- made by Ann --><title>secret</title><metadata>secret</metadata>"
        '<s:view xmlns:s="http://sodipodi" secret="1"><rect/></s:view><filter id="f"/>'
        '<style>.a { fill: url(#g) } p > q {}</style><linearGradient id="g"><stop offset="0"/></linearGradient>'
        '<a href="https://example.org"><rect class="a" filter="url(#f)" xml:space="preserve"/></a>'
        '<text x="1">1 &lt; 2 &amp; 3</text><animate attributeName="href" values="https://example.org"/>',
        attributes='width="20mm" height="1in" viewBox="0 0 20 25.4"',
        before='<?xml version="1.0"?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/svg11.dtd">'
        '<?xml-stylesheet href="https://example.org/a.css"?>',
    )
    picture = cleaned_picture(content)
    for gone in (b"secret", b"Ann", b"example.org", b"filter", b"animate", b"<?", b"<!", b"sodipodi", b"w3.org/svg11"):
        assert gone not in picture.content
    for kept in (b'<g><rect class="a">', b"1 &lt; 2 &amp; 3", b"url(#g)", b"linearGradient", b"p &gt; q"):
        assert kept in picture.content
    assert (round(picture.width, 3), picture.height) == (75.591, 96)


def test_a_picture_in_an_svg_is_cleaned_like_any_other():
    inner = encoded(drawn(40, 30), "JPEG", comment=SECRET)
    link = f'<image href="data:image/jpeg;base64,{base64.b64encode(inner).decode()}" width="40" height="30"/>'
    picture = cleaned_picture(svg(link))
    assert base64.b64encode(inner)[:40] not in picture.content or len(picture.content) < len(svg(link))
    written = base64.b64decode(picture.content.split(b"base64,")[1].split(b'"')[0])
    assert SECRET not in written
    assert decoded(written).tobytes() == decoded(inner).tobytes()
