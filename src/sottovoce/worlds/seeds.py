"""Random numbers for simulated crowds."""

from numbers import Integral
from typing import Any

import numpy as np

from sottovoce.errors import BadParameter


def generator(seed: Any) -> np.random.Generator:
    """Random numbers from anything that NumPy takes as a seed, such as a generator; negative seeds are refused."""
    check_seed(seed)
    return np.random.default_rng(seed)


def check_seed(seed: Any) -> None:
    """Refuse a negative seed, alone or in a list."""
    seeds = seed if isinstance(seed, tuple | list) else (seed,)
    if any(isinstance(one, Integral) and one < 0 for one in seeds):
        raise BadParameter(f"seed={seed}: a seed is 0 or a positive whole number; 0 is typical")
