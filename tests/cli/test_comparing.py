"""All methods in one table, your own methods, and the warnings of the pages in the terminal."""

import json

import numpy as np
import pytest
from tests.command import run

import sottovoce as sv
from sottovoce.discovery import METHODS
from sottovoce.discovery.comparison import Comparison
from sottovoce.discovery.own import register_file, register_installed
from sottovoce.engines import MemoryEngine
from sottovoce.errors import BadParameter
from sottovoce.worlds import synthetic

OWN = """
import numpy as np
import sottovoce as sv

class Steady(sv.TruthDiscovery):
    name, title, words = "steadier", "steadier hand", "whoever errs less counts more"

    def weigh(self, losses):
        return {weights}
"""


@pytest.fixture
def own(tmp_path):
    def write(weights):
        (tmp_path / "own.py").write_text(OWN.format(weights=weights))
        return f"{tmp_path / 'own.py'}:Steady"

    yield write
    METHODS.pop("steadier", None)


@pytest.fixture
def files(tmp_path):
    world = synthetic(20, 12, seed=3)
    world.claims.write(tmp_path / "claims.csv")
    truths = "".join(
        f"{label},{truth}\n" for label, truth in zip(world.claims.object_labels, world.truths, strict=True)
    )
    (tmp_path / "truth.csv").write_text("object,value\n" + truths)
    return tmp_path


def test_all_methods_are_compared_in_one_table(files):
    ran = run("discover", files / "claims.csv", "--method", "all", "--truth", files / "truth.csv")
    assert ran.returncode == 0, ran.stderr
    for name in ("noise-aware", "crh", "gtm", "catd", "lfcn", "mean", "median", "MAE", "within 95%"):
        assert name in ran.stdout
    out = files / "all.csv"
    ran = run(
        "discover", files / "claims.csv", "--method", "all", "--truth", files / "truth.csv", "--json", "--out", out
    )
    found = json.loads(ran.stdout)
    alone = json.loads(
        run("discover", files / "claims.csv", "--method", "crh", "--truth", files / "truth.csv", "--json").stdout
    )
    (crh,) = (row for row in found["methods"] if row["method"] == "crh")
    assert crh["mae"] == alone["scores"]["mae"]
    assert crh["coverage"] == alone["scores"]["coverage"]
    assert {name: truths["crh"] for name, truths in found["truths"].items()} == {
        name: entry["truth"] for name, entry in alone["truths"].items()
    }
    assert out.read_text().splitlines()[0].replace('"', "").startswith("object,noise-aware,crh")


@pytest.mark.parametrize("option", [("--weights", "w.csv"), ("--plot", "p.png"), ("--resume",)])
def test_options_of_one_method_are_refused_with_all_methods(files, option):
    ran = run("discover", files / "claims.csv", "--method", "all", *option, cwd=files)
    assert ran.returncode == 2
    assert f"{option[0]} with --method all" in ran.stderr


@pytest.mark.slow
def test_choices_are_compared_by_the_methods_that_take_them():
    claims = sv.Claims.from_arrays(list("abcabc"), list("xxxyyy"), ["yes", "yes", "no", "no", "no", "yes"])
    compared = Comparison.of(MemoryEngine(claims), None, 0.95)
    assert [row["method"] for row in compared.rows()] == [
        n for n, method in METHODS.items() if "choice" in method.kinds
    ]
    assert compared.summary()["truths"]["x"]["crh"] == "yes"


def test_a_method_that_needs_one_list_is_left_out_where_options_differ(tmp_path):
    answers = {"x": "yes", "y": "red"}
    rows = "".join(f"{user},{question},{answer}\n" for user in "abc" for question, answer in answers.items())
    (tmp_path / "claims.csv").write_text("user,object,value\n" + rows)
    ran = run("discover", tmp_path / "claims.csv", "--method", "all", "--json")
    assert ran.returncode == 0, ran.stderr
    compared = {row["method"] for row in json.loads(ran.stdout)["methods"]}
    assert "noise-aware" in compared
    assert "dawid-skene" not in compared
    (tmp_path / "truth.csv").write_text("object,value\nx,yes\ny,red\n")
    ran = run("compare", tmp_path, "--json")
    assert ran.returncode == 0, ran.stderr
    assert {row["method"] for row in json.loads(ran.stdout)["rows"]} == compared


