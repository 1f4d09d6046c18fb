"""SVG, read by a strict parser and rewritten from the elements that draw.

Scripts, handlers and references to anything outside the file are refused, so that the operator notices them. What
editors leave behind (metadata, guides, comments), animation and filters are left out. Browsers run and load nothing in
a picture anyway; these rules also protect anyone who saves the file and opens it on its own.
"""

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from sottovoce.protocol.pictures.picture_limits import Picture, refused
from sottovoce.protocol.pictures.raster import cleaned_raster

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_DRAWN = {
    "svg", "g", "defs", "symbol", "use", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text",
    "tspan", "textPath", "linearGradient", "radialGradient", "stop", "pattern", "clipPath", "mask", "marker", "image",
    "style", "switch", "a",
}  # fmt: skip
_ACTIVE = {"script", "foreignObject", "iframe", "object", "embed", "audio", "video", "canvas", "handler", "listener"}
_LEFT_OUT_ATTRIBUTES = {"filter", "target", "ping", "download", "rel", "base"}
_TINTS = {"linearGradient", "radialGradient"}
_MOST_ELEMENTS, _MOST_DRAWN, _DEEPEST = 50_000, 500_000, 100
_REFERENCE = re.compile(r"url\(\s*['\"]?\s*(.*?)['\"]?\s*\)", re.IGNORECASE)
_LOADS = re.compile(r"@|\\|(?<![\w-])(?:-webkit-)?(?:image-set|image|src|cross-fade|element|paint)\s*\(", re.IGNORECASE)
_INLINE = re.compile(r"data:image/(?:png|jpe?g);base64,([A-Za-z0-9+/=\s]+)", re.IGNORECASE)
_LENGTH = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?(?:[eE][0-9]+)?|\.[0-9]+)\s*(px|pt|pc|mm|cm|in|)\s*")
_PIXELS = {"": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "mm": 96 / 25.4, "cm": 96 / 2.54, "in": 96.0}
_INSIDE = "it may refer only to its own elements, and to PNG or JPEG pictures that it contains in base64"


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    children: list["_Element | str"] = field(default_factory=list)

    def elements(self) -> Iterator["_Element"]:
        """This element and all within it, in the order of the file."""
        waiting = [self]
        while waiting:
            one = waiting.pop()
            yield one
            waiting += [child for child in reversed(one.children) if isinstance(child, _Element)]


def cleaned_drawing(content: bytes) -> Picture:
    """An SVG that is safe to show."""
    root = _Reader().read(content)
    width, height = _size(root)
    _check_expansion(root)
    root.attributes |= {"width": f"{width:.10g}", "height": f"{height:.10g}"}
    root.attributes.setdefault("viewBox", f"0 0 {width:.10g} {height:.10g}")
    return Picture("".join(_written(root)).encode(), "image/svg+xml", width, height)


class _Reader:
    """Builds elements from the events of the parser."""

    def __init__(self) -> None:
        self._open: list[_Element] = []
        self._root: _Element | None = None
        self._skipped = 0  # levels within an element that is left out
        self._count = 0

    def read(self, content: bytes) -> _Element:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        # Entities can make a short file endless.
        parser.EntityDeclHandler = self._entity
        parser.buffer_text = True
        try:
            parser.Parse(content, True)
        except expat.ExpatError as mistake:
            raise refused(f"neither PNG nor JPEG nor valid SVG ({mistake}): it must be one of them") from None
        if self._root is None:
            raise refused("an empty file: it must be PNG, JPEG or SVG")
        return self._root

    def _entity(self, name: str, *_: object) -> None:
        raise refused(f"an SVG that declares the entity {name[:40]!r}: entities are not allowed")

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > _MOST_ELEMENTS or len(self._open) + self._skipped > _DEEPEST:
            raise refused(
                f"an SVG with more than {_MOST_ELEMENTS:,} elements, or nested deeper than {_DEEPEST}: it must be "
                "simpler"
            )
        space, _, name = qualified.rpartition(" ")
        if name in _ACTIVE:
            raise refused(f"an SVG with the element {name!r}: a picture must not contain active content")
        if self._root is None and name == "svg" and not space:
            raise refused(f'an SVG without a namespace: its first element must have xmlns="{_SVG}"')
        if self._root is None and (space, name) != (_SVG, "svg"):
            raise refused(f"an XML file that begins with {name[:40]!r}: it must be PNG, JPEG or SVG")
        kept = self._attributes(name, attributes)  # also for elements that are left out, so that handlers are found
        if self._skipped or space != _SVG or name not in _DRAWN:
            self._skipped += 1
            return
        element = _Element("g" if name == "a" else name, kept)  # a link within a picture leads nowhere
        if self._open:
            self._open[-1].children.append(element)
        elif self._root is None:
            self._root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        done = self._open.pop()
        if done.name == "style":
            _check_style("".join(child for child in done.children if isinstance(child, str)))

    def _text(self, words: str) -> None:
        if not self._skipped and self._open and self._open[-1].name in ("text", "tspan", "textPath", "style"):
            self._open[-1].children.append(words)

    def _attributes(self, element: str, attributes: dict[str, str]) -> dict[str, str]:
        kept = {}
        for qualified, entry in attributes.items():
            space, _, name = qualified.rpartition(" ")
            if name.lower().startswith("on"):
                raise refused(f"an SVG with the handler {name[:40]!r}: a picture must not contain active content")
            if name == "href" and space in ("", _XLINK):
                if element != "a":
                    kept["href"] = _checked_link(element, entry)
            elif not space and name not in _LEFT_OUT_ATTRIBUTES:
                _check_style(entry) if name == "style" else _check_references(entry)
                kept[name] = entry
        return kept


