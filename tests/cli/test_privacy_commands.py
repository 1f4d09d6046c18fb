"""perturb, guarantee and plan on the command line."""

import json

import numpy as np
import pytest

import sottovoce as sv
from command import rows_of, run


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readings")
    assert run("simulate", folder, "--participants", 30, "--objects", 20, "--seed", 1).returncode == 0
    return folder / "claims.csv"


def test_perturbed_claims_are_on_the_grid_and_carry_their_law(readings, tmp_path):
    out = tmp_path / "noisy.csv"
    ran = run("perturb", readings, "--noise", "fresh:0.5", "--range", "0:10", "--grid", "0.05", "--out", out, "--json")
    assert ran.returncode == 0, ran.stderr
    raw, noisy = sv.Claims.read(readings), sv.Claims.read(out)
    assert json.loads(ran.stdout)["clipped"] == int(((raw.values < 0) | (raw.values > 10)).sum()) > 0
    steps = noisy.values / 0.05
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-6)
    assert noisy.noise == "fresh:0.5"
    assert noisy.values.min() < 0  # noise may leave the range: it is never clamped
    noise = noisy.values - np.clip(raw.values, 0, 10)
    assert abs(noise.mean()) < 5 * np.sqrt(2 / 600)
    assert abs(noise.var() - 2) < 5 * np.sqrt(20 / 600)  # Laplace of scale 1: kurtosis 6, Var(s²) ≈ (24 - 4)/n


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl"])
def test_the_law_is_kept_in_every_format(readings, tmp_path, suffix):
    out = tmp_path / f"noisy{suffix}"
    assert run("perturb", readings, "--noise", "shared:0.5", "--out", out).returncode == 0
    assert sv.Claims.read(out).noise == "shared:0.5"
    assert json.loads(run("discover", out, "--json").stdout)["claims"] == 600


def test_two_runs_draw_different_noise(readings, tmp_path):
    for name in ("a.csv", "b.csv"):
        run("perturb", readings, "--noise", "gaussian:1", "--out", tmp_path / name)
    assert rows_of(tmp_path / "a.csv") != rows_of(tmp_path / "b.csv")


def test_noise_is_not_added_twice(readings, tmp_path):
    run("perturb", readings, "--noise", "gaussian:1", "--out", tmp_path / "once.csv")
    ran = run("perturb", tmp_path / "once.csv", "--noise", "gaussian:1", "--out", tmp_path / "twice.csv")
    assert ran.returncode == 2
    assert "noise is added once" in " ".join(ran.stderr.split())
    assert not (tmp_path / "twice.csv").exists()


def test_claims_of_two_laws_are_not_mixed(tmp_path):
    (tmp_path / "c.csv").write_text("user,object,value,noise_law\na,x,1,shared:0.5\nb,x,2,fresh:0.5\n")
    ran = run("discover", tmp_path / "c.csv")
    assert ran.returncode == 2
    assert "the same law" in " ".join(ran.stderr.split())


def test_guarantee_json_has_the_agreed_form():
    printed = json.loads(
        run("guarantee", "--noise", "shared:0.5", "--distance", 1, "--readings", 30, "--epsilon", 1, "--json").stdout
    )
    promise = sv.SharedVariance(0.5).guarantee(1.0, 30)
    assert printed["noise"] == "shared:0.5"
    assert (printed["distance"], printed["readings"], printed["epsilon"]) == (1.0, 30, 1.0)
    assert (printed["delta"], printed["delta_any_n"]) == (promise.delta(1), promise.delta_any_n(1))
    assert printed["pure_epsilon"] is None
    assert printed["paper_delta"] == promise.paper_delta(1)
    fresh = json.loads(run("guarantee", "--noise", "fresh:0.5", "--json").stdout)
    assert (fresh["epsilon"], fresh["delta"], fresh["pure_epsilon"], fresh["paper_delta"]) == (1.0, 0.0, 1.0, None)


