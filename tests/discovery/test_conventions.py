"""The conventions of scikit-learn: parameters by name, copies, results only after a fit, and no side effects."""

import copy
import inspect
import pickle
import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.claims.packing import pack_claims
from sottovoce.discovery import Result, UserLosses, methods_for
from sottovoce.engines import DiskEngine, MemoryEngine
from sottovoce.errors import BadParameter, ConvergenceWarning, NotFitted

EVERY_METHOD = pytest.mark.parametrize("method", methods_for("number").values(), ids=methods_for("number"))
RESULTS = (
    "truths_",
    "weights_",
    "objects_",
    "users_",
    "effective_users_",
    "claims_",
    "n_iter_",
    "converged_",
    "history_",
)


@pytest.fixture
def claims(sparse):
    return sv.Claims.from_matrix(sparse)


def clone(method):
    """What scikit-learn's `clone` does and requires."""
    given = {name: copy.deepcopy(entry) for name, entry in method.get_params(deep=False).items()}
    new = type(method)(**given)
    assert all(new.get_params(deep=False)[name] is entry for name, entry in given.items()), (
        "the constructor only stores"
    )
    return new


@EVERY_METHOD
def test_parameters_are_those_of_the_constructor(method):
    fresh = method()
    assert fresh.get_params() == {name: entry.default for name, entry in inspect.signature(method).parameters.items()}
    assert fresh.set_params(max_iter=7, tol=0.5) is fresh
    assert (fresh.max_iter, fresh.get_params()["tol"]) == (7, 0.5)
    with pytest.raises(BadParameter, match=r"speed=9: \w+ has only the parameters .*max_iter, tol"):
        fresh.set_params(max_iter=8, speed=9)
    assert fresh.max_iter == 7


@EVERY_METHOD
def test_a_copy_has_the_parameters_and_none_of_the_results(method, claims):
    fitted = method(max_iter=3, tol=0).fit(claims)
    new = clone(fitted)
    assert repr(new) == repr(fitted)
    assert not hasattr(new, "truths_")
    assert new.fit(claims).truths_.tobytes() == fitted.truths_.tobytes()


def test_a_copy_keeps_the_noise_law():
    law = sv.FreshVariance(0.5)
    assert clone(sv.NoiseAware(noise=law)).noise == law


@EVERY_METHOD
def test_a_fit_survives_pickling(method, claims):
    fitted = method(max_iter=3, tol=0).fit(claims)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.to_arrow() == fitted.to_arrow()
    assert repr(again) == repr(fitted)


@EVERY_METHOD
def test_results_before_a_fit_are_missing_and_the_message_says_what_to_do(method):
    fresh = method()
    asked = [lambda name=name: getattr(fresh, name) for name in RESULTS]
    for ask in (*asked, fresh.intervals, fresh.to_arrow, fresh.to_frame, fresh.state):
        with pytest.raises(NotFitted, match=r"call fit\(claims\) first"):
            ask()
    assert not hasattr(fresh, "truths_")
    with pytest.raises(ValueError, match="fit"):  # whichever a caller would catch
        fresh.intervals()
    with pytest.raises(AttributeError, match="no attribute 'truth_'"):
        fresh.truth_  # noqa: B018


@EVERY_METHOD
def test_a_method_object_holds_its_parameters_and_its_results_only(method, claims):
    fitted = method(max_iter=3, tol=0).fit(claims)
    kept = {"kind_", "_state", "_deviations", "_variance", "_freedom"}  # what `state` and `intervals` are made of
    own = {"target_"} if "target" in fitted.get_params() else set()
    assert set(vars(fitted)) == {*fitted.get_params(), *RESULTS, *kept, *own}


@pytest.mark.parametrize("method", [sv.CATD, sv.NoiseAware])
def test_a_fit_within_a_fit_of_the_same_method_does_not_disturb_it(method, claims, dense):
    other = sv.Claims.from_matrix(dense)
    fit = method(max_iter=4, tol=0)
    seen = []

    def fit_another(iteration, move):
        seen.append(move)
        if iteration == 2:
            fit.fit(other)

    fit.fit(claims, progress=fit_another)
    assert fit.truths_.tobytes() == method(max_iter=4, tol=0).fit(claims).truths_.tobytes()
    assert fit.history_.tolist() == seen


@EVERY_METHOD
def test_a_fit_that_is_stopped_leaves_the_results_of_the_last_one(method, claims, dense):
    fit = method(max_iter=3, tol=0).fit(claims)
    before = fit.to_arrow()

    def stop(iteration, move):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit.fit(sv.Claims.from_matrix(dense), progress=stop)
    assert fit.to_arrow() == before