def test_a_method_from_your_own_file(files, own):
    ran = run("discover", files / "claims.csv", "--method", own("1 / (1 + losses.mean)"), "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["method"] == "steadier"


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ("np.ones(2)", "shape (2,) for 3 users"),
        ("losses.mean * np.nan", "weight nan"),
        ("1 / (losses.mean * 0)", "weight inf"),
        ("-1 - losses.mean", "weight -"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("values", [[1.0, 2, 4, 1, 2, 5], ["a", "b", "c", "a", "b", "b"]])
def test_what_weigh_returns_is_checked(own, weights, words, values):
    name = register_file(own(weights))
    claims = sv.Claims.from_arrays(list("abcabc"), list("xxxyyy"), values)
    method = METHODS[name]
    method.kinds = ("number", "choice")
    with pytest.raises(BadParameter) as refusal:
        method().fit(claims)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (None, "Steady", "there is no file"),
        ("x = 1", "Steady", "must be a class"),
        ("1 / 0", "Steady", "ZeroDivisionError"),
        (OWN.format(weights="1"), "Other", "has Steady"),
    ],
)
def test_a_file_without_the_method_is_refused(tmp_path, content, name, words):
    if content is not None:
        (tmp_path / "own.py").write_text(content)
    with pytest.raises(BadParameter, match=words):
        register_file(f"{tmp_path / 'own.py'}:{name}")


def test_methods_of_installed_packages_are_found(monkeypatch, own):
    text = own("1 / (1 + losses.mean)")

    class Point:
        name, value = "steadier", "package:Steady"

        def load(self):
            name = register_file(text)
            return METHODS.pop(name)

    monkeypatch.setattr("sottovoce.discovery.own.entry_points", lambda group: [Point()] if "sottovoce" in group else [])
    register_installed()
    assert "steadier" in METHODS
    monkeypatch.setattr(Point, "load", lambda self: 1 / 0)
    with pytest.raises(BadParameter, match="does not load"):
        register_installed()


def test_warnings_of_the_pages_appear_in_the_terminal(tmp_path):
    # A fifth of the users agree on a lie: mean and median differ everywhere in the same direction.
    rng = np.random.default_rng(0)
    values = rng.uniform(0, 10, 30) + rng.standard_normal((50, 30))
    values[:10] += 8
    sv.Claims.from_matrix(values).write(tmp_path / "claims.csv")
    ran = run("discover", tmp_path / "claims.csv", "--method", "mean")
    assert (
        "Warning: Over all objects, mean and median differ by more than chance explains: some users lean"
        in " ".join(ran.stderr.split())
    )
    found = json.loads(run("discover", tmp_path / "claims.csv", "--method", "mean", "--json").stdout)
    assert [warning["code"] for warning in found["warnings"]] == ["suspicious_crowd"]


def test_labels_appear_in_natural_order_and_one_user_is_singular(tmp_path):
    (tmp_path / "claims.csv").write_text("user,object,value\n" + "".join(f"a,o{n},1\n" for n in range(1, 12)))
    ran = run("discover", tmp_path / "claims.csv", "--method", "mean")
    shown = [line.split()[0] for line in ran.stdout.splitlines() if line.startswith("o") and line[1].isdigit()]
    assert shown == [f"o{n}" for n in range(1, 12)]
    assert "11 claims by 1 user about 11 objects" in ran.stdout


def test_a_method_is_fitted_to_a_frame():
    import pandas

    frame = pandas.DataFrame({"user": ["a", "b"], "object": ["x", "x"], "value": [1.0, 2.0]})
    assert sv.Mean().fit(frame).truths_.tolist() == [1.5]
    with pytest.raises(BadParameter, match="Claims"):
        sv.Mean().fit([[1.0, 2.0]])
