"""The figures' parameters: what is asked for is used, refused, or reported as without effect."""

import json

import pytest

from command import rows_of, run
from sottovoce.errors import BadParameter
from sottovoce.lab.reproduce import FIGURES, named
from sottovoce.lab.reproduce.experiment import Setting
from sottovoce.lab.reproduce.trade_off import delta_styles


def tasks(figure, **asked):
    return named(figure).tasks(Setting(quick=True, **asked))


@pytest.mark.parametrize("figure", ["trade-off", "gtm", "gtm-exact", "effect-of-quality", "effect-of-crowd"])
def test_a_figure_of_the_paper_accepts_its_parameters(figure):
    asked = {"deltas": (0.05, 0.3), "objects": 7, "runs": 3, "b": 2.0, "eta": 0.9}
    for task in tasks(figure, **asked):
        assert task["delta"] in (0.05, 0.3)
        assert (task.get("objects", task.get("readings")), task["runs"], task["b"], task["eta"]) == (7, 3, 2.0, 0.9)


def test_several_crowds_are_the_axis_of_the_figure_that_varies_them():
    assert {task["error_rate"] for task in tasks("effect-of-quality", error_rates=(4.0, 1.0, 30.0))} == {1, 4, 30}
    assert {task["participants"] for task in tasks("effect-of-crowd", participants=(10, 1000))} == {10, 1000}
    assert {task["error_rate"] for task in tasks("effect-of-crowd", error_rates=(4.0,))} == {4}
    assert tasks("effect-of-quality", error_rates=(4.0,)) == tasks("effect-of-quality")
    with pytest.raises(BadParameter, match="lambda1 1, 4: several values are for effect-of-quality only"):
        tasks("trade-off", error_rates=(1.0, 4.0))


def test_another_method_does_not_run_under_the_name_of_gtm():
    assert {task["method"] for task in tasks("trade-off", method="catd")} == {"catd"}
    assert {task["method"] for task in tasks("gtm", method="catd")} == {"gtm"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--participants", "0"), "participants 0: at least one"),
        (("--participants", "1.5"), "whole numbers"),
        (("--objects", "0"), "objects 0: at least one"),
        (("--lambda1", "0"), "error_rate=0.0"),
        (("--b", "0"), "b=0.0"),
        (("--epsilons", "1,"), "epsilons '1,'"),
        (("--deltas", "2"), "delta=2.0"),
        (("--method", "majority"), "it works with choices"),
    ],
)
def test_impossible_values_are_refused_not_replaced(tmp_path, asked, said):
    ran = run("reproduce", "trade-off", "--quick", "--runs", "1", "--processes", "1", "--out", tmp_path, *asked)
    assert ran.returncode == 2, ran.stdout
    assert said in " ".join(ran.stderr.split())


@pytest.mark.slow
def test_one_epsilon_is_drawn_and_claims_nothing_and_idle_options_are_reported(tmp_path):
    options = ("--epsilons", "1,1", "--runs", "2", "--objects", "4", "--processes", "1", "--floorplan", tmp_path)
    ran = run("reproduce", "trade-off", "--quick", "--json", "--out", tmp_path, *options)
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    assert summary["figures"][0]["holds"] is None
    assert summary["unused"] == ["floorplan"]
    assert "--floorplan has no effect on trade-off" in " ".join(ran.stderr.split())
    assert [row["epsilon"] for row in rows_of(tmp_path / "trade-off.csv")] == ["1"] * 3


def test_every_option_changes_some_figure(tmp_path):
    """None is reported as idle where all figures are made (folders have their own tests)."""
    setting = Setting(
        quick=True, error_rates=(3.0,), epsilons=(0.7, 3.0), deltas=(0.3,), participants=(70,), objects=9, runs=3,
        method="catd", b=2.5, eta=0.9,
    )  # fmt: skip
    assert setting.unused([named(name) for name in FIGURES]) == []
    assert setting.unused([named("readings")]) == [
        "lambda1", "epsilons", "deltas", "participants", "objects", "runs", "method", "b", "eta",
    ]  # fmt: skip


def test_every_delta_has_its_own_style_and_the_usual_ones_keep_theirs():
    many = delta_styles((0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5))
    assert len({look.colour for look in many.values()}) == len(many)
    assert all(many[delta] == look for delta, look in delta_styles((0.1, 0.2, 0.4)).items())
