"""A user without any claim, such as an unused category of a data frame, changes nothing for anybody else."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sottovoce as sv
from conftest import random_matrix
from sottovoce.claims.packing import pack_claims
from sottovoce.discovery import METHODS
from sottovoce.engines import DiskEngine, MemoryEngine

ENGINES = {
    "memory": lambda claims, folder: MemoryEngine(claims),
    "disk": lambda claims, folder: DiskEngine(pack_claims(claims, folder / "pack", claims_per_block=40), 2),
}
KINDS = [(name, kind) for name, method in METHODS.items() for kind in method.kinds]


def some_claims(kind):
    numbers = sv.Claims.from_matrix(random_matrix(np.random.default_rng(4), 15, 12, fill=0.6))
    if kind == "number":
        return numbers
    said = np.random.default_rng(5).choice(["yes", "no", "perhaps"], len(numbers), p=[0.6, 0.3, 0.1])
    return sv.Claims.from_arrays(numbers.users, numbers.objects, said, kind="choice", choices=["yes", "no", "perhaps"])


def with_nobody(claims, places):
    """The same claims, with users at these places of the list who claim nothing."""
    kept = np.setdiff1d(np.arange(claims.n_users + len(places)), places)
    labels = np.array([f"nobody {place}" for place in range(claims.n_users + len(places))], dtype=object)
    labels[kept] = claims.user_labels
    users = kept[claims.users].astype(np.int32)
    return sv.Claims(claims.offsets, users, claims.values, labels, claims.object_labels, answers=claims.answers)


@pytest.mark.alike
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_no_truth_and_no_weight_changes(name, kind, engine, tmp_path):
    claims = some_claims(kind)
    more = with_nobody(claims, [0, 7, 16, 17])
    fits = []
    for number, one in enumerate((claims, more)):
        (tmp_path / str(number)).mkdir()
        fits.append(METHODS[name]().fit(ENGINES[engine](one, tmp_path / str(number))))
    plain, beside = fits
    assert beside.truths_.tolist() == plain.truths_.tolist()
    assert beside.weights_.tolist() == plain.weights_.tolist()
    assert beside.users_.tolist() == plain.users_.tolist()
    assert beside.to_frame().to_dict(as_series=False) == plain.to_frame().to_dict(as_series=False)
    assert (beside.n_iter_, beside.converged_) == (plain.n_iter_, plain.converged_)


@pytest.mark.parametrize("arrow", [False, True])
def test_labels_stay_with_their_users(arrow):
    labels = ["nobody", "ann", "no one", "bob", "none"]
    claims = sv.Claims(
        np.array([0, 2, 3]), np.array([1, 3, 3], np.int32), np.array([1.0, 2.0, 3.0]),
        pa.array(labels) if arrow else np.array(labels, dtype=object), np.array(["x", "y"], dtype=object),
    )  # fmt: skip
    assert list(claims) == [("ann", "x", 1.0), ("bob", "x", 2.0), ("bob", "y", 3.0)]
    assert (claims.n_users, claims.claims_per_user.tolist()) == (2, [1, 2])


def test_unused_categories_of_a_frame_are_not_users():
    users = pd.Categorical(["a", "b", "a", "c"], categories=["nobody", "a", "b", "c", "no one"])
    frame = pd.DataFrame({"user": users, "object": list("xxyy"), "value": [1.0, 2.0, 3.0, 5.0]})
    claims = sv.Claims.from_frame(frame)
    truths = sv.CRH().fit(claims).truths_
    plain = sv.CRH().fit(sv.Claims.from_frame(frame.astype({"user": str})))
    assert truths.tolist() == plain.truths_.tolist()
