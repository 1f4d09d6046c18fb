"""The two inputs that an audit compares, and the draws for them: what audits of numbers and of answers share."""

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from numpy.typing import NDArray

from sottovoce.errors import BadParameter, BadRow, UnreadableFile
from sottovoce.privacy.audit.result import Evidence
from sottovoce.privacy.laws import Law
from sottovoce.privacy.sampler import ByteStream
from sottovoce.progress import Progress
from sottovoce.text_tables import read_rows

if TYPE_CHECKING:
    from sottovoce.privacy.answers import AnswerGuarantee
    from sottovoce.privacy.guarantee import Guarantee

FEWEST_DRAWS = 1000
_COLUMNS = ("side", "release", "reading", "value")

# Turns the readings of one release into what is sent for each of them.
Sampler = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class SampledOutputs(ABC):
    """What a sampler sent for each of the two inputs: arrays of releases × readings (× cells)."""

    sides: tuple[NDArray[Any], NDArray[Any]]
    value_rule: ClassVar[str]  # what a value in a file must be, in words

    def __post_init__(self) -> None:
        for number, side in enumerate(self.sides):
            if len(side) < FEWEST_DRAWS:
                raise BadParameter(
                    f"{len(side):,} releases on side {number}: at least {FEWEST_DRAWS:,} are needed; draw more"
                )

    @classmethod
    def of(
        cls, sampler: Sampler, setting: "Neighbours[Any]", samples: int, progress: Progress[int, int] | None = None
    ) -> Self:
        """Draw ``samples`` releases for each input, in turn."""
        inputs = setting.inputs()
        sides: tuple[list[Sequence[Any]], list[Sequence[Any]]] = ([], [])
        for done in range(samples):
            for readings, side in zip(inputs, sides, strict=True):
                outputs = sampler(list(readings))
                if len(outputs) != len(readings):
                    raise BadParameter(
                        f"{len(outputs)} outputs for {len(readings)} readings: one output per reading is needed; "
                        "correct the sampler"
                    )
                side.append(outputs)
            if progress and done % 256 == 0:
                progress(done, samples)
        return cls((cls._array(sides[0], setting.readings), cls._array(sides[1], setting.readings)))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read draws made elsewhere: CSV with columns side (0 or 1), release, reading and value."""
        releases: tuple[dict[str, dict[int, Any]], dict[str, dict[int, Any]]] = ({}, {})
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError, csv.Error) as mistake:
            raise UnreadableFile(f"{path}: it cannot be read as CSV ({mistake}); check the path") from None
        for number, (_, row) in enumerate(read_rows(str(path), text, _COLUMNS), 1):
            side, release, reading, output = cls._row(row, number)
            if reading in releases[side].setdefault(release, {}):
                raise BadRow(
                    f"row {number}: side {side}, release {release}, reading {reading} occurs twice, "
                    "but a release has each reading once; remove one of them"
                )
            releases[side][release][reading] = output
        readings = sorted({reading for side in releases for outputs in side.values() for reading in outputs})
        for side, side_releases in enumerate(releases):
            for release, outputs in side_releases.items():
                if len(outputs) != len(readings):
                    raise BadRow(
                        f"side {side}, release {release}: it has {len(outputs)} of {len(readings)} readings, "
                        "but every release must have all; add the missing ones"
                    )
        ordered = [[[outputs[r] for r in readings] for outputs in side.values()] for side in releases]
        return cls((cls._array(ordered[0], len(readings)), cls._array(ordered[1], len(readings))))

    @classmethod
    def _row(cls, row: dict[str, str], number: int) -> tuple[int, str, int, Any]:
        try:
            side, reading = int(row["side"]), int(row["reading"])
            entry = side, row["release"], reading, cls._value(row["value"])
        except (KeyError, ValueError):
            shown = ", ".join(row.get(column, "") for column in _COLUMNS)
            raise BadRow(
                f"row {number} ({shown}): side and reading must be whole numbers, and value must be {cls.value_rule}; "
                "correct it"
            ) from None
        if side not in (0, 1):
            raise BadRow(f"row {number}: side {side} must be 0 or 1, for the first or the second input; correct it")
        return entry

    @classmethod
    @abstractmethod
    def _value(cls, text: str) -> Any:
        """Parse a value in a file; a ValueError means that it is not valid."""

    @classmethod
    @abstractmethod
    def _array(cls, releases: Sequence[Sequence[Any]], readings: int) -> NDArray[Any]:
        """The outputs of one side."""

    @property
    def readings(self) -> int:
        return int(self.sides[0].shape[1])

    def half(self, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Every second release: 0 to choose the event, 1 to measure it."""
        return self.sides[0][number::2], self.sides[1][number::2]


AnyLaw = TypeVar("AnyLaw", bound=Law)


class Neighbours(ABC, Generic[AnyLaw]):
    """Two neighbouring inputs, which differ in the first reading only."""

    readings: int

    @abstractmethod
    def inputs(self) -> tuple[list[Any], list[Any]]:
        """The readings of both sides."""

    @abstractmethod
    def guarantee(self, law: AnyLaw) -> "Guarantee | AnswerGuarantee":
        """What a law promises about them."""

    @abstractmethod
    def device(self, law: AnyLaw, stream: ByteStream | None = None) -> Sampler:
        """What devices run, as a sampler."""

    @abstractmethod
    def draw(self, sampler: Sampler, samples: int, progress: Progress[int, int] | None = None) -> SampledOutputs:
        """Releases of a sampler for each input."""

    @abstractmethod
    def evidence(self, draws: Any, law: AnyLaw, delta: float) -> Evidence:
        """What the draws show about a law, at this δ."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """For JSON."""
