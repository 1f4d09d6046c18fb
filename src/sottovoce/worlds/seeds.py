"""Random numbers for simulated crowds."""

import numpy as np

from sottovoce.errors import BadParameter


def generator(seed: int | tuple[int, ...] | np.random.Generator) -> np.random.Generator:
    """Random numbers from a seed, or the given generator; a negative seed is refused."""
    if not isinstance(seed, np.random.Generator) and min(seed if isinstance(seed, tuple) else (seed,), default=0) < 0:
        raise BadParameter(f"seed={seed}: a seed is 0 or a positive whole number; 0 is typical")
    return np.random.default_rng(seed)