@pytest.mark.parametrize(
    ("law", "unit", "readings", "words"),
    [
        ("shared:0.5", "reading", 200, "exact for 200 readings"),
        ("shared:0.5", "reading", 201, "an upper bound for 201"),
        ("floored:2:0.5", "reading", 201, "an upper bound for 201"),
        ("fresh:0.5", "participant", 201, "an upper bound for 201"),
        ("fresh:0.5", "reading", 201, "exact for 201 readings"),
        ("gaussian:3.7", "participant", 201, "exact for 201 readings"),
    ],
)
def test_figures_that_are_bounds_are_not_called_exact_and_the_others_are(law, unit, readings, words):
    shown = run("guarantee", "--noise", law, "--unit", unit, "--readings", readings, "--epsilon", 1).stdout
    assert words in " ".join(shown.split())


def test_guarantee_prints_the_promise_in_words():
    ran = run("guarantee", "--noise", "gaussian:3.7", "--unit", "participant", "--readings", 5, "--delta", "1e-6")
    assert ran.returncode == 0, ran.stderr
    assert "your readings, even all 5 together" in " ".join(ran.stdout.split())


@pytest.mark.slow
def test_plan_prints_json_and_draws_a_picture(tmp_path):
    ran = run(
        "plan",
        "--simulations",
        3,
        "--participants",
        40,
        "--readings",
        5,
        "--error",
        0.1,
        "--plot",
        tmp_path / "p.svg",
        "--json",
    )
    assert ran.returncode == 0, ran.stderr
    printed = json.loads(ran.stdout)
    assert printed["plans"][0]["noise"].startswith("fresh:")
    assert printed["plans"][0]["participants_needed"] > 0
    assert "<svg" in (tmp_path / "p.svg").read_text()[:1000]


@pytest.mark.alike
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["guarantee", "--noise", "shared:-1"], ["rate -1.0", "finite number above 0"]),
        (["guarantee", "--noise", "shared:nan"], ["nan", "finite number above 0"]),
        (["guarantee", "--noise", "fresh:1", "--distance", "0"], ["distance 0", "finite number above 0"]),
        (["guarantee", "--noise", "fresh:1", "--readings", "0"], ["readings 0"]),
        (["guarantee", "--noise", "gaussian:1", "--delta", "1"], ["delta 1", "below 1"]),
        (["guarantee", "--noise", "gaussian:1", "--delta", "0.1", "--epsilon", "1"], ["give one of them"]),
        (
            ["perturb", "READINGS", "--noise", "fresh:1", "--range", "5:1", "--out", "x.csv"],
            ["5:1", "the low end below the high"],
        ),
        (["perturb", "READINGS", "--noise", "fresh:1", "--range", "5", "--out", "x.csv"], ["LO:HI"]),
        (["perturb", "READINGS", "--noise", "fresh:1", "--range", "a:5", "--out", "x.csv"], ["range 'a:5'", "LO:HI"]),
        (["plan", "--range", "0:9", "--distance", "1"], ["distance 1 with range 0:9", "leave one of them out"]),
        (["plan", "--range", "5:5"], ["5:5", "the low end below the high end"]),
        (["perturb", "READINGS", "--noise", "fresh:1", "--grid", "-1", "--out", "x.csv"], ["grid -1"]),
        (["perturb", "READINGS", "--noise", "fresh:1", "--grid", "x", "--out", "x.csv"], ["grid 'x'", "above 0"]),
        (["plan", "--epsilon", "0"], ["epsilon 0"]),
        (["plan", "--distance", "0"], ["distance 0"]),
        (["simulate", "x", "--seed=-1"], ["Invalid value for '--seed'"]),
        (["plan", "--seed=-1"], ["Invalid value for '--seed'"]),
        (["simulate", "x", "--low", "5", "--high", "nan"], ["5.0:nan", "both ends must be numbers"]),
        (["demo", "--seed=-1"], ["Invalid value for '--seed'"]),
        (["guarantee", "--noise", "shared:1000", "--grid", "0.1", "--unit", "participant"], ["add more noise"]),
    ],
)
def test_bad_input_exits_with_2(arguments, words, readings, tmp_path):
    ran = run(*[readings if argument == "READINGS" else argument for argument in arguments], cwd=tmp_path)
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "Traceback" not in ran.stderr
    said = " ".join(ran.stderr.split())
    for word in words:
        assert word in said
    assert list(tmp_path.iterdir()) == []


def test_an_unwise_grid_gives_a_warning():
    ran = run("guarantee", "--noise", "fresh:1", "--grid", "0.5", "--json")
    assert ran.returncode == 0
    assert "a tenth of the distance" in " ".join(ran.stderr.split())
