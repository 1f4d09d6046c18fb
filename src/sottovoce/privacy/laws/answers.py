"""Laws for answers: a device holds one of several cells and reports one, or a few, that need not be the true one.

Cells are the choices of a question, or the intervals that public cuts make of the number line.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws.base import Kind, Law, Unit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.privacy.answers import AnswerGuarantee
    from sottovoce.privacy.profiles import Profile
    from sottovoce.privacy.sampler import ByteStream

MOST_CELLS = 65_535


@dataclass(frozen=True)
class Channel:
    """What an analyst knows about a reported answer: ``size`` cells, out of ``cells``."""

    cells: int
    size: int
    hit: float  # the chance that the true cell is reported
    miss: float  # the chance that a given other one is

    def chance(self, right: float) -> float:
        """The chance that a user reports the right cell, if they hold it with the chance ``right``."""
        return right * self.hit + (1 - right) * self.miss


@dataclass(frozen=True)
class AnswerLaw(Law):
    """A law of randomised answers."""

    kinds: ClassVar[tuple[Kind, ...]] = ("choice",)

    @property
    def cells_reported(self) -> int:
        """How many cells an answer reports: one, or a set of this size."""
        return 1

    def check_cells(self, cells: int) -> None:
        """Refuse a number of cells for which the law says nothing."""
        if isinstance(cells, bool) or not isinstance(cells, int) or not 2 <= cells <= MOST_CELLS:
            raise BadParameter(
                f"choices {cells!r}: there must be at least 2 and at most {MOST_CELLS:,}; write 4, for example"
            )

    @abstractmethod
    def channel(self, cells: int) -> Channel:
        """How a true cell out of this many becomes a reported one."""

    @abstractmethod
    def shifts(self, cells: Sequence[int], stream: "ByteStream") -> list[tuple[int, ...]]:
        """How far each answer of one participant is shifted, for answers out of these numbers of cells.

        Shifts are drawn without looking at the answers. Each answer has as many of them as cells are reported.
        """

    def simulate(
        self, truths: "NDArray[np.integer]", users: "NDArray[np.integer]", cells: int, rng: "np.random.Generator"
    ) -> "NDArray[np.int64]":
        """Reported cells (answers × cells reported, in ascending order), for experiments only.

        ``users`` says whose answer each is. Devices never use this: they draw `shifts`.
        """
        import numpy as np

        self.check_cells(cells)
        moved = (np.asarray(truths)[:, None] + self._simulated_shifts(np.asarray(users), cells, rng)) % cells
        return np.sort(moved, axis=1)

    @abstractmethod
    def _simulated_shifts(
        self, users: "NDArray[np.integer]", cells: int, rng: "np.random.Generator"
    ) -> "NDArray[np.int64]":
        """The same as `shifts`, with NumPy's random numbers."""

    def in_words(self, cells: int, language: str = "en") -> str:
        """What happens to an answer out of this many, for a participant."""
        from sottovoce.privacy.sentence import answer_words

        return answer_words(self.channel(cells), language)

    def guarantee(self, choices: int = 2, readings: int = 30, unit: Unit = "reading") -> "AnswerGuarantee":
        """What the law promises to somebody who gives ``readings`` answers; see `sottovoce.privacy.answers`."""
        from sottovoce.privacy.answers import AnswerGuarantee

        return AnswerGuarantee(self, choices, readings, unit)

    @abstractmethod
    def profile(self, cells: int, readings: int, moved: int) -> "Profile":
        """δ(ε) of ``readings`` answers, ``moved`` of which change: an upper bound for all parameters."""

    @abstractmethod
    def least_epsilon(self, cells: int, readings: int, moved: int, delta: float) -> float:
        """A lower bound on the true ε at this δ, by a formula short enough to check by hand.

        It shares no code with the profiles: where the two disagree, one of them is wrong, and devices send nothing.
        """

    @abstractmethod
    def chance_of_truth(self, cells: int) -> float:
        """A lower bound on the probability that the true cell is reported, by an equally short formula."""
