"""Truth discovery on encrypted readings (Paillier), for comparison: one round trip per iteration.

The server adds ciphertexts and never sees a reading; a second party holds the key and decrypts sums only. In every
iteration a device sends, encrypted, its weighted readings, its weight and its loss; truths and the sum of the losses go
back. Weights are as in CRH, −log of the user's share of the losses. These are the losses of the iteration before, which
saves a second round trip and changes nothing once the truths have converged. Every user measures every object.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

KEY_BITS = 2048
_STEPS = 2.0**24  # a fraction of this many steps, since Paillier adds integers

_LEAST_WEIGHT = 1e-3  # of a user whose loss is above the sum of the iteration before


@dataclass
class RunCost:
    """What one run cost."""

    seconds_users: float = 0.0
    seconds_server: float = 0.0
    bytes: float = 0.0


class EncryptedTruthDiscovery:
    """Iterations over readings that nobody but their users sees; making the key is not counted."""

    def __init__(self, iterations: int) -> None:
        from phe import paillier  # type: ignore[import-untyped]

        self._iterations = iterations
        self._public, self._private = paillier.generate_paillier_keypair(n_length=KEY_BITS)

    def run(self, readings: Floats) -> tuple[Floats, RunCost]:
        """Truths of a matrix of users × objects, and what they cost."""
        taken = RunCost()
        weights, losses = np.ones(len(readings)), np.zeros(len(readings))
        truths, all_losses = np.zeros(readings.shape[1]), 0.0
        for number in range(self._iterations):
            start = time.perf_counter()
            if number:
                losses = ((readings - truths) ** 2).mean(axis=1)
            if all_losses:
                weights = np.maximum(-np.log(losses / all_losses), _LEAST_WEIGHT)
            messages = [
                self._encrypt([*(weight * row), weight, loss])
                for weight, row, loss in zip(weights, readings, losses, strict=True)
            ]
            received = time.perf_counter()
            sums = self._decrypt(_added(messages))
            truths, all_losses = sums[:-2] / sums[-2], sums[-1]
            done = time.perf_counter()
            taken.seconds_users += received - start
            taken.seconds_server += done - received
            taken.bytes += sum(_bytes(number) for message in messages for number in message)
        return truths, taken

    def _encrypt(self, numbers: Any) -> list[Any]:
        return [self._public.encrypt(round(float(number) * _STEPS)) for number in numbers]

    def _decrypt(self, numbers: list[Any]) -> Floats:
        return np.array([self._private.decrypt(number) for number in numbers]) / _STEPS


def _added(messages: list[list[Any]]) -> list[Any]:
    """Sums over users, field by field, without the key."""
    total, *others = messages
    for message in others:
        total = [one + another for one, another in zip(total, message, strict=True)]
    return total


def _bytes(number: Any) -> int:
    return int((number.ciphertext().bit_length() + 7) // 8)
