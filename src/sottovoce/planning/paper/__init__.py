"""The original paper's theorems, as printed and as corrected.

Y. Li et al., "Towards Differentially Private Truth Discovery for Crowd Sensing Systems", arXiv:1810.04760.
`printed_*` is for reproduction only. The page "Where the paper's proofs slip" derives what `corrected_*` computes.
"""

from sottovoce.planning.paper.comparison import Row, TheoremReport, TheoremVerdict, compare
from sottovoce.planning.paper.pairs import (
    PairMean,
    corrected_pair_density,
    corrected_pair_distance,
    corrected_pair_mean,
)
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
    sensitivity_factor,
    true_probability,
)
from sottovoce.planning.paper.tradeoff import (
    Frontier,
    Levels,
    TradeOffTheorem,
    useful_levels,
)
from sottovoce.planning.paper.utility import (
    EqualRates,
    WeightedMean,
    corrected_alpha,
    corrected_beta,
    corrected_least_alpha,
    equal_rates,
    pair_sum,
    printed_alpha,
    printed_beta,
    printed_highest_level,
    printed_least_alpha,
    printed_pair_distance,
    printed_pair_variance,
    weigh_values,
)

__all__ = [
    "EqualRates",
    "Frontier",
    "Levels",
    "PairMean",
    "Row",
    "TheoremReport",
    "TheoremVerdict",
    "TradeOffTheorem",
    "WeightedMean",
    "claimed_probability",
    "compare",
    "corrected_alpha",
    "corrected_beta",
    "corrected_distance",
    "corrected_least_alpha",
    "corrected_lowest_level",
    "corrected_pair_density",
    "corrected_pair_distance",
    "corrected_pair_mean",
    "corrected_rate",
    "equal_rates",
    "exact_delta",
    "pair_sum",
    "paper_delta",
    "printed_alpha",
    "printed_beta",
    "printed_distance",
    "printed_highest_level",
    "printed_least_alpha",
    "printed_lowest_level",
    "printed_pair_distance",
    "printed_pair_variance",
    "printed_rate",
    "sensitivity_factor",
    "true_probability",
    "useful_levels",
    "weigh_values",
]
