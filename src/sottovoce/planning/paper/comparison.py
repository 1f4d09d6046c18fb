"""All of the paper's figures for one campaign, as printed and as corrected, side by side."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from sottovoce.planning.paper.checks import check
from sottovoce.planning.paper.pairs import corrected_pair_distance, corrected_pair_mean
from sottovoce.planning.paper.sensitivity import (
    claimed_probability,
    corrected_distance,
    corrected_lowest_level,
    corrected_rate,
    exact_delta,
    paper_delta,
    printed_distance,
    printed_lowest_level,
    printed_rate,
    true_probability,
)
from sottovoce.planning.paper.tradeoff import (
    Frontier,
    Levels,
    TradeOffTheorem,
    useful_levels,
)
from sottovoce.planning.paper.utility import (
    corrected_alpha,
    corrected_beta,
    equal_rates,
    printed_alpha,
    printed_beta,
    printed_highest_level,
    printed_pair_distance,
    printed_pair_variance,
)

ASSUMED = (
    "The distance Δ_s (Definitions 4.5 and 4.6, Lemma 4.7) is an assumption about the data, not a bound: normal errors "
    "are unbounded. Where devices clip to a public range, its width needs no assumption.",
    "N → ∞: the mean of |x_n^s − x̂_n^s'| over the objects n is replaced by its limit √(2/π)·Y, and every user reads "
    "every object.",
    "Lemma 4.4 is about one index, not about pairs weighted w_s·ŵ_s', and the sum in its proof (Appendix B) ends at "
    "⌈(S−1)/2⌉, so that pairs are missing; over all pairs the lemma is true. As corrected it is applied to s and then "
    "to s', which assumes weights that fall as variances rise; a method that settles on one user need not have them.",
    "Assumption 4.1: users are independent, errors and noise normal, their variances exponential with the rates given.",
    "The bound goes through pairs of users and is loose: with a noise rate (λ2) of 0.5 its condition requires "
    "α > 2.2 (λ1 = 10) to 3.05 (λ1 = 1), where the measured error is 0.08 (CRH, 150 users).",
)


@dataclass(frozen=True)
class Row:
    """One quantity of the paper. None means that there is no such number, or that the formula gives none here."""

    name: str
    symbol: str
    printed: float | None
    corrected: float | None
    difference: str


@dataclass(frozen=True)
class TheoremVerdict:
    """Which of the two guarantees hold with this noise."""

    privacy: bool
    utility: bool


@dataclass(frozen=True)
class TheoremReport:
    """The paper's theorems for one campaign, as printed and as corrected, and what remains assumed."""

    level: float
    noise_rate: float
    rows: tuple[Row, ...]
    printed_verdict: TheoremVerdict
    corrected_verdict: TheoremVerdict
    printed_levels: Levels | None
    corrected_levels: Levels | None
    printed_frontier: Frontier
    corrected_frontier: Frontier
    assumed: tuple[str, ...]

    def summary(self) -> dict[str, Any]:
        """The report for programs, as `sottovoce theorem --json` prints it."""
        return asdict(self)


def compare(
    error_rate: float,
    noise_rate: float | None,
    alpha: float,
    beta: float,
    participants: int,
    epsilon: float,
    delta: float,
    b: float = 3.0,
    eta: float = 0.95,
) -> TheoremReport:
    """Lemma 4.7 and Theorems 4.3, 4.8 and 4.9 for one campaign, as printed and as corrected.

    Users err as in Assumption 4.1; utility is that of Definition 4.2, privacy that of Definitions 4.5 and 4.6.

    Parameters
    ----------
    error_rate
        Rate (λ1) of the users' error variances.
    noise_rate
        Rate (λ2) of the noise variances; None for the largest with which the corrected privacy guarantee holds.
    alpha, beta
        Utility: aggregates before and after noise differ by α or more with a chance of at most β.
    participants
        Number of users (S).
    epsilon, delta
        Privacy, for one reading that moves by Δ_s.
    b, eta
        Parameters of Δ_s; see `sensitivity_factor`.

    >>> report = compare(1.0, 0.5, alpha=4.0, beta=0.05, participants=150, epsilon=1.0, delta=0.1)
    >>> [(row.symbol, round(row.printed, 2), round(row.corrected, 2)) for row in report.rows if row.symbol == "E[Y]"]
    [('E[Y]', 3.25, 1.91)]
    """
    check(error_rate=error_rate, alpha=alpha, beta=beta, participants=participants)
    if noise_rate is None:
        noise_rate = corrected_rate(epsilon, delta, corrected_distance(error_rate, b, eta))
    check(noise_rate=noise_rate)
    level = error_rate / noise_rate
    rows = (
        *_privacy_rows(error_rate, noise_rate, epsilon, delta, b, eta),
        *_utility_rows(error_rate, level, alpha, beta, participants),
    )
    printed = TheoremVerdict(
        noise_rate <= printed_rate(epsilon, delta, printed_distance(error_rate, b, eta)),
        printed_alpha(error_rate, level) < alpha
        and level <= printed_highest_level(alpha, beta, participants, error_rate),
    )
    corrected = TheoremVerdict(
        noise_rate <= corrected_rate(epsilon, delta, corrected_distance(error_rate, b, eta)),
        corrected_beta(alpha, participants, error_rate, level) <= beta,
    )
    trade = TradeOffTheorem(beta, participants, error_rate, epsilon, delta, b, eta)
    return TheoremReport(
        level, noise_rate, rows, printed, corrected,
        trade.printed_levels(alpha), trade.corrected_levels(alpha),
        trade.printed_frontier(), trade.corrected_frontier(), ASSUMED,
    )  # fmt: skip