def own_line():
    return inspect.currentframe().f_back.f_lineno


@pytest.mark.parametrize("method", [sv.CRH, sv.NoiseAware])
def test_a_warning_points_at_the_callers_line(method, claims):
    table = claims.to_arrow()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lines = [own_line() + 1]
        method(max_iter=1).fit(claims)
        lines.append(own_line() + 1)
        method(max_iter=1).fit_truths(table)
        lines.append(own_line() + 1)
        Result.of(method(max_iter=1), claims)
        lines.append(own_line() + 1)
        sv.SharedVariance(1.0).guarantee(distance=1.0, readings=2, grid=0.5)
    assert [(one.filename, one.lineno) for one in caught] == [(__file__, line) for line in lines]
    assert {one.category for one in caught[:3]} == {ConvergenceWarning}


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda table: table.to_pandas(), pd.DataFrame),
        (pl.from_arrow, pl.DataFrame),
        (lambda table: pl.from_arrow(table).lazy(), pl.LazyFrame),
        (lambda table: table, pa.Table),
        (duckdb.from_arrow, duckdb.DuckDBPyRelation),
    ],
    ids=["pandas", "polars", "polars, lazy", "pyarrow", "duckdb"],
)
def test_a_data_frame_of_claims_becomes_one_of_truths(make, kind, claims):
    frame = make(claims.to_arrow().rename_columns(["who", "what", "metres"]))
    method = sv.CRH()
    truths = method.fit_truths(frame, user="who", object="what", value="metres", level=0.9)
    assert isinstance(truths, kind)
    table = pa.table(truths.collect() if kind is pl.LazyFrame else truths)
    wanted = sv.CRH().fit(claims).to_arrow(level=0.9)
    assert table.column_names == wanted.column_names
    for name in wanted.column_names:
        assert table[name].to_pylist() == wanted[name].to_pylist()
    assert method.truths_.tolist() == wanted["truth"].to_pylist()


def test_a_data_frame_of_choices_may_name_options_that_nobody_chose():
    frame = pa.table({"user": ["ann", "bob", "eve"], "object": ["path"] * 3, "value": ["yes", "yes", "no"]})
    method = sv.Majority()
    assert method.fit_truths(frame, choices=["yes", "no", "unsure"])["truth"].to_pylist() == ["yes"]
    assert len(method.chances_[0]) == 3


@EVERY_METHOD
def test_a_pack_is_fitted_like_its_claims(method, claims, tmp_path, monkeypatch):
    packed = pack_claims(claims, tmp_path / "pack")
    in_memory = method(max_iter=3, tol=0).fit(claims).truths_.tobytes()
    assert method(max_iter=3, tol=0).fit(packed).truths_.tobytes() == in_memory
    # Without memory to spare, block by block.
    monkeypatch.setattr("sottovoce.engines.choosing.free_memory", lambda: 10)
    on_disk = method(max_iter=3, tol=0).fit(DiskEngine(packed)).truths_.tobytes()
    assert method(max_iter=3, tol=0).fit(packed).truths_.tobytes() == on_disk


@pytest.mark.parametrize(
    "given", [[[1.0, 2.0]], np.ones((2, 2)), {"user": ["a"]}], ids=lambda given: type(given).__name__
)
def test_what_cannot_be_fitted_is_refused_with_a_way_out(given):
    with pytest.raises(BadParameter, match=r"claims, a pack, an engine or a data frame; .*Claims\.read"):
        sv.CRH().fit(given)


@EVERY_METHOD
def test_known_truths_are_used_or_refused(method, claims):
    known = {claims.object_labels[0].item(): 3.0}
    if method.takes_known:
        assert method().fit(claims, known=known).truths_[0] == 3.0
    else:
        with pytest.raises(BadParameter, match="cannot use known truths"):
            method().fit(claims, known=known)


@EVERY_METHOD
def test_weights_follow_from_losses_without_a_fit(method):
    """Nobody who errs less on as many claims counts less."""
    losses = UserLosses(np.array([0.5, 2.0, 8.0, 32.0]), np.array([6, 6, 6, 6]))
    weights = method().weigh(losses)
    assert (weights > 0).sum() >= 3
    assert (np.diff(weights) <= 0).all()
    assert method.plain == bool((weights == 1).all())


@EVERY_METHOD
def test_every_iteration_is_reported(method, claims):
    seen = []
    fit = method(max_iter=5, tol=0).fit(MemoryEngine(claims), progress=lambda *reported: seen.append(reported))
    assert seen == list(enumerate(fit.history_.tolist(), start=1))
    assert len(seen) == fit.n_iter_ == (1 if method.plain else 5)