def _checked_link(element: str, address: str) -> str:
    address = address.strip()
    if address.startswith("#"):
        return address
    inline = _INLINE.fullmatch(address) if element == "image" else None
    if inline is None:
        raise refused(f"an SVG that refers to {address[:60]!r}: {_INSIDE}")
    try:
        picture = cleaned_raster(base64.b64decode(inline[1]))
    except binascii.Error:
        picture = None
    if picture is None:
        raise refused("an SVG with a picture in it that is neither PNG nor JPEG: it must be one of them")
    return f"data:{picture.type};base64,{base64.b64encode(picture.content).decode()}"


def _check_references(text: str) -> list[str]:
    """The ids that a text refers to; anything outside the file is refused."""
    if "url" not in text.lower():
        return []
    found = _REFERENCE.findall(text)
    outside = [address for address in found if not address.startswith("#")]
    if outside or len(found) != text.lower().count("url("):
        shown = (outside or [text])[0]
        raise refused(f"an SVG that refers to {shown[:60]!r}: {_INSIDE}")
    return [address[1:] for address in found]


def _check_style(text: str) -> None:
    loads = _LOADS.search(text)
    if loads:
        raise refused(f"an SVG whose style has {loads[0]!r}: its style must be plain")
    _check_references(text)


def _size(root: _Element) -> tuple[float, float]:
    """Width and height: those that are given, otherwise those of the viewBox."""
    sides = [_LENGTH.fullmatch(root.attributes.get(name, "")) for name in ("width", "height")]
    lengths = [float(side[1]) * _PIXELS[side[2]] for side in sides if side]
    if len(lengths) < 2:
        try:
            _, _, *lengths = (float(part) for part in re.split(r"[\s,]+", root.attributes.get("viewBox", "").strip()))
        except ValueError:
            lengths = []
    if len(lengths) != 2 or not all(1e-3 < length < 1e7 for length in lengths):
        raise refused("an SVG without a size: it must have a width and a height, or a viewBox")
    width, height = lengths
    return width, height


def _check_expansion(root: _Element) -> None:
    """Refuse drawings that grow too large when every reference is replaced by what it refers to."""
    named = {one.attributes["id"]: one for one in root.elements() if one.attributes.get("id")}
    drawn: dict[int, int] = {}  # elements that are drawn for one, with all that it refers to
    begun: set[int] = set()
    waiting = [root]
    while waiting:
        one = waiting[-1]
        parts = [child for child in one.children if isinstance(child, _Element)]
        parts += [named[name] for name in _referred(one) if name in named]
        if id(one) not in begun:
            begun.add(id(one))
            fresh = [part for part in parts if id(part) not in begun]
            circular = [part for part in parts if id(part) in begun and id(part) not in drawn]
            if circular:
                raise refused(
                    f"an SVG in which {circular[0].name!r} refers to itself: references must not go in circles"
                )
            waiting += fresh
            continue
        waiting.pop()
        if id(one) not in drawn:
            drawn[id(one)] = 1 + sum(drawn.get(id(part), 0) for part in parts)
            if drawn[id(one)] > _MOST_DRAWN:
                raise refused(f"an SVG that draws more than {_MOST_DRAWN:,} elements: it must be simpler")
    for one in root.elements():
        if one.name == "style":
            text = "".join(child for child in one.children if isinstance(child, str))
            for name in _check_references(text):
                # What a style refers to is drawn for any number of elements.
                if name in named and named[name].name not in _TINTS:
                    raise refused(
                        f"an SVG whose <style> element refers to {name[:40]!r}: it may refer only to gradients"
                    )


def _referred(one: _Element) -> Iterator[str]:
    for name, entry in one.attributes.items():
        if name == "href":
            if entry.startswith("#"):
                yield entry[1:]
        else:
            yield from _check_references(entry)


def _written(root: _Element) -> Iterator[str]:
    """The drawing as text. Its depth is limited, so recursion is safe."""

    def write(one: _Element, space: str = "") -> Iterator[str]:
        attributes = "".join(f" {name}={quoteattr(entry)}" for name, entry in one.attributes.items())
        yield f"<{one.name}{space}{attributes}>"
        for child in one.children:
            if isinstance(child, str):
                yield escape(child)
            else:
                yield from write(child)
        yield f"</{one.name}>"

    yield from write(root, f' xmlns="{_SVG}"')
