"""Truth discovery: from conflicting claims to truths and the users' weights."""

from sottovoce.discovery.averages import Mean, Median
from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.catd import CATD
from sottovoce.discovery.crh import CRH
from sottovoce.discovery.gtm import GTM
from sottovoce.discovery.iteration import UserLosses
from sottovoce.discovery.lfcn import LFCN
from sottovoce.discovery.majority import Majority
from sottovoce.discovery.noise_aware import NoiseAware
from sottovoce.discovery.registry import DEFAULT, METHODS, describe_method, make_method, register, takes
from sottovoce.discovery.result import ChoiceResult, Outcome, Result, discovered, known_among, known_truths
from sottovoce.discovery.state import Checkpoint, State

__all__ = [
    "CATD",
    "CRH",
    "DEFAULT",
    "GTM",
    "LFCN",
    "METHODS",
    "Checkpoint",
    "ChoiceResult",
    "Majority",
    "Mean",
    "Median",
    "NoiseAware",
    "Outcome",
    "Result",
    "State",
    "TruthDiscovery",
    "UserLosses",
    "describe_method",
    "discovered",
    "known_among",
    "known_truths",
    "make_method",
    "register",
    "takes",
]
