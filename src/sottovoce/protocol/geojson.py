"""Places of tasks from GeoJSON (RFC 7946), and a plan drawn from it where there is no picture.

Coordinates are those of a plane, whatever they measure: metres from a corner, pixels, a national grid. No other source
is consulted.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from sottovoce.errors import UnreadableFile
from sottovoce.protocol.format_2 import MOST_POINTS, WIDTH_OF_PLAN

Place = list[list[int]]  # in parts of the plan's width and height, from its upper left corner
Point = tuple[float, float]

_MARGIN = 0.04  # of a drawn plan, on each side
_NARROWEST = 0.1  # of a drawn plan: the shorter side, as a share of the longer one
_DRAWN_WIDTH = 1000
_OPEN = {"LineString": 1, "MultiLineString": 2}
_CLOSED = {"Polygon": 2, "MultiPolygon": 3}


@dataclass(frozen=True)
class Frame:
    """The coordinates of the picture's edges. Either axis may run backwards, as pixels do from the top down."""

    left: float
    bottom: float
    right: float
    top: float

    def __post_init__(self) -> None:
        ends = (self.left, self.bottom, self.right, self.top)
        if not all(map(math.isfinite, ends)) or self.left == self.right or self.bottom == self.top:
            raise UnreadableFile(
                f"frame {':'.join(f'{end:g}' for end in ends)}: it must be the finite coordinates of the picture's "
                "left, bottom, right and top edges, with opposite edges apart; for example 0:0:80:60"
            )

    @classmethod
    def parse(cls, text: str) -> "Frame":
        """Four numbers between colons.

        >>> Frame.parse("0:600:800:0")
        Frame(left=0.0, bottom=600.0, right=800.0, top=0.0)
        """
        try:
            left, bottom, right, top = map(float, text.split(":"))
        except ValueError:
            raise UnreadableFile(
                f"frame {text[:60]!r}: it must be four numbers, LEFT:BOTTOM:RIGHT:TOP; for example 0:0:80:60"
            ) from None
        return cls(left, bottom, right, top)

    def within(self, point: Point) -> Point:
        """Where a point lies, as shares of the width from the left and of the height from the top."""
        x, y = point
        return (x - self.left) / (self.right - self.left), (self.top - y) / (self.top - self.bottom)


@dataclass(frozen=True)
class Shape:
    """One line or outline of a file, or a single point."""

    points: list[Point]
    task: str | None
    closed: bool


