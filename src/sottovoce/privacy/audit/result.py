"""What an audit found: a lower bound on ε beside the promise, and the checks of the law's probabilities."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sottovoce.privacy.conformity import SMALLEST_P_VALUE, Check
from sottovoce.privacy.laws import Law

if TYPE_CHECKING:
    from sottovoce.privacy.audit.inputs import Neighbours

# The bound on ε holds with this confidence: a correct sampler fails at most once in ten thousand audits.
CONFIDENCE = 0.9999


@dataclass(frozen=True)
class Evidence:
    """What the draws show: the event that distinguishes the inputs best, the ε it proves, and the checks."""

    epsilon: float
    event: str
    checks: list[Check]


def epsilon_bound(often: Any, seldom: Any, often_draws: int, seldom_draws: int, delta: float) -> NDArray[np.float64]:
    """A lower bound on ε: ln((P - δ)/P'), P as small and P' as large as the counts allow, each at half the risk."""
    often, seldom = np.asarray(often, float), np.asarray(seldom, float)
    risk = (1 - CONFIDENCE) / 2
    low = np.where(often > 0, betaincinv(np.maximum(often, 1), often_draws - often + 1, risk), 0)
    high = np.where(seldom < seldom_draws, betaincinv(seldom + 1, np.maximum(seldom_draws - seldom, 1), 1 - risk), 1)
    excess = low - delta
    return np.where(excess > 0, np.log(np.maximum(excess, 1e-300) / high), -np.inf)


@dataclass(frozen=True)
class Audit:
    """The result of an audit. ``found_epsilon`` is a lower bound on ε at ``delta``; the law promises at most
    ``promised_epsilon`` there."""

    law: Law
    setting: "Neighbours[Any]"
    samples: int
    delta: float
    promised_epsilon: float
    found_epsilon: float
    event: str
    checks: list[Check]

    @property
    def leaks(self) -> bool:
        return self.found_epsilon > self.promised_epsilon

    @property
    def faults(self) -> list[str]:
        """What is wrong, in words; empty if nothing was found."""
        leak = (
            f"the inputs can be distinguished with ε of {self.found_epsilon:.3g} or more at δ = {self.delta:.3g}, "
            f"where at most {self.promised_epsilon:.3g} is promised ({self.event})"
        )
        failed = [
            f"check failed: {check.name} (p-value {check.p_value:.1g})" for check in self.checks if not check.passed
        ]
        return [leak] * self.leaks + failed

    @property
    def passed(self) -> bool:
        return not self.faults

    def summary(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "noise": str(self.law),
            **self.setting.summary(),
            "samples": self.samples,
            "delta": self.delta,
            "promised_epsilon": self.promised_epsilon,
            "found_epsilon": self.found_epsilon,
            "confidence": CONFIDENCE,
            "event": self.event,
            "checks": [
                {"check": c.name, "p_value": c.p_value, "threshold": SMALLEST_P_VALUE, "passed": c.passed}
                for c in self.checks
            ],
            "faults": self.faults,
            "passed": self.passed,
        }
