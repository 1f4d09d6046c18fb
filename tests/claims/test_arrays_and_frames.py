"""Claims from arrays, matrices and frames of every kind."""

import datetime
import pickle

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.errors import BadRow, DuplicateClaim, MissingColumn, NoClaims

COLUMNS = {"user": ["ann", "bob", "ann"], "object": [2, 2, 10], "value": [12.1, 11.8, 4.0]}
TRIPLES = [("ann", 2, 12.1), ("bob", 2, 11.8), ("ann", 10, 4.0)]


def duckdb_relation():
    table = pa.table(COLUMNS)
    return duckdb.from_arrow(table)


@pytest.mark.parametrize(
    "frame",
    [
        lambda: pd.DataFrame(COLUMNS),
        lambda: pd.DataFrame(COLUMNS).astype({"user": "category", "object": "category"}),
        lambda: pl.DataFrame(COLUMNS),
        lambda: pl.DataFrame(COLUMNS).with_columns(pl.col("user").cast(pl.Categorical)),
        lambda: pl.LazyFrame(COLUMNS),
        lambda: pa.table(COLUMNS),
        duckdb_relation,
    ],
    ids=["pandas", "pandas categories", "polars", "polars categories", "polars lazy", "pyarrow", "duckdb"],
)
def test_frames_of_every_kind_are_read(frame):
    assert list(sv.Claims.from_frame(frame())) == TRIPLES


def test_a_frame_with_other_names_and_a_missing_one():
    frame = pd.DataFrame(COLUMNS).rename(columns={"value": "metres"})
    assert list(sv.Claims.from_frame(frame, value="metres")) == TRIPLES
    with pytest.raises(MissingColumn, match="'value' among 'user', 'object', 'metres'"):
        sv.Claims.from_frame(frame)
    with pytest.raises(TypeError, match="from_arrays"):
        sv.Claims.from_frame([1, 2, 3])


@pytest.mark.parametrize(
    "labels",
    [
        [3, 1, 2],
        ["c", "a", "b"],
        np.array(["c", "a", "b"]),
        [2.5, 0.5, 1.5],
        [datetime.date(2026, 3, 1), datetime.date(2026, 1, 1), datetime.date(2026, 2, 1)],
        [("c", 1), ("a", 1), ("b", 1)],
        [True, False, True],
        pd.Series(["c", "a", "b"], index=[7, 8, 9]),
    ],
    ids=lambda labels: type(labels[0] if isinstance(labels, list) else labels).__name__,
)
def test_labels_of_any_type_come_back_sorted(labels):
    claims = sv.Claims.from_arrays(labels, [1, 2, 3], [1.0, 2.0, 3.0])
    assert claims.user_labels.tolist() == sorted(set(labels))
    assert [(user, value) for user, _, value in claims] == list(zip(labels, [1.0, 2.0, 3.0], strict=True))
    assert len(sv.CRH().fit(claims).to_frame()) == 3


def test_labels_of_different_types_stay_different():
    claims = sv.Claims.from_arrays([1, "1", (1,)], ["x"] * 3, [1.0, 2.0, 3.0])
    assert claims.n_users == 3


def test_matrix_with_labels_and_masked_values():
    claims = sv.Claims.from_matrix([[1, 2], [3, np.nan]], users=["a", "b"], objects=["x", "y"])
    assert list(claims) == [("a", "x", 1.0), ("b", "x", 3.0), ("a", "y", 2.0)]
    masked = np.ma.masked_equal([[1, 2], [3, -9]], -9)
    assert len(sv.Claims.from_matrix(masked)) == 3


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: sv.Claims.from_matrix([[1.0, np.inf]]), BadRow, "row 0, column 1, inf"),
        (lambda: sv.Claims.from_matrix([[np.nan]]), NoClaims, "fill it"),
        (lambda: sv.Claims.from_matrix([1.0, 2.0]), ValueError, "2, users × objects"),
        (lambda: sv.Claims.from_matrix([[1.0]], users=["a", "b"]), ValueError, "2 labels for 1 user:"),
        (lambda: sv.Claims.from_arrays(["a"], ["x", "y"], [1.0]), BadRow, "1 user, 2 objects, 1 value, but"),
        (lambda: sv.Claims.from_arrays([], [], []), NoClaims, "no row"),
        (lambda: sv.Claims.from_arrays(["a", None], ["x", "x"], [1, 2]), BadRow, "row 2: user is missing"),
        (lambda: sv.Claims.from_arrays(["a", "b"], ["x", "x"], [1, np.nan]), BadRow, "row 2: value"),
        (lambda: sv.Claims.from_arrays(["a", "b"], ["x", "x"], [1, "tall"]), BadRow, "row 2: value 'tall'"),
        (lambda: sv.Claims.from_arrays([1, 1], [2, 2], [1, 2]), DuplicateClaim, "user 1 makes .* about object 2 "),
        (lambda: sv.Claims.from_arrays(["a"], ["x"], [1], duplicates="first"), ValueError, "duplicates"),
    ],
)
def test_bad_arrays_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_claims_can_be_pickled_and_keep_their_noise():
    claims = sv.Claims.from_arrays(["a", "b"], ["x", "x"], [1.0, 2.0]).with_values(np.array([3.0, 4.0]), "shared:0.5")
    claims.user_labels  # noqa: B018  a label array made on demand must not get in the way
    again = pickle.loads(pickle.dumps(claims))
    assert list(again) == list(claims)
    assert again.noise == "shared:0.5"