@dataclass(frozen=True)
class PlacesFile:
    """The shapes in a file, and its edges."""

    name: str
    shapes: list[Shape]
    bounds: Frame | None  # the edges, if the file states them

    @classmethod
    def parse(cls, name: str, text: str, tasks: Collection[str]) -> "PlacesFile":
        """Read a file; messages call it ``name``. Features that name no task appear only where a plan is drawn."""
        try:
            document = json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError) as mistake:
            raise UnreadableFile(f"{name}: {mistake}; it must be GeoJSON, in UTF-8") from None
        kind = document.get("type") if isinstance(document, dict) else None
        features = document.get("features") if kind == "FeatureCollection" else [document]
        if kind not in ("Feature", "FeatureCollection") or not isinstance(features, list):
            raise UnreadableFile(f"{name}: a GeoJSON file of places must be a FeatureCollection; export it as one")
        shapes = [
            shape
            for number, feature in enumerate(features, 1)
            for shape in _shapes(f"{name}, feature {number}", feature, tasks)
        ]
        named = [shape.task for shape in shapes if shape.task is not None]
        if not named:
            raise UnreadableFile(
                f"{name}: no feature has the id of a task; give each a property 'task' with the id of its task, such "
                f"as {next(iter(tasks), 'hall-1')!r}"
            )
        twice = next((task for place, task in enumerate(named) if task in named[:place]), None)
        if twice is not None:
            raise UnreadableFile(f"{name}: task {twice!r} has two places; keep one of them, as one point or line")
        return cls(name, shapes, _bounds(name, document.get("bbox")))

    def places(self, frame: Frame | None = None) -> dict[str, Place]:
        """The places of the tasks on a picture with these edges, or with those that the file states."""
        edges = frame or self.bounds
        if edges is None:
            raise UnreadableFile(
                f"{self.name}: the coordinates of the picture's edges are not given; add "
                '"bbox": [left, bottom, right, top] to the file, or give the frame LEFT:BOTTOM:RIGHT:TOP'
            )
        return {shape.task: self._place(shape, edges) for shape in self.shapes if shape.task is not None}

    def _place(self, shape: Shape, frame: Frame) -> Place:
        place: Place = []
        for point in shape.points:
            shares = frame.within(point)
            if not all(-1e-9 <= share <= 1 + 1e-9 for share in shares):
                raise UnreadableFile(
                    f"{self.name}: task {shape.task!r} at {point[0]:g}, {point[1]:g}: it must lie on the picture, from "
                    f"{frame.left:g}, {frame.bottom:g} to {frame.right:g}, {frame.top:g}; correct it or the frame"
                )
            spot = [min(max(round(share * WIDTH_OF_PLAN), 0), WIDTH_OF_PLAN) for share in shares]
            if spot not in place[-1:]:
                place.append(spot)
        if len(place) > MOST_POINTS:
            raise UnreadableFile(
                f"{self.name}: task {shape.task!r} has {len(place)} points: a line has at most {MOST_POINTS}; "
                "simplify it"
            )
        return place

    def drawn(self, frame: Frame | None = None) -> tuple[bytes, Frame]:
        """A plan as SVG, drawn from everything in the file, and its edges."""
        edges = frame or self.bounds or self._around()
        height = _DRAWN_WIDTH * abs((edges.top - edges.bottom) / (edges.right - edges.left))
        height = min(max(height, _NARROWEST * _DRAWN_WIDTH), _DRAWN_WIDTH / _NARROWEST)
        paths = "".join(self._path(shape, edges, height) for shape in self.shapes if len(shape.points) > 1)
        size = f'width="{_DRAWN_WIDTH}" height="{height:.0f}" viewBox="0 0 {_DRAWN_WIDTH} {height:.0f}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
            f'<rect width="{_DRAWN_WIDTH}" height="{height:.0f}" fill="#fffdf9"/>{paths}</svg>'
        ).encode(), edges

    def _path(self, shape: Shape, frame: Frame, height: float) -> str:
        spots = [(x * _DRAWN_WIDTH, y * height) for x, y in map(frame.within, shape.points)]
        line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in spots) + ("Z" if shape.closed else "")
        look = (
            'fill="none" stroke="#e4ded2" stroke-width="12" stroke-linecap="round" stroke-linejoin="round"'
            if shape.task is not None
            else f'fill="{"#efe9dd" if shape.closed else "none"}" stroke="#a9a294" stroke-width="2"'
        )
        return f"<path d={quoteattr(line)} {look}/>"

    def _around(self) -> Frame:
        """A frame around everything, with a margin, and not too narrow."""
        (left, right), (bottom, top) = ((min(ends), max(ends)) for ends in zip(*self._points(), strict=True))
        width, height = right - left, top - bottom
        widest = max(width, height) or 1.0
        across, up = max(width, _NARROWEST * widest), max(height, _NARROWEST * widest)
        x, y = (across - width) / 2 + _MARGIN * widest, (up - height) / 2 + _MARGIN * widest
        return Frame(left - x, bottom - y, right + x, top + y)

    def _points(self) -> Iterator[Point]:
        for shape in self.shapes:
            yield from shape.points


