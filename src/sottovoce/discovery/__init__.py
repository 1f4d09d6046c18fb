"""Truth discovery: estimates truths and the users' weights from conflicting claims."""

from sottovoce.discovery.accu import AccuSim
from sottovoce.discovery.averages import Mean, Median
from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.catd import CATD
from sottovoce.discovery.crh import CRH
from sottovoce.discovery.dawid_skene import DawidSkene
from sottovoce.discovery.gtm import GTM
from sottovoce.discovery.iteration import UserLosses
from sottovoce.discovery.lfcn import LFCN
from sottovoce.discovery.ltm import LTM
from sottovoce.discovery.majority import Majority
from sottovoce.discovery.noise_aware import NoiseAware
from sottovoce.discovery.registry import DEFAULT, METHODS, describe_method, make_method, methods_for, register, takes
from sottovoce.discovery.result import ChoiceResult, Outcome, Result, discovered, known_among, known_truths
from sottovoce.discovery.state import Checkpoint, State
from sottovoce.discovery.truthfinder import TruthFinder

__all__ = [
    "CATD",
    "CRH",
    "DEFAULT",
    "GTM",
    "LFCN",
    "LTM",
    "METHODS",
    "AccuSim",
    "Checkpoint",
    "ChoiceResult",
    "DawidSkene",
    "Majority",
    "Mean",
    "Median",
    "NoiseAware",
    "Outcome",
    "Result",
    "State",
    "TruthDiscovery",
    "TruthFinder",
    "UserLosses",
    "describe_method",
    "discovered",
    "known_among",
    "known_truths",
    "make_method",
    "methods_for",
    "register",
    "takes",
]
