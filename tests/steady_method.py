"""A method from outside the package."""

import numpy as np

import sottovoce as sv


class Steady(sv.TruthDiscovery):
    """Weights fall with a user's typical error, so that nobody decides single-handedly.

    Parameters
    ----------
    noise
        The law of the noise that devices added.
    """

    name = "steady"
    title = "steady hand"
    words = "whoever errs less counts more, and nobody counts for much."

    def __init__(self, noise=None, *, max_iter=1000, tol=1e-6):
        super().__init__(max_iter=max_iter, tol=tol)
        self.noise = noise

    def weigh(self, losses):
        return 1 / np.sqrt(losses.mean + 1e-12)
