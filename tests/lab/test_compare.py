"""Methods over worlds, laws and real sets, in one table with standard errors."""

import csv
import json

import numpy as np
import pytest
from tests.command import run

import sottovoce as sv
from sottovoce.errors import BadParameter, UnreadableFile
from sottovoce.lab.compare import compare, sets_in, simulated
from sottovoce.worlds import synthetic


def test_errors_of_the_mean_are_those_that_statistics_predict():
    """The mean of S readings with variance 1/λ1 has an error of √(2/π)·√(1/(λ1·S)); noise of variance v adds v."""
    rows = compare([simulated("synthetic", 40, 60, 1.0)], ["mean"], ["none", "gaussian:2"], runs=20)
    for row, variance in zip(rows, (1.0, 5.0), strict=True):
        assert row["mae"] == pytest.approx(np.sqrt(2 / np.pi * variance / 40), abs=4 * row["mae_se"])
        assert row["mae_se"] == pytest.approx(row["mae"] / np.sqrt(20 * 60), rel=1)  # 1,200 errors in all
        assert row["runs"] == 20


def test_all_methods_see_the_same_claims_and_a_seed_repeats_them():
    crowd = [simulated("synthetic", 20, 10, 1.0)]
    first, again, other = (compare(crowd, ["mean", "crh"], runs=3, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert compare(crowd, ["crh"], runs=3, seed=1)[0] == first[1]


@pytest.fixture
def folder(tmp_path):
    synthetic(20, 10, seed=2).write(tmp_path / "lengths")
    answers = tmp_path / "answers"
    answers.mkdir()
    (answers / "answer.csv").write_text(
        "question,worker,answer\n" + "".join(f"q{q},w{w},{int(w < 3)}\n" for q in range(4) for w in range(4))
    )
    (answers / "truth.csv").write_text("question,truth\nq0,1\nq1,1\nq2,0\nq3,1\n")
    return tmp_path


def test_folders_of_real_sets_are_compared(folder):
    rows = compare(sets_in(folder), None, ["none", "fresh:0.5"], runs=2)
    numbers = [row for row in rows if row["world"] == "lengths"]
    assert {row["runs"] for row in numbers if row["noise"] == "none"} == {1}
    assert all(row["mae_se"] is None for row in numbers if row["noise"] == "none")
    claims = sv.Claims.read(folder / "lengths" / "claims.csv")
    (mean,) = (row for row in numbers if (row["method"], row["noise"]) == ("mean", "none"))
    with (folder / "lengths" / "truth.csv").open() as file:
        truths = {row["object"]: float(row["value"]) for row in csv.DictReader(file)}
    errors = np.abs(sv.Mean().fit(claims).truths_ - [truths[str(label)] for label in claims.object_labels.tolist()])
    assert mean["mae"] == pytest.approx(errors.mean())
    choices = [row for row in rows if row["world"] == "answers"]
    assert {row["noise"] for row in choices} == {"none"}
    assert all(row["accuracy"] == 0.75 for row in choices if row["method"] == "majority")


@pytest.mark.parametrize(
    ("claims", "truths", "mark", "header"),
    [("crowd_labels.csv", "gt.csv", ",", True), ("crowd_labels.tsv", "golden_labels.tsv", "\t", False)],
)
def test_public_collections_are_read_as_they_are(tmp_path, claims, truths, mark, header):
    """Three of four workers say 1 everywhere; the truth is 1 in two of three tasks."""
    rows = [["worker", "task", "label"]] * header
    rows += [[f"w{w}", f"t{t}", str(int(w < 3))] for t in range(3) for w in range(4)]
    known = [["task", "label"]] * header + [["t0", "1"], ["t1", "0"], ["t2", "1"]]
    for name, table in ((claims, rows), (truths, known)):
        (tmp_path / name).write_text("".join(mark.join(row) + "\n" for row in table))
    (row,) = compare(sets_in(tmp_path), ["majority"])
    assert row["accuracy"] == pytest.approx(2 / 3)


def test_the_command_prints_and_writes_the_table(folder):
    ran = run("compare", folder, "--worlds", "synthetic", "--runs", "2", "--participants", "20",
              "--methods", "crh,mean,majority",
              "--out", folder / "table.csv")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    for words in ("synthetic", "lengths", "answers", "±", "within 95%", "accuracy"):
        assert words in ran.stdout
    assert len((folder / "table.csv").read_text().splitlines()) == 1 + 2 + 2 + 2
    ran = run("compare", "--runs", "1", "--participants", "20", "--methods", "mean", "--json")
    assert json.loads(ran.stdout)["rows"][0]["mae_se"] is None


@pytest.mark.parametrize(
    ("of", "options", "words", "others"),
    [
        ("answers", ["--noise", "shared:0.5"], ["noise shared:0.5: ", "numbers only; give --noise none"], ["choose"]),
        ("answers", ["--methods", "mean", "--json"],
         ["methods mean: ", "need other methods; choose among ", "majority, "], ["--noise"]),
        ("lengths", ["--methods", "majority", "--noise", "fresh:1"], ["methods majority: ", "choose among noise-aware"],
         ["--noise none"]),
        ("answers", ["--methods", "mean", "--noise", "fresh:1"],
         ["methods mean with noise fresh:1: ", "majority, ", ", and give --noise none"], []),
        ("", ["--methods", "majority", "--noise", "fresh:1"], ["noise fresh:1: "], ["choose"]),
    ],
)  # fmt: skip
def test_a_comparison_of_nothing_is_refused_and_says_why(folder, of, options, words, others):
    ran = run("compare", folder / of, *options, "--out", folder / "table.csv")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert not (folder / "table.csv").exists()
    said = " ".join(ran.stderr.replace("│", " ").split())
    assert all(word in said for word in words), said
    assert not any(word in said for word in others), said


def test_empty_lists_mean_the_defaults(folder):
    ran = run("compare", "--worlds", "", "--noise", "", "--methods", "", "--runs", 1, "--participants", 9, "--json")
    assert {(row["world"], row["noise"]) for row in json.loads(ran.stdout)["rows"]} == {("synthetic", "none")}


def test_mistakes_are_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="contains no data set"):
        sets_in(tmp_path)
    with pytest.raises(UnreadableFile, match="no such folder"):
        sets_in(tmp_path / "nowhere")
    with pytest.raises(BadParameter, match="world 'moon'"):
        simulated("moon", 1, 1, 1)
    with pytest.raises(BadParameter, match="method 'nix'"):
        compare([simulated("synthetic", 5, 5, 1.0)], ["nix"])
