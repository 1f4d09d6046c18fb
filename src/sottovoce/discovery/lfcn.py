"""Learning from crowds, for numbers."""

from sottovoce.discovery.base import TruthDiscovery
from sottovoce.discovery.iteration import Floats, UserLosses
from sottovoce.engines import Engine

_LEAST_VARIANCE = 1e-9


class LFCN(TruthDiscovery):
    """Learning from crowds for numbers: each user has a variance, estimated by maximum likelihood.

    w_k = 1 / (mean over the claims of user k of (x - truth)² + 1e-9)

    The likelihood has no upper bound: a truth that follows one user makes that user's variance vanish, and the method
    then settles on this user; look at ``effective_users_``. Starts at the mean; one pass over the claims per iteration.
    V. C. Raykar et al., JMLR 11 (2010), section on regression.

    Examples
    --------
    >>> import sottovoce as sv
    >>> claims = sv.Claims.from_matrix([[10.0, 21.0], [10.2, 20.8], [14.0, 30.0]])
    >>> fit = sv.LFCN().fit(claims)
    >>> bool(fit.effective_users_.max() < 2.1)
    True
    """

    name = "lfcn"
    title = "LFCN"
    words = "people are weighted by their errors only; the method may settle on a single person."

    def start(self, engine: Engine) -> Floats:
        return engine.means()

    def weigh(self, losses: UserLosses) -> Floats:
        return 1 / (losses.mean + _LEAST_VARIANCE)
