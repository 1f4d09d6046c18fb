"""A building for simulated hallways, drawn to scale as on an architect's plan.

Corridors run from left to right, one below the other; side halls branch off downwards. Nothing is drawn at random, so
the same lengths give the same building.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from sottovoce.claims.writing import whole_file

Segment = tuple[float, float, float, float]  # from x, y to x, y in metres; y grows upwards

_HALL = 2.4  # metres: how wide hallways are
_EDGE = 4.0  # metres between the outer wall and the nearest hallway
_WALL = 0.35
_SIDE = 3  # every third hallway is a side hall


@dataclass(frozen=True)
class Building:
    """Hallways by name, and the size of the building in metres."""

    halls: dict[str, Segment]
    width: float
    height: float

    @classmethod
    def of(cls, names: Sequence[str], lengths: Sequence[float]) -> "Building":
        """A building about as wide as it is high, with hallways of these lengths.

        >>> Building.of(["upper", "lower"], [10.0, 5.0]).halls["upper"]
        (4.0, 7.6, 14.0, 7.6)
        """
        along = [length for place, length in enumerate(lengths) if place % _SIDE != _SIDE - 1]
        deepest = max([length for place, length in enumerate(lengths) if place % _SIDE == _SIDE - 1], default=0.0)
        storey = deepest + 1.5 * _HALL
        rows = max(1, round(sum(along) / math.sqrt(1.2 * sum(along) * storey)))
        wide = max(sum(along) / rows + max(along) / 2, max(along))  # so that no row is nearly empty
        halls: list[Segment] = []
        x = y = widest = 0.0
        for place, length in enumerate(lengths):
            if place % _SIDE == _SIDE - 1:
                halls.append((x, y, x, y - length))
                continue
            if x and x + length > wide:
                x, y = 0.0, y - storey
            halls.append((x, y, x + length, y))
            x += length
            widest = max(widest, x)
        lowest = min(min(hall[1], hall[3]) for hall in halls)
        left, below = _EDGE, _EDGE - lowest
        moved = [(x1 + left, y1 + below, x2 + left, y2 + below) for x1, y1, x2, y2 in halls]
        return cls(dict(zip(names, moved, strict=True)), widest + 2 * _EDGE, 2 * _EDGE - lowest)

    def svg(self) -> bytes:
        """The plan as a picture, ten pixels to a metre."""
        rows = sorted({y1 for _, y1, _, y2 in self.halls.values() if y1 == y2})
        stairs = [(_EDGE, low, _EDGE, high) for low, high in pairwise(rows)]
        path = "".join(
            f"M{10 * x1:.1f} {10 * (self.height - y1):.1f}L{10 * x2:.1f} {10 * (self.height - y2):.1f}"
            for x1, y1, x2, y2 in (*stairs, *self.halls.values())
        )
        width, height = f"{10 * self.width:.1f}", f"{10 * self.height:.1f}"

        def strips(colour: str, wide: float) -> str:
            ends = 'fill="none" stroke-linecap="square" stroke-linejoin="miter"'
            return f'<path d="{path}" {ends} stroke="{colour}" stroke-width="{10 * wide:.1f}"/>'

        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            f'<rect x="3" y="3" width="{10 * self.width - 6:.1f}" height="{10 * self.height - 6:.1f}" fill="#efe9dd" '
            'stroke="#8d8675" stroke-width="6"/>'
            f"{strips('#8d8675', _HALL + 2 * _WALL)}{strips('#fffdf9', _HALL)}</svg>"
        ).encode()

    def geojson(self) -> dict[str, Any]:
        """Where the hallways lie, in metres from the lower left corner of the plan."""
        return {
            "type": "FeatureCollection",
            "bbox": [0, 0, round(self.width, 3), round(self.height, 3)],
            "features": [
                {
                    "type": "Feature",
                    "properties": {"task": name},
                    "geometry": {
                        "type": "LineString",
                        "coordinates": [[round(x1, 3), round(y1, 3)], [round(x2, 3), round(y2, 3)]],
                    },
                }
                for name, (x1, y1, x2, y2) in self.halls.items()
            ],
        }

    def write(self, folder: Path) -> None:
        """Write ``plan.svg`` and ``places.geojson`` into a folder."""
        for name, content in (("plan.svg", self.svg()), ("places.geojson", json.dumps(self.geojson()).encode())):
            with whole_file(folder / name) as temporary:
                temporary.write_bytes(content)
