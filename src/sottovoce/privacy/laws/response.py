"""Randomised response: the true answer, or sometimes any other one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws.answers import AnswerLaw, Channel
from sottovoce.privacy.laws.base import Kind
from sottovoce.privacy.sampler import response_shifts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.privacy.profiles import Profile
    from sottovoce.privacy.sampler import ByteStream


@dataclass(frozen=True)
class Response(AnswerLaw):
    """Every set of ``size`` cells with the true one in it is e^``epsilon`` times as likely as one without it.

    With one cell this is randomised response over k cells: the true one with probability e^ε/(e^ε + k - 1). With more
    it is subset selection, which is more accurate at the same ε when there are many choices.

    S. Warner 1965, doi:10.1080/01621459.1965.10480775; M. Ye and A. Barg 2018, doi:10.1109/TIT.2018.2809790

    >>> str(Response(1.0)), str(Response(1.0, size=3))
    ('response:1.0', 'response:1.0:3')
    >>> round(Response(1.0).channel(2).hit, 6)
    0.731059
    """

    epsilon: float
    size: int = 1
    name: ClassVar[str] = "response"
    title: ClassVar[str] = "Randomised answers"
    words: ClassVar[str] = "sometimes another answer is sent, drawn at random; the promise holds for any two answers"
    label: ClassVar[str] = "randomised response"
    example: ClassVar[str] = "response:1.0"
    kinds: ClassVar[tuple[Kind, ...]] = ("number", "choice")
    is_pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size != int(self.size):
            raise BadParameter(
                f"size {self.size!r} of noise law {self.name!r}: it must be a whole number of choices; "
                f"write {self.form()}, such as response:1.0:3"
            )
        object.__setattr__(self, "epsilon", float(self.epsilon))
        object.__setattr__(self, "size", int(self.size))

    @property
    def cells_reported(self) -> int:
        return self.size

    def check_cells(self, cells: int) -> None:
        super().check_cells(cells)
        if self.size >= cells:
            raise BadParameter(
                f"noise law {self} with {cells} choices: a reported set must be smaller than the set of all choices, "
                "or it reveals nothing; choose a smaller SIZE"
            )

    def channel(self, cells: int) -> Channel:
        self.check_cells(cells)
        others = (cells - self.size) / self.size * math.exp(-self.epsilon)
        hit = 1 / (1 + others)
        return Channel(cells, self.size, hit, (self.size - 1 + others * hit) / (cells - 1))

    def shifts(self, cells: Sequence[int], stream: "ByteStream") -> list[tuple[int, ...]]:
        for count in cells:
            self.check_cells(count)
        return [response_shifts(stream, count, self.size, *self.exact("epsilon").as_integer_ratio()) for count in cells]

    def _simulated_shifts(
        self, users: "NDArray[np.integer]", cells: int, rng: "np.random.Generator"
    ) -> "NDArray[np.int64]":
        import numpy as np

        keeps = rng.random(len(users)) < self.channel(cells).hit
        if self.size == 1:
            return np.where(keeps, 0, rng.integers(1, cells, len(users)))[:, None]
        # The other cells of a set: the first cells in a random order of all but the true one.
        others = np.argsort(rng.random((len(users), cells - 1)), axis=1)[:, : self.size] + 1
        others[keeps, 0] = 0
        return np.asarray(others, np.int64)

    def profile(self, cells: int, readings: int, moved: int) -> "Profile":
        from sottovoce.privacy.answers import ResponseProfile

        self.check_cells(cells)
        return ResponseProfile(self.exact("epsilon"), cells, self.size, moved)

    def least_epsilon(self, cells: int, readings: int, moved: int, delta: float) -> float:
        if delta == 0:
            return moved * self.epsilon
        # A report names the true cell and not a given other one with the chance `decisive`, a loss of ε; the reverse
        # has the chance `decisive`·e^-ε, a loss of -ε. At least half of the time the total loss is above its mean minus
        # its standard deviation (Cantelli), and such reports are e^-total times as likely after a move.
        ratio = math.exp(-self.epsilon)
        decisive = (cells - self.size) / (cells - 1) / (1 + (cells - self.size) / self.size * ratio)
        total = math.ceil(moved * decisive * (1 - ratio) - math.sqrt(moved * decisive * (1 + ratio)))
        many = total * self.epsilon + math.log1p(-2 * delta) if delta < 0.5 else -math.inf
        one = self.epsilon + math.log1p(-delta / decisive) if delta < decisive else -math.inf
        return max(one, many)

    def chance_of_truth(self, cells: int) -> float:
        return self.size / (self.size + (cells - self.size) * math.exp(-self.epsilon))
