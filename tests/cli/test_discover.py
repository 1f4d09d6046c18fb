"""The command line, run as a user runs it."""

import json

import numpy as np
import pytest

import sottovoce as sv
from command import rows_of, run


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crowd")
    ran = run("simulate", folder, "--participants", 40, "--objects", 25, "--fill", 0.5, "--seed", 3)
    assert ran.returncode == 0, ran.stderr
    return folder


def test_json_has_the_agreed_form(crowd):
    ran = run("discover", crowd / "claims.csv", "--method", "crh", "--truth", crowd / "truth.csv", "--json")
    assert ran.returncode == 0, ran.stderr
    result = json.loads(ran.stdout)
    claims = sv.Claims.read(crowd / "claims.csv")
    fit = sv.CRH().fit(claims)
    assert result["method"] == "crh"
    assert (result["n_iter"], result["converged"]) == (fit.n_iter_, True)
    assert (result["users"], result["objects"], result["claims"]) == (claims.n_users, claims.n_objects, len(claims))
    assert result["effective_users"] == pytest.approx(fit.weights_.sum() ** 2 / (fit.weights_**2).sum())
    low, high = fit.intervals()
    for n, label in enumerate(fit.objects_):
        entry = result["truths"][str(label)]
        assert (entry["truth"], entry["low"], entry["high"]) == (fit.truths_[n], low[n], high[n])
        assert entry["claims"] == fit.claims_[n]
    truths = np.array([float(row["value"]) for row in rows_of(crowd / "truth.csv")])
    assert result["scores"]["objects"] == 25
    for score, truth in ((result["scores"], fit), (result["scores"]["mean"], sv.Mean().fit(claims)),
                         (result["scores"]["median"], sv.Median().fit(claims))):  # fmt: skip
        differences = truth.truths_ - truths
        assert score["mae"] == pytest.approx(np.abs(differences).mean())
        assert score["rmse"] == pytest.approx(np.sqrt((differences**2).mean()))


@pytest.mark.parametrize("method", ["crh", "gtm", "catd", "lfcn", "mean", "median"])
def test_every_method_shows_the_plain_averages_beside_it(crowd, method):
    ran = run("discover", crowd / "claims.csv", "--method", method, "--truth", crowd / "truth.csv")
    assert ran.returncode == 0, ran.stderr
    for word in ("truth", "mean", "median", "MAE", "effective users", "5 more"):
        assert word in ran.stdout


def test_results_are_written(crowd, tmp_path):
    ran = run("discover", crowd / "claims.csv", "--out", tmp_path / "t.csv", "--weights", tmp_path / "w.parquet",
              "--plot", tmp_path / "p.png")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    rows = rows_of(tmp_path / "t.csv")
    assert list(rows[0]) == ["object", "truth", "low", "high", "claims", "effective_users", "mean", "median"]
    assert [float(row["truth"]) for row in rows] == sv.NoiseAware().fit(
        sv.Claims.read(crowd / "claims.csv")
    ).truths_.tolist()
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "w.parquet").column_names == ["user", "weight", "claims"]
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.png", "t.csv", "w.parquet"]


def test_claims_are_read_from_standard_input(crowd):
    ran = run("discover", "-", "--json", input=(crowd / "claims.csv").read_text())
    assert json.loads(ran.stdout)["objects"] == 25


