"""Laws for answers: a device holds one of several cells, and reports one or a few cells, which may not include it.

Cells are the choices of a question, or the intervals into which public cuts divide the number line.
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
    """The probabilities of a report, which names ``size`` of the ``cells``; they are public."""

    cells: int
    size: int
    hit: float  # the chance that the true cell is reported
    miss: float  # the chance that a given other cell is reported

    def chance(self, right: float) -> float:
        """The chance that a report names the right cell, if its user holds that cell with the chance ``right``."""
        return right * self.hit + (1 - right) * self.miss


@dataclass(frozen=True)
class AnswerLaw(Law):
    """A law for answers."""

    kinds: ClassVar[tuple[Kind, ...]] = ("choice",)

    @property
    def cells_reported(self) -> int:
        """How many cells an answer reports: one, or a set of this size."""
        return 1

    def check_cells(self, cells: int) -> None:
        """Refuse a number of cells for which the law is not defined."""
        if isinstance(cells, bool) or not isinstance(cells, int) or not 2 <= cells <= MOST_CELLS:
            raise BadParameter(
                f"choices {cells!r}: there must be at least 2 and at most {MOST_CELLS:,}; write 4, for example"
            )

    @abstractmethod
    def channel(self, cells: int) -> Channel:
        """How likely each report is, for a true cell out of this many."""

    @abstractmethod
    def shifts(self, cells: Sequence[int], stream: "ByteStream") -> list[tuple[int, ...]]:
        """How far each answer of one participant is shifted, for answers out of these numbers of cells.

        Shifts are drawn without looking at the answers. An answer has one shift per reported cell.
        """

    def simulate(
        self, truths: "NDArray[np.integer]", users: "NDArray[np.integer]", cells: int, rng: "np.random.Generator"
    ) -> "NDArray[np.int64]":
        """Reported cells (answers × cells reported, in ascending order), for experiments only.

        ``users`` gives the user of each answer. Devices never use this: they draw `shifts`.
        """
        import numpy as np

        self.check_cells(cells)
        moved = (np.asarray(truths)[:, None] + self._simulated_shifts(np.asarray(users), cells, rng)) % cells
        return np.sort(moved, axis=1)

    @abstractmethod
    def _simulated_shifts(
        self, users: "NDArray[np.integer]", cells: int, rng: "np.random.Generator"
    ) -> "NDArray[np.int64]":
        """The same as `shifts`, for all users at once, with NumPy's random numbers."""

    def in_words(self, cells: int, language: str = "en") -> str:
        """What happens to an answer out of this many choices or levels, for a participant."""
        from sottovoce.privacy.sentence import answer_words

        return answer_words(self.channel(cells), language)

    def guarantee(self, choices: int = 2, readings: int = 30, unit: Unit = "reading") -> "AnswerGuarantee":
        """What the law guarantees for a participant with ``readings`` answers; see `sottovoce.privacy.answers`."""
        from sottovoce.privacy.answers import AnswerGuarantee

        return AnswerGuarantee(self, choices, readings, unit)

    @abstractmethod
    def profile(self, cells: int, readings: int, moved: int) -> "Profile":
        """δ(ε) for ``readings`` answers, ``moved`` of which change: an upper bound for all parameters."""

    @abstractmethod
    def least_epsilon(self, cells: int, readings: int, moved: int, delta: float) -> float:
        """A lower bound on the true ε at this δ, by a formula short enough to check by hand.

        It shares no code with the profiles: where the two disagree, one of them is wrong, and devices send nothing.
        """

    @abstractmethod
    def chance_of_truth(self, cells: int) -> float:
        """A lower bound on the probability that the true cell is reported, by an equally short formula."""
