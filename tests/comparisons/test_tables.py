"""Tables of comparisons: read from files, refused with value, rule and fix, and turned into truths."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import sottovoce as sv
from command import run
from sottovoce.comparisons.table import is_comparisons
from sottovoce.errors import BadParameter, BadRow, DuplicateClaim, MissingColumn, NoClaims
from sottovoce.privacy.laws import parse_answer_law
from sottovoce.worlds.sequential import SequentialCrowd

ROWS = [("ann", "hall", "12.45", 1), ("bob", "hall", "13.05", 0), ("ann", "stairs", "4.5", 0)]


def written(folder, rows, suffix):
    path = folder / f"answers{suffix}"
    names = ("user", "object", "cuts", "level", "noise_law")
    full = [(*row, "response:1.0") for row in rows]
    if suffix == ".csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in (names, *full)))
    elif suffix == ".jsonl":
        path.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in full))
    else:
        columns = dict(zip(names, zip(*full, strict=True), strict=True))
        pa.parquet.write_table(pa.table({name: list(column) for name, column in columns.items()}), path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_files_of_all_formats_hold_the_same(tmp_path, suffix):
    path = written(tmp_path, ROWS, suffix)
    assert is_comparisons(str(path))
    table = sv.Comparisons.read(path)
    assert table.cuts.tolist() == [[12.45], [13.05], [4.5]]
    assert table.levels.tolist() == [1, 0, 0]
    assert table.user_labels[table.users].tolist() == ["ann", "bob", "ann"]
    assert table.noise == "response:1.0"


def test_several_cuts_fit_in_one_field(tmp_path):
    table = sv.Comparisons.read(written(tmp_path, [("ann", "hall", "1 2.5 4", 3)], ".csv"))
    assert table.cuts.tolist() == [[1, 2.5, 4]]
    assert table.levels_each == 4


def test_claims_are_not_taken_for_comparisons(tmp_path):
    (tmp_path / "claims.csv").write_text("user,object,value\nann,level,3\n")
    assert not is_comparisons(str(tmp_path / "claims.csv"))
    assert not is_comparisons(str(tmp_path / "missing.csv"))
    assert not is_comparisons("-")


@pytest.mark.parametrize(
    "option",
    [
        ["--report", "page.html"], ["--resume"], ["--skip-bad", "--left-out", "rows.csv"], ["--choices", "2"],
        ["--engine", "disk"], ["--spark-master", "local"], ["--max-iter", "7"], ["--tol", "0.1"], ["--decimal", ","],
        ["--duplicates", "last"], ["--strip-units"], ["--encoding", "latin-1"], ["--value", "metres"],
        ["--kind", "number"], ["--method", "crh"], ["--target", "mean"],
    ],
)  # fmt: skip
def test_options_that_do_nothing_with_comparisons_are_refused(tmp_path, option):
    refused = run("discover", written(tmp_path, ROWS, ".csv"), *option, cwd=tmp_path)
    assert refused.returncode == 2
    said = " ".join(refused.stderr.split())
    assert f"{' '.join(option[-2:])}: " in said
    assert "this option is not for comparisons" in said


def test_options_of_comparisons_and_usual_values_are_accepted(tmp_path):
    path = written(tmp_path, ROWS, ".csv")
    path.write_text(path.read_text().replace("user,object", "who,where"))
    (tmp_path / "truth.csv").write_text("object,value\nhall,12.7\n")
    ran = run(
        "discover", path, "--user", "who", "--object", "where", "--range", "0:20", "--level", "0.9", "--skip-bad",
        "--noise", "response:1", "--truth", "truth.csv", "--out", "t.csv", "--weights", "w.csv", "--json",
        "--method", "noise-aware", "--engine", "auto", "--max-iter", "1000", "--duplicates", "error",
        cwd=tmp_path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("option", [[], ["--truth", "claims.csv"], ["--known", "claims.csv"], ["--method", "all"]])
def test_a_cut_off_file_of_the_analyst_is_an_error_and_not_a_traceback(tmp_path, option):
    (tmp_path / "good.csv").write_text("user,object,value\nann,hall,1\nbob,hall,2\n")
    (tmp_path / "claims.csv").write_bytes("object,value\nhall,1\n".encode("utf-16")[:-1])
    claims = "good.csv" if "claims.csv" in option else "claims.csv"
    refused = run("discover", claims, *option, cwd=tmp_path)
    assert refused.returncode == 2
    assert "claims.csv, line 2: byte 0x0a: the text is cut off" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        (("eve", "hall", "12.45", 2), BadRow, "row 4, level 2: with 1 cut"),
        (("eve", "hall", "12.45", -1), BadRow, "level -1"),
        (("eve", "hall", "12.45", 0.5), BadRow, "level 0.5"),
        (("eve", "hall", "12.45", "x"), BadRow, "level 'x'"),
        (("eve", "hall", "far", 1), BadParameter, "cuts 'far': they must be numbers"),
        (("eve", "hall", "inf", 1), BadParameter, "finite and strictly ascending"),
        (("eve", "hall", "nan", 1), BadParameter, "finite and strictly ascending"),
        (("eve", "hall", "3 2", 1), BadParameter, "finite and strictly ascending"),
        (("eve", "hall", "2 3 4", 1), BadParameter, "the same number of cuts"),
        (("eve", "hall", "", 1), BadRow, "cuts is missing"),
        (("ann", "hall", "9.5", 1), DuplicateClaim, "user ann compares object hall twice"),
    ],
    ids=lambda entry: repr(entry) if isinstance(entry, tuple) else None,
)
def test_bad_rows_are_refused(tmp_path, row, error, words):
    with pytest.raises(error, match=words):
        sv.Comparisons.read(written(tmp_path, [*ROWS, row], ".csv"))


def test_a_missing_column_is_reported(tmp_path):
    (tmp_path / "a.csv").write_text("user,object,level\nann,hall,1\n")
    with pytest.raises(MissingColumn, match="no column 'cuts'"):
        sv.Comparisons.read(tmp_path / "a.csv")


@pytest.fixture(scope="module")
def outcome():
    return SequentialCrowd(parse_answer_law("response:2"), participants=150, objects=6, seed=1).play()


def test_a_table_gives_the_truths_that_the_campaign_found(outcome):
    fit = sv.ByComparison(range=(0, 100), spread_guess=2.0).fit(outcome.comparisons())
    assert fit.truths_.tolist() == outcome.estimates.tolist()  # to the last bit: nothing but the answers counts
    low, high = fit.intervals()
    assert (low.tolist(), high.tolist()) == (outcome.low.tolist(), outcome.high.tolist())
    narrow, wide = fit.intervals(0.5), fit.intervals(0.99)
    assert (wide[0] < narrow[0]).all()
    assert (narrow[1] < wide[1]).all()


def test_rows_may_come_in_any_order(outcome):
    table = outcome.comparisons()
    order = np.random.default_rng(2).permutation(len(table))
    mixed = sv.Comparisons.from_arrays(
        table.users[order], table.objects[order], table.cuts[order].tolist(), table.levels[order], noise=table.noise
    )
    options = {"range": (0, 100), "spread_guess": 2.0}
    assert sv.ByComparison(**options).fit(mixed).truths_.tolist() == outcome.estimates.tolist()


def test_the_range_follows_from_the_cuts_unless_it_is_given(outcome):
    fit = sv.ByComparison().fit(outcome.comparisons())
    assert np.abs(fit.truths_ - outcome.truths).max() < 1  # readings' spread; five times the error to expect


@pytest.mark.parametrize(
    ("options", "noise", "words"),
    [
        ({}, None, "names no law"),
        ({"range": (5, 5)}, "response:1", "range 5:5"),
        ({"range": (0, float("inf"))}, "response:1", "range 0:inf"),
        ({"spread_guess": -1.0}, "response:1", "spread_guess -1"),
        ({"noise": "fresh:1"}, None, "adds noise to numbers"),
    ],
)
def test_bad_parameters_are_refused(options, noise, words):
    table = sv.Comparisons.from_arrays([1, 2], [1, 1], [(3.5,), (4.5,)], [1, 0], noise=noise)
    with pytest.raises(BadParameter, match=words):
        sv.ByComparison(**options).fit(table)


def test_one_cut_for_all_does_not_show_the_range():
    table = sv.Comparisons.from_arrays([1, 2], [1, 1], [(3.5,), (3.5,)], [1, 0], noise="response:1")
    with pytest.raises(BadParameter, match="does not show where truths lie"):
        sv.ByComparison().fit(table)
    assert sv.ByComparison(range=(0, 7)).fit(table).truths_ == pytest.approx(3.5, abs=0.1)


@pytest.mark.slow
def test_accurate_users_count_more_with_four_levels():
    """Error variances Exponential(1), 30 objects, ε = 4: estimated weights make truths a fifth better or more."""
    before, after = [], []
    for seed in range(4):
        crowd = SequentialCrowd(parse_answer_law("response:4"), 150, 30, levels=4, error_rate=1.0, seed=seed)
        played = crowd.play()
        fit = sv.ByComparison(range=(0, 100)).fit(played.comparisons())
        before.append(played.rmse)
        after.append(np.sqrt(np.mean((fit.truths_ - played.truths) ** 2)))
        low, high = fit.intervals()
        assert ((low <= played.truths) & (played.truths <= high)).mean() >= 0.8
        assert fit.weights_.mean() == pytest.approx(1)
        assert fit.weights_.max() > 2
    # Measured 0.7; the error of each ratio is 13 %, of the mean of four 7 %.
    assert np.mean(after) / np.mean(before) < 0.9


@pytest.mark.parametrize(
    ("cuts", "error", "words"),
    [
        ([(1.0,)], BadRow, "2 users, 2 objects, 1 entry of cuts, 2 levels, but every answer needs one of each"),
        ([(1.0,), (1.0, 2.0)], BadParameter, "must have the same number of cuts"),
    ],
)
def test_sequences_that_do_not_fit_together_are_refused(cuts, error, words):
    with pytest.raises(error, match=words):
        sv.Comparisons.from_arrays(["ann", "bob"], ["hall", "hall"], cuts, [1, 0])


@pytest.mark.parametrize(
    ("cuts", "levels", "error", "words"),
    [
        ([], [], NoClaims, "there is no answer; at least one"),
        ([(1.0,)], 1, BadParameter, "levels 1: there must be one level for each answer; give a list"),
        ([(1.0,)], [[1]], BadParameter, "one level for each answer"),
        ([1.0], [1], BadParameter, r"cuts \[1\.0\]: each answer needs a list of its cuts"),
        (1.0, [1], BadParameter, "each answer needs a list of its cuts"),
    ],
)
def test_what_is_not_a_sequence_of_answers_is_refused(cuts, levels, error, words):
    with pytest.raises(error, match=words):
        sv.Comparisons.from_arrays(["ann"] * bool(cuts), ["hall"] * bool(cuts), cuts, levels)