def as_geojson(places: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, Any]:
    """Places as a file that can be read again: the plan is 1 wide and 1 high, and the second axis points upwards."""

    def spot(point: Sequence[int]) -> list[float]:
        return [point[0] / WIDTH_OF_PLAN, (WIDTH_OF_PLAN - point[1]) / WIDTH_OF_PLAN]

    return {
        "type": "FeatureCollection",
        "bbox": [0, 0, 1, 1],
        "features": [
            {
                "type": "Feature",
                "properties": {"task": task},
                "geometry": {"type": "Point", "coordinates": spot(place[0])}
                if len(place) == 1
                else {"type": "LineString", "coordinates": [spot(point) for point in place]},
            }
            for task, place in places.items()
        ],
    }


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is not a coordinate")


def _shapes(where: str, feature: Any, tasks: Collection[str]) -> Iterator[Shape]:
    if not isinstance(feature, dict) or feature.get("type") != "Feature":
        raise UnreadableFile(f"{where}: it must be a GeoJSON Feature; export the file again")
    geometry = feature.get("geometry")
    if geometry is None:
        return
    kind, coordinates = (geometry.get("type"), geometry.get("coordinates")) if isinstance(geometry, dict) else (0, 0)
    task = _task_of(where, feature, tasks)
    if task is not None and kind not in ("Point", "LineString"):
        raise UnreadableFile(f"{where}: task {task!r} is a {kind}; a place must be a Point or a LineString")
    if kind == "Point":
        yield Shape([_point(where, coordinates)], task, closed=False)
    elif kind in _OPEN or kind in _CLOSED:
        for line in _lines(where, coordinates, _OPEN.get(kind) or _CLOSED[kind]):
            yield Shape([_point(where, point) for point in line], task, closed=kind in _CLOSED)
    elif kind not in ("MultiPoint", "GeometryCollection"):
        raise UnreadableFile(f"{where}: {str(kind)[:40]!r} is not a GeoJSON geometry; export the file again")


def _task_of(where: str, feature: dict[str, Any], tasks: Collection[str]) -> str | None:
    properties = feature.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    if properties.get("task") is not None:
        task = str(properties["task"])
        if task not in tasks:
            raise UnreadableFile(f"{where}: task {task[:100]!r} is unknown; use the ids of the campaign's tasks")
        return task
    ids = (str(entry) for entry in (feature.get("id"), properties.get("id"), properties.get("name")) if entry)
    return next((entry for entry in ids if entry in tasks), None)


def _lines(where: str, coordinates: Any, depth: int) -> Iterator[list[Any]]:
    if not isinstance(coordinates, list) or not coordinates:
        raise UnreadableFile(f"{where}: its coordinates are missing; export the file again")
    if depth == 1:
        yield coordinates
    else:
        for part in coordinates:
            yield from _lines(where, part, depth - 1)


def _point(where: str, coordinates: Any) -> Point:
    numbers = coordinates[:2] if isinstance(coordinates, list) else []
    if len(numbers) < 2 or not all(map(_is_coordinate, numbers)):
        raise UnreadableFile(
            f"{where}: a point must be two numbers between -10^15 and 10^15, such as [12.5, 3]; correct it"
        )
    return float(numbers[0]), float(numbers[1])


def _is_coordinate(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and abs(number) < 1e15


def _bounds(name: str, box: Any) -> Frame | None:
    if box is None:
        return None
    half = len(box) // 2 if isinstance(box, list) else 0
    if half not in (2, 3) or len(box) % 2 or not all(map(_is_coordinate, (*box[:2], *box[half : half + 2]))):
        raise UnreadableFile(
            f"{name}: its bbox must be [left, bottom, right, top], four numbers between -10^15 and 10^15; correct it"
        )
    left, bottom, right, top = map(float, (*box[:2], *box[half : half + 2]))
    if left == right or bottom == top:
        raise UnreadableFile(
            f"{name}: its bbox must be [left, bottom, right, top], with opposite edges apart; correct it"
        )
    return Frame(left, bottom, right, top)