def _privacy_rows(
    error_rate: float, noise_rate: float, epsilon: float, delta: float, b: float, eta: float
) -> tuple[Row, ...]:
    printed, corrected = printed_distance(error_rate, b, eta), corrected_distance(error_rate, b, eta)
    claimed = claimed_probability(b, eta)
    return (
        Row(
            "distance between two readings", "Δ_s", printed, corrected,
            "γ_s/λ1 should be γ_s/√λ1; the two agree at λ1 = 1",
        ),
        Row(
            "claimed chance of at most this distance", "η(1−2e^{−b²/2}/b)", claimed, claimed,
            "the same claim, each with its own Δ_s",
        ),
        Row(
            "true chance of at most this distance", "1−exp(−√λ1·Δ_s)",
            true_probability(error_rate, printed), true_probability(error_rate, corrected),
            "the difference of two readings of one user has a Laplace distribution; as printed the claim can fail for "
            "λ1 > 1",
        ),
        Row(
            "largest noise rate for the guarantee", "λ2",
            printed_rate(epsilon, delta, printed), corrected_rate(epsilon, delta, corrected),
            "2εℓ/Δ² is valid but not tight; 2ℓ(ε+ℓ)/Δ² is tight, with ℓ = −ln(1−δ); each with its own Δ_s",
        ),
        Row(
            "smallest noise level for the guarantee", "c",
            printed_lowest_level(error_rate, epsilon, delta, b, eta), corrected_lowest_level(epsilon, delta, b, eta),
            "γ_s²/(2λ1εℓ) should be γ_s²/(2ℓ(ε+ℓ)), from which λ1 cancels",
        ),
        Row(
            "δ at this noise rate", "δ(ε)",
            paper_delta(noise_rate, printed, epsilon), exact_delta(noise_rate, corrected, epsilon),
            "1−exp(−λ2Δ²/(2ε)) is an upper bound on the exact one; each with its own Δ_s",
        ),
    )  # fmt: skip


def _utility_rows(error_rate: float, level: float, alpha: float, beta: float, participants: int) -> tuple[Row, ...]:
    useful = useful_levels(alpha, beta, participants, error_rate)
    appendix = equal_rates(error_rate)
    return (
        Row(
            "mean distance between two users", "E[Y]",
            _finite(printed_pair_distance(error_rate, level)), corrected_pair_distance(error_rate, level),
            "√2(1+√c) should be 2(1+√c); as printed it is infinite at c = 1 and negative just below",
        ),
        Row(
            "error that α must exceed", "α_{λ1,c}",
            _finite(printed_alpha(error_rate, level)), corrected_alpha(error_rate, level),
            "it is 2√(2/π)·E[Y], so the mistake in E[Y] affects it",
        ),
        Row(
            "variance of the mean over all pairs", "Var(mean Y)",
            _finite(printed_pair_variance(error_rate, level, participants)),
            corrected_pair_mean(error_rate, level, participants).variance,
            "pairs share users, so it falls as 1/S, not 1/S²",
        ),
        Row(
            "chance of an error of α or more", "β",
            printed_beta(alpha, participants, error_rate, level),
            corrected_beta(alpha, participants, error_rate, level),
            "an upper bound; its factor should be 2/π, the variance falls as 1/S, and E[Y]² must not be replaced by "
            "something larger",
        ),
        Row(
            "largest noise level for the error", "C",
            printed_highest_level(alpha, beta, participants, error_rate), useful.high if useful else None,
            "as printed, c ≤ C is necessary but not sufficient; as corrected, C is the largest c whose β is small "
            "enough",
        ),
        Row(
            "error that α must exceed at c = 1", "α_{λ1,1}",
            appendix.printed_alpha, appendix.corrected_alpha,
            "15√(2λ1)/8 should be (15/8)√(2/λ1)",
        ),
        Row(
            "scaled variance at c = 1", "16·λ1·Var(Y)",
            appendix.printed_variance, appendix.corrected_variance,
            "48−12λ1²π should be 48−(225/16)π; as printed negative for λ1 > 1.13",
        ),
    )  # fmt: skip


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