@pytest.mark.alike
@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("user,object,value\na,x,?\nb,x,2\n", [], ["row 1", "'?'", "finite number", "--skip-bad"]),
        ("who,what,metres\na,x,1\n", [], ["'user'", "'who'", "--user"]),
        ("User,object,value\na,x,1\n", [], ["'user'", "did you mean 'User'?", "--user"]),
        ("user,object,value\na,x,1\n", ["--max-iter", "0"], ["max_iter=0"]),
        ("user,object,value\na,x,1\n", ["--level", "95"], ["level=95"]),
        ("user,object,value\na,x,1\n", ["--out", "t.xls"], ["t.xls", ".csv"]),
        ("user,object,value\na,x,1\n", ["--plot", "t.gif"], ["t.gif", ".png"]),
        ("user,object,value\na,x,1\n", ["--out", "no/t.csv"], ["there is no folder"]),
        ("user,object,value\na,x,1\n", ["--out", "."], ["suffix"]),
        ("user,object,value\na,x,1\n", ["--left-out", "bad.csv"], ["left out only with --skip-bad", "add --skip-bad"]),
        ("user,object,value,value\na,x,1,2\n", [], ["two columns 'value'"]),
        ("user,object,value\na,x,1e200\n", [], ["1e+200", "1e+150"]),
        ("user,object,value\na,x,1\n", ["--method", "guess"], ["guess", "crh"]),
    ],
)
def test_bad_input_exits_with_2_and_one_clear_sentence(tmp_path, text, options, words):
    (tmp_path / "claims.csv").write_text(text)
    ran = run("discover", "claims.csv", *options, cwd=tmp_path)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    said = " ".join(ran.stderr.split())
    for word in words:
        assert word in said
    assert ran.stdout == ""


@pytest.mark.parametrize(
    "options", [["--level", "95"], ["--out", "t.xls"], ["--weights", "no/w.csv"], ["--plot", "t.gif"]]
)
def test_a_bad_output_path_is_reported_before_the_work(crowd, tmp_path, options):
    ran = run("discover", crowd / "claims.csv", "--out", "first.csv", "--checkpoint", "c.arrow", *options, cwd=tmp_path)
    assert ran.returncode == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ("elsewhere,1", "'elsewhere', for example, and the claims have '0'"),
        ("1,1\n1,2", "more than one truth"),
        ("1,?", "row 1"),
    ],
)
def test_bad_truths_are_reported(crowd, tmp_path, rows, word):
    (tmp_path / "truth.csv").write_text(f"object,value\n{rows}\n")
    ran = run("discover", crowd / "claims.csv", "--truth", tmp_path / "truth.csv")
    assert ran.returncode == 2
    assert word in " ".join(ran.stderr.split())
    assert "--skip-bad" not in ran.stderr  # which is about rows of claims


def test_not_converging_is_a_warning_not_a_failure(crowd):
    ran = run("discover", crowd / "claims.csv", "--max-iter", 1, "--json")
    assert ran.returncode == 0
    assert "raise max_iter" in " ".join(ran.stderr.split())
    assert json.loads(ran.stdout)["converged"] is False


def test_infinite_intervals_are_null_in_json(tmp_path):
    (tmp_path / "claims.csv").write_text("user,object,value\na,x,1\n")
    result = json.loads(run("discover", tmp_path / "claims.csv", "--json").stdout)
    assert result["truths"]["x"] == {"truth": 1.0, "low": None, "high": None, "claims": 1, "effective_users": 1.0,
                                    "mean": 1.0, "median": 1.0}  # fmt: skip


def test_a_level_is_shown_with_the_decimals_that_it_needs(tmp_path):
    (tmp_path / "claims.csv").write_text("user,object,value\na,x,1\nb,x,2\nc,x,4\n")
    assert "99.5% low" in run("discover", tmp_path / "claims.csv", "--level", "0.995").stdout


def test_the_version_is_printed():
    assert run("--version").stdout == f"sottovoce {sv.__version__}\n"


def test_the_reason_for_differing_from_the_mean_is_reported(tmp_path):
    rng = np.random.default_rng(1)
    claims = {f"u{u}": rng.normal(np.arange(8), 0.5) for u in range(20)}
    rows = [f"{user},x{n},{value}" for user, values in claims.items() for n, value in enumerate(values)]
    far = [f"far{u},x{n},{900 + n + u}" for u in range(2) for n in range(8)]
    for name, lines in (("near", rows), ("far", rows + far)):
        (tmp_path / f"{name}.csv").write_text("\n".join(["user,object,value", *lines]))
    assert "8 of 8 means lie outside the truths' intervals" in run("discover", tmp_path / "far.csv").stdout
    assert json.loads(run("discover", tmp_path / "near.csv", "--json").stdout)["reason"] is None
