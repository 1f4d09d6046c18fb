"""The encrypted protocol of the cost figure finds the same truths as its formulas in the clear."""

import numpy as np
import pytest

from sottovoce.lab.reproduce.encrypted import EncryptedTruthDiscovery


@pytest.mark.slow
def test_encrypted_truths_are_those_of_the_same_formulas_in_the_clear(monkeypatch):
    monkeypatch.setattr("sottovoce.lab.reproduce.encrypted.KEY_BITS", 512)  # the same arithmetic, sooner
    rng = np.random.default_rng(4)
    readings = rng.uniform(0, 10, 3) + rng.standard_normal((6, 3)) * rng.uniform(0.1, 2, (6, 1))
    truths, taken = EncryptedTruthDiscovery(30).run(readings)
    # At the end the truths are the weighted means whose weights follow from their own losses.
    losses = np.square(readings - truths).mean(axis=1)
    weights = -np.log(losses / losses.sum())
    assert truths == pytest.approx(weights @ readings / weights.sum(), abs=1e-5)
    assert np.abs(truths - readings.mean(axis=0)).max() > 0.05  # so the weights mattered
    # 5 ciphertexts per device and iteration, each below the square of the key.
    assert 0.95 * 128 < taken.bytes / (30 * 6 * 5) <= 128
