"""The audit of numbers: n readings of zero, and the same with the first reading moved by the distance.

The distance is rounded up to the grid. The checks are those of `sottovoce.privacy.conformity`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sottovoce.errors import BadParameter
from sottovoce.privacy import sampler as devices
from sottovoce.privacy.audit.events import most_telling
from sottovoce.privacy.audit.inputs import Neighbours, SampledOutputs, Sampler
from sottovoce.privacy.audit.result import Evidence, epsilon_bound
from sottovoce.privacy.conformity import Numbers, conformity
from sottovoce.privacy.guarantee import Guarantee
from sottovoce.privacy.laws import NoiseLaw
from sottovoce.privacy.sampler import ByteStream, exact_number
from sottovoce.progress import Progress


@dataclass(frozen=True)
class NumberDraws(SampledOutputs):
    """Outputs in grid steps, releases × readings, for each of the two inputs."""

    value_rule = "a number"

    def __post_init__(self) -> None:
        super().__post_init__()
        for number, side in enumerate(self.sides):
            if not np.isfinite(side).all():
                odd = side[~np.isfinite(side)][0]
                raise BadParameter(
                    f"output {odd} on side {number}: outputs must be finite numbers; correct the sampler"
                )

    @classmethod
    def _value(cls, text: str) -> float:
        return float(text)

    @classmethod
    def _array(cls, releases: Sequence[Sequence[Any]], readings: int) -> Numbers:
        return np.array(releases, float).reshape(-1, max(1, readings))


@dataclass(frozen=True)
class NumberSetting(Neighbours[NoiseLaw]):
    """The two inputs: ``readings`` readings, the first of which differs by ``distance``. Outputs are in grid steps."""

    distance: float = 1.0
    grid: float | None = None  # a tenth of the distance
    readings: int = 1

    def __post_init__(self) -> None:
        for name, number in (("distance", self.distance), ("grid", 1.0 if self.grid is None else self.grid)):
            if not 0 < number < math.inf:
                raise BadParameter(
                    f"{name} {number!r}: it must be a finite number above 0; write {name} 0.5, for example"
                )

    @property
    def step(self) -> float:
        """The grid."""
        return float(exact_number(self.distance) / 10) if self.grid is None else self.grid

    @property
    def shift(self) -> int:
        """How many steps apart the inputs are: a distance between grid steps is rounded up."""
        return math.ceil(exact_number(self.distance) / exact_number(self.step))

    def inputs(self) -> tuple[list[float], list[float]]:
        """The readings of both sides."""
        others = [0.0] * (self.readings - 1)
        return [0.0, *others], [float(self.shift * exact_number(self.step)), *others]

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return {"distance": self.distance, "grid": self.step, "readings": self.readings}

    def __str__(self) -> str:
        readings = f"{self.readings} reading{'s' * (self.readings != 1)}"
        return f"Two inputs of {readings}, whose first readings are {self.distance:g} apart, on a grid of {self.step:g}"

    def guarantee(self, law: NoiseLaw) -> Guarantee:
        return law.guarantee(distance=self.distance, readings=self.readings, grid=self.step)

    def device(self, law: NoiseLaw, stream: ByteStream | None = None) -> Sampler:
        """What devices run, as a sampler: a task's range spans the two inputs, and readings come from far outside it.

        A reading lies as far beyond its end of the range as the range is wide, so that a device that does not clip is
        noticed.
        """
        grid = exact_number(self.step)
        width = self.shift * grid
        stream = stream or ByteStream()

        def send(readings: Sequence[float]) -> list[int]:
            ranged = [(3 * exact_number(reading) - width, Fraction(0), width) for reading in readings]
            return devices.noisy_steps(law, grid, ranged, stream)

        return send

    def draw(self, sampler: Sampler, samples: int, progress: Progress[int, int] | None = None) -> NumberDraws:
        return NumberDraws.of(sampler, self, samples, progress)

    def evidence(self, draws: NumberDraws, law: NoiseLaw, delta: float) -> Evidence:
        # The event is chosen on one half and measured on the other, so trying many needs no correction.
        event = most_telling(draws.half(0), self.shift, delta)
        often, seldom = draws.half(1) if event.favours == 0 else draws.half(1)[::-1]
        hits, misses = (int(event.holds(side, self.shift).sum()) for side in (often, seldom))
        bound = epsilon_bound(hits, misses, len(often), len(seldom), delta)
        second = draws.sides[1].copy()
        second[:, 0] -= self.shift
        checks = conformity(law.on_grid(exact_number(self.step)), (draws.sides[0], second))
        return Evidence(float(bound), str(event), checks)
