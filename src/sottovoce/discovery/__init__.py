"""Truth discovery: from conflicting claims to truths and the users' weights."""

from sottovoce.discovery.averages import Mean, Median
from sottovoce.discovery.base import TruthDiscovery, UserLosses
from sottovoce.discovery.catd import CATD
from sottovoce.discovery.crh import CRH
from sottovoce.discovery.gtm import GTM
from sottovoce.discovery.lfcn import LFCN
from sottovoce.discovery.noise_aware import NoiseAware
from sottovoce.discovery.result import Result
from sottovoce.discovery.state import Checkpoint, State

METHODS: dict[str, type[TruthDiscovery]] = {
    method.name: method for method in (NoiseAware, CRH, GTM, CATD, LFCN, Mean, Median)
}

__all__ = [
    "CATD",
    "CRH",
    "GTM",
    "LFCN",
    "METHODS",
    "Checkpoint",
    "Mean",
    "Median",
    "NoiseAware",
    "Result",
    "State",
    "TruthDiscovery",
    "UserLosses",
]
