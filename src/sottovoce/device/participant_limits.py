"""A participant's own limits: what a campaign must promise before the device takes part.

`sottovoce.protocol.promise` computes what a manifest promises. For laws without exceptions it uses plain Python. For
the others it loads NumPy and uses the sums of `sottovoce.privacy.guarantee`, since a simple bound would refuse
campaigns that keep the limit. `sottovoce.device.sanity` checks the result independently. What several campaigns learn
together is bounded by basic composition: ε and δ add up.
"""

import math
from dataclasses import dataclass, fields
from fractions import Fraction

from sottovoce.device.sanity import check_promise
from sottovoce.errors import BadParameter
from sottovoce.protocol import Manifest, NumberTask, Problem, Promise, promise_of
from sottovoce.protocol.manifest import MOST_GRIDS

_TOLERANCE = 1e-9  # figures are doubles: a sum of promises may exceed a round limit by this much


@dataclass(frozen=True)
class Limits:
    """The largest ε and δ of one campaign, its smallest distance, and the largest ε and δ of all campaigns together.

    The distance is a share of a task's range, since ranges have all kinds of units: with 0.01, values that lie a
    hundredth of the range apart must be hard to distinguish.
    """

    epsilon: float = 3.0
    delta: float = 1e-5
    distance: float = 0.001
    total_epsilon: float = 10.0
    total_delta: float = 1e-4

    def __post_init__(self) -> None:
        for field in fields(self):
            limit, zero_is_fine = getattr(self, field.name), "delta" in field.name
            if not (0 <= limit < math.inf and (limit > 0 or zero_is_fine)):
                rule = f"it must be {'0 or ' * zero_is_fine}a finite number above 0"
                raise BadParameter(f"limit {field.name} {limit!r}: {rule}; correct it, or leave it out")
        for name in ("delta", "total_delta"):
            if (limit := getattr(self, name)) >= 1:
                raise BadParameter(f"limit {name} {limit!r}: it is a probability and must be below 1; 1e-5 is typical")
        if self.distance > 1:
            raise BadParameter(
                f"limit distance {self.distance!r}: it is a share of a task's range, at most 1; 0.001 is typical"
            )

    def judge(self, manifest: Manifest) -> Promise:
        """What the manifest promises; a problem if that is less than this participant requires."""
        for task in manifest.tasks:
            distance = manifest.part_of(task).protected_distance
            if distance is None or not isinstance(task, NumberTask):
                continue  # any value is protected
            width = Fraction(task.high) - Fraction(task.low)
            if Fraction(distance) < Fraction(repr(self.distance)) * width:
                raise Problem(
                    "weaker_than_limits",
                    f"distance {distance} on task {task.id!r}: only values this close together are protected; your "
                    f"limit is {float(width) * self.distance:.4g}, which is {self.distance:.4g} of the task's range",
                )
        long = [part for part in manifest.parts if not part.is_pure]  # the others take one division each
        if len(long) > MOST_GRIDS:
            raise Problem(
                "too_many_grids",
                f"tasks with {len(long):,} different pairs of grid and distance: a device checks at most {MOST_GRIDS}",
            )
        promise = promise_of(manifest, self.delta, enough=self.epsilon)
        self.check(promise)
        check_promise(manifest, promise)
        return promise

    def check(self, promise: Promise) -> None:
        """Refuse a promise that is weaker than these limits."""
        if promise.epsilon == math.inf:
            raise Problem(
                "weaker_than_limits",
                f"the noise: with a delta of {promise.delta:.3g} no epsilon holds, so the campaign promises nothing",
            )
        # Written so that NaN is refused, too.
        if not promise.epsilon <= self.epsilon * (1 + _TOLERANCE):
            raise Problem(
                "weaker_than_limits",
                f"epsilon {promise.epsilon:.4g} (with delta {promise.delta:.3g}): your limit is {self.epsilon:.4g}",
            )
        if not promise.delta <= self.delta:
            raise Problem("weaker_than_limits", f"delta {promise.delta:.3g}: your limit is {self.delta:.3g}")

    def check_total(self, spent: Promise, promise: Promise) -> None:
        """Refuse a promise that, added to all earlier releases, would exceed the limit across all campaigns."""
        for name, before, more, limit in (
            ("epsilon", spent.epsilon, promise.epsilon, self.total_epsilon),
            ("delta", spent.delta, promise.delta, self.total_delta),
        ):
            if not before + more <= limit * (1 + _TOLERANCE):
                raise Problem(
                    "budget_spent",
                    f"{name} {more:.4g}: {before:.4g} of your limit of {limit:.4g} across all "
                    "campaigns is already spent",
                )

    @property
    def preset(self) -> str | None:
        """The name of these limits in `PRESETS`, if they have one."""
        return next((name for name, limits in PRESETS.items() if limits == self), None)

    def left(self, spent: Promise) -> Promise:
        """What may still be released to new campaigns."""
        return Promise(max(0.0, self.total_epsilon - spent.epsilon), max(0.0, self.total_delta - spent.delta))


PRESETS = {
    "strict": Limits(epsilon=1.0, delta=1e-6, distance=0.01, total_epsilon=5.0, total_delta=1e-5),
    "usual": Limits(),
    "loose": Limits(epsilon=8.0, delta=1e-4, distance=0.0001, total_epsilon=30.0, total_delta=1e-3),
}
