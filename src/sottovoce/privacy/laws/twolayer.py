"""The two-layer law of Li et al. 2018, for reproduction: each device draws how often to send the other answer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws.answers import AnswerLaw, Channel
from sottovoce.privacy.sampler import uniform, urn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sottovoce.privacy.profiles import Profile
    from sottovoce.privacy.sampler import ByteStream


@dataclass(frozen=True)
class TwoLayer(AnswerLaw):
    """Each participant draws a flip probability once, for all their answers to questions with two choices.

    It comes from Uniform(0, ½), or from Beta(``a``, ``b``) if these are given. One answer is plain randomised response
    at the mean flip probability. The more answers share one drawn probability, the weaker the guarantee, as for
    readings under one shared variance; the figures here take this into account.

    Y. Li et al., KDD 2018, doi:10.1145/3219819.3219829

    >>> str(TwoLayer()), str(TwoLayer(1.0, 3.0))
    ('twolayer:uniform', 'twolayer:beta:1.0:3.0')
    >>> f"{TwoLayer().guarantee(readings=10).pure_epsilon:.6f}"
    '2.307973'
    """

    a: float | None = None
    b: float | None = None
    name: ClassVar[str] = "twolayer"
    title: ClassVar[str] = "Two layers"
    words: ClassVar[str] = "each device draws at random, once, how often to send the other answer"
    label: ClassVar[str] = "two layers"
    example: ClassVar[str] = "twolayer:uniform"
    noised_together: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.a is not None or self.b is not None:
            super().__post_init__()

    @classmethod
    def form(cls) -> str:
        return "twolayer:uniform|beta:A:B"

    @classmethod
    def read(cls, parts: Sequence[str]) -> Self | None:
        if list(parts) == ["uniform"]:
            return cls()
        return super().read(parts[1:]) if len(parts) == 3 and parts[0] == "beta" else None

    def __str__(self) -> str:
        return f"{self.name}:uniform" if self.a is None else f"{self.name}:beta:{self.a!r}:{self.b!r}"

    def check_cells(self, cells: int) -> None:
        super().check_cells(cells)
        if cells != 2:
            raise BadParameter(
                f"noise law {self} with {cells} choices: it works only with two choices; use another law, such as "
                "response:1"
            )

    @property
    def flip(self) -> float:
        """The mean probability of the other answer."""
        return 0.25 if self.a is None else float(self.exact("a") / (self.exact("a") + self.exact("b")))

    def channel(self, cells: int) -> Channel:
        self.check_cells(cells)
        return Channel(2, 1, 1 - self.flip, self.flip)

    def shifts(self, cells: Sequence[int], stream: "ByteStream") -> list[tuple[int, ...]]:
        for count in cells:
            self.check_cells(count)
        if self.a is None:  # half of a uniform probability: a coin with a Beta(1, 1) chance and a fair one, both
            return [(int(one and uniform(stream, 2)),) for one in urn(stream, 1, 1, 1, len(cells))]
        ones, zeros = self.exact("a"), self.exact("b")
        more = math.lcm(ones.denominator, zeros.denominator)
        return [(int(one),) for one in urn(stream, int(ones * more), int(zeros * more), more, len(cells))]

    def _simulated_shifts(
        self, users: "NDArray[np.integer]", cells: int, rng: "np.random.Generator"
    ) -> "NDArray[np.int64]":
        import numpy as np

        self.check_cells(cells)
        count = int(users.max()) + 1 if len(users) else 0
        flips = rng.random(count) / 2 if self.a is None or self.b is None else rng.beta(self.a, self.b, count)
        return np.asarray(rng.random(len(users)) < flips[users], np.int64)[:, None]

    def profile(self, cells: int, readings: int, moved: int) -> "Profile":
        from sottovoce.privacy.two_layer import TwoLayerProfile

        self.check_cells(cells)
        shape = None if self.a is None else (self.exact("a"), self.exact("b"))
        return TwoLayerProfile(shape, readings, moved)

    def least_epsilon(self, cells: int, readings: int, moved: int, delta: float) -> float:
        # A single answer, as if it were the only one: the likely outcome is odds times as likely as the other.
        small, large = (1.0, 3.0) if self.a is None or self.b is None else sorted((self.a, self.b))
        likely, log_odds = 1 / (1 + small / large), math.log(large) - math.log(small)
        return log_odds + math.log1p(-delta / likely) if delta < likely else -math.inf

    def chance_of_truth(self, cells: int) -> float:
        return 1 - self.flip
