"""Every method against plain NumPy written from its formula."""

import numpy as np
import pytest

import reference
import sottovoce as sv

CASES = [
    (sv.CRH(), reference.crh, {}),
    (sv.CRH(total="sum"), reference.crh, {"total": "sum"}),
    (sv.CRH(normalise="max"), reference.crh, {"normalise": "max"}),
    (sv.CRH(loss="absolute"), reference.crh, {"loss": "absolute"}),
    (sv.CRH(loss="absolute", normalise="max"), reference.crh, {"loss": "absolute", "normalise": "max"}),
    (sv.GTM(), reference.gtm, {}),
    (sv.GTM(alpha=3, beta=2, prior_mean=0.5, prior_variance=4), reference.gtm,
     {"alpha": 3, "beta": 2, "mean": 0.5, "variance": 4}),
    (sv.CATD(), reference.catd, {}),
    (sv.LFCN(), reference.lfcn, {}),
]  # fmt: skip


@pytest.mark.parametrize("iterations", [1, 2, 6])
@pytest.mark.parametrize(
    ("method", "formula", "options"), CASES, ids=lambda case: getattr(case, "__name__", repr(case))
)
@pytest.mark.parametrize("crowd", ["dense", "sparse"])
def test_method_matches_its_formula(crowd, method, formula, options, iterations, request):
    matrix = request.getfixturevalue(crowd)
    method.max_iter, method.tol = iterations, 0
    fit = method.fit(sv.Claims.from_matrix(matrix))
    truths, weights = formula(matrix, iterations, **options)
    np.testing.assert_allclose(fit.truths_, truths, rtol=1e-9, atol=1e-9 * reference.spread(matrix).max())
    if iterations <= 2:  # later, the residual of a user whom the truths follow is all rounding
        np.testing.assert_allclose(fit.weights_, weights, rtol=1e-9, atol=1e-9 * weights.max())
    assert fit.n_iter_ == iterations == len(fit.history_)


def test_mean_and_median_are_those_of_numpy(sparse):
    claims = sv.Claims.from_matrix(sparse)
    np.testing.assert_allclose(sv.Mean().fit(claims).truths_, np.nanmean(sparse, axis=0), rtol=1e-12)
    np.testing.assert_allclose(sv.Median().fit(claims).truths_, np.nanmedian(sparse, axis=0), rtol=1e-12)


@pytest.mark.parametrize("method", [sv.CRH, sv.GTM, sv.CATD, sv.LFCN])
def test_truths_are_the_weighted_means_under_the_weights_shown(method, dense):
    fit = method(max_iter=3, tol=0).fit(sv.Claims.from_matrix(dense))
    shown = reference.weighted_mean(dense, fit.weights_)
    if method is sv.GTM:  # a prior of weight 1 at the median, in units of the spread
        total = fit.weights_.sum()
        shown = (shown * total + np.median(dense, axis=0)) / (total + 1)
    np.testing.assert_allclose(fit.truths_, shown, rtol=1e-9)


def test_effective_users_are_counted_per_object(sparse):
    fit = sv.CRH().fit(sv.Claims.from_matrix(sparse))
    shares = np.where(np.isnan(sparse), 0, fit.weights_[:, None])
    np.testing.assert_allclose(fit.effective_users_, shares.sum(axis=0) ** 2 / (shares**2).sum(axis=0), rtol=1e-9)
    assert sv.Mean().fit(sv.Claims.from_matrix(sparse)).effective_users_.tolist() == fit.claims_.tolist()


def test_stops_when_truths_move_less_than_tol(dense):
    claims = sv.Claims.from_matrix(dense)
    fit = sv.CRH(tol=1e-4).fit(claims)
    assert fit.converged_
    assert fit.history_[-1] <= 1e-4 < fit.history_[-2]
    before, after = (sv.CRH(max_iter=n, tol=0).fit(claims).truths_ for n in (fit.n_iter_ - 1, fit.n_iter_))
    np.testing.assert_allclose(fit.history_[-1], np.max(np.abs(after - before) / dense.std(axis=0)), rtol=1e-6)


def test_not_converging_warns_and_says_what_to_do(dense):
    with pytest.warns(sv.ConvergenceWarning, match="raise max_iter"):
        fit = sv.CRH(max_iter=2, tol=1e-12).fit(sv.Claims.from_matrix(dense))
    assert not fit.converged_
    assert fit.n_iter_ == 2
