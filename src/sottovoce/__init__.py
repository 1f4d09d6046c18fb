"""Sottovoce: private truth discovery for crowd sensing.

Many people measure the same things, with very different accuracy, and do not want to hand over what they measured.
Sottovoce estimates the truth from their conflicting, noisy claims.

>>> import sottovoce as sv
>>> claims = sv.Claims.from_matrix([[10.0, 21.0], [10.2, 20.8], [14.0, 30.0]])
>>> fit = sv.CRH().fit(claims)
>>> [round(float(truth), 1) for truth in fit.truths_]
[10.1, 20.9]
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

# The public names, and the subpackage that holds each. Subpackages are imported on first use,
# so that `import sottovoce` and `sottovoce --help` load neither NumPy nor a compiler.
_PACKAGE_OF = {
    "Claims": "claims",
    "TruthDiscovery": "discovery",
    "CRH": "discovery",
    "GTM": "discovery",
    "CATD": "discovery",
    "LFCN": "discovery",
    "Mean": "discovery",
    "Median": "discovery",
    "Majority": "discovery",
    "TruthFinder": "discovery",
    "AccuSim": "discovery",
    "LTM": "discovery",
    "DawidSkene": "discovery",
    "NoiseAware": "discovery",
    "ByComparison": "comparisons",
    "Comparisons": "comparisons",
    "ConvergenceWarning": "errors",
    "SottovoceError": "errors",
    "NoiseLaw": "privacy.laws",
    "Response": "privacy.laws",
    "SharedVariance": "privacy.laws",
    "TwoLayer": "privacy.laws",
    "FreshVariance": "privacy.laws",
    "FlooredVariance": "privacy.laws",
    "Gaussian": "privacy.laws",
    "parse_law": "privacy.laws",
    "plan": "planning",
    "worlds": "worlds",
}

__all__ = [
    "CATD",
    "CRH",
    "GTM",
    "LFCN",
    "LTM",
    "AccuSim",
    "ByComparison",
    "Claims",
    "Comparisons",
    "ConvergenceWarning",
    "DawidSkene",
    "FlooredVariance",
    "FreshVariance",
    "Gaussian",
    "Majority",
    "Mean",
    "Median",
    "NoiseAware",
    "NoiseLaw",
    "Response",
    "SharedVariance",
    "SottovoceError",
    "TruthDiscovery",
    "TruthFinder",
    "TwoLayer",
    "__version__",
    "parse_law",
    "plan",
    "worlds",
]

if TYPE_CHECKING:
    from sottovoce import worlds
    from sottovoce.claims import Claims
    from sottovoce.comparisons import ByComparison, Comparisons
    from sottovoce.discovery import (
        CATD,
        CRH,
        GTM,
        LFCN,
        LTM,
        AccuSim,
        DawidSkene,
        Majority,
        Mean,
        Median,
        NoiseAware,
        TruthDiscovery,
        TruthFinder,
    )
    from sottovoce.errors import ConvergenceWarning, SottovoceError
    from sottovoce.planning import plan
    from sottovoce.privacy.laws import (
        FlooredVariance,
        FreshVariance,
        Gaussian,
        NoiseLaw,
        Response,
        SharedVariance,
        TwoLayer,
        parse_law,
    )


def __getattr__(name: str) -> object:
    if name not in _PACKAGE_OF:
        raise AttributeError(f"module 'sottovoce' has no attribute {name!r}")
    package = import_module(f"sottovoce.{_PACKAGE_OF[name]}")
    value = package if _PACKAGE_OF[name] == name else getattr(package, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
