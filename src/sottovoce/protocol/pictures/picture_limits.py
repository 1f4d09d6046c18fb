"""What a picture may be at most, and how one is refused."""

from dataclasses import dataclass
from functools import cached_property

from sottovoce.protocol.canonical import sha256_of
from sottovoce.protocol.problems import Problem

MOST_BYTES = 4 << 20
MOST_LOGO_BYTES = 256 << 10
MOST_PIXELS = 16_000_000  # a phone needs four bytes of memory for each
LONGEST_SIDE = 10_000


@dataclass(frozen=True)
class Picture:
    """A picture that was checked."""

    content: bytes
    type: str
    width: float  # in pixels, or in a drawing's own units
    height: float

    @cached_property
    def sha256(self) -> str:
        return sha256_of(self.content)

    @property
    def named(self) -> dict[str, str]:
        """How a manifest names it."""
        return {"sha256": self.sha256, "type": self.type}


def check_size(width: int, height: int) -> None:
    """Refuse a raster picture that is empty, or that a phone could not show."""
    if not (0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE) or width * height > MOST_PIXELS:
        raise refused(
            f"{width:,} by {height:,} pixels: each side must have 1 to {LONGEST_SIDE:,} pixels, and the whole picture "
            f"at most {MOST_PIXELS:,}",
            fix="make it smaller",
        )


def refused(why: str, fix: str = "") -> Problem:
    return Problem("bad_picture", f"the picture, {why}", fix=fix)
