"""The audit: it passes the real sampler and catches broken ones.

All draws come from seeds, so each outcome is fixed.
"""

import csv
import json
import math

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from byte_streams import seeded_stream
from hallways import manifest
from noise_reference import gaussian_mass, laplace_mass, mixed_mass
from sottovoce.cli.audit import audit as audit_command
from sottovoce.device.release import noisy_readings
from sottovoce.errors import BadParameter, BadRow, MissingColumn, UnreadableFile
from sottovoce.privacy import sampler
from sottovoce.privacy.audit import CONFIDENCE, NumberDraws, NumberSetting, audit, audit_draws
from sottovoce.privacy.conformity import up_to
from sottovoce.privacy.laws import parse_law
from sottovoce.privacy.sampler import Sampler, exact_number

LAWS = ["fresh:0.5", "gaussian:1.0", "floored:0.5:1.0", "shared:0.5"]
# The same laws with 20 % less noise: 0.8 times the deviation, 0.64 times the variance.
TOO_LITTLE = dict(zip(LAWS, ["fresh:0.78125", "gaussian:0.8", "floored:0.32:1.5625", "shared:0.78125"], strict=True))
GRID = exact_number("0.1")


def device(text, seed):
    """What devices run, on a seeded stream."""
    return NumberSetting().device(parse_law(text), seeded_stream(seed))


def failed(result):
    return {check.name for check in result.checks if not check.passed}


@pytest.mark.alike
@pytest.mark.parametrize("readings", [1, 4])
@pytest.mark.parametrize("text", LAWS)
def test_the_real_sampler_passes(text, readings):
    result = audit(device(text, f"real {text}"), parse_law(text), NumberSetting(readings=readings), samples=3000)
    assert result.passed, result.faults
    assert 0 < result.found_epsilon <= result.promised_epsilon


honest = sampler.noisy_steps


def unclipped(law, grid, readings, stream):
    return honest(law, grid, [(reading, None, None) for reading, _, _ in readings], stream)


def silent(law, grid, readings, stream):
    return [Sampler(law, grid, low, high).steps(reading) for reading, low, high in readings]


def noised_twice(law, grid, readings, stream):
    plain = silent(law, grid, readings, stream)
    return [2 * noisy - steps for noisy, steps in zip(honest(law, grid, readings, stream), plain, strict=True)]


def with_one_noise(law, grid, readings, stream):
    noise = honest(law, grid, [(0, None, None)], stream)[0]
    return [steps + noise for steps in silent(law, grid, readings, stream)]


BROKEN = {
    "clipping is skipped": unclipped,
    "no noise": silent,
    "noise is added twice": noised_twice,
    "one noise for all readings": with_one_noise,
    "a constant": lambda law, grid, readings, stream: [7 for _ in readings],
}


@pytest.mark.alike
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_the_audit_sees_what_devices_send(broken, monkeypatch):
    """There is one function from readings to what is sent: broken, it is broken for devices, `perturb` and audit."""
    asked, readings = manifest(), {"hall-1": "12", "hall-2": "1e6"}
    perturbing = Sampler(asked.laws["number"], GRID, sampler.exact_number(0), sampler.exact_number(100))
    sent = noisy_readings(asked, readings, seeded_stream("sent"))
    perturbed = perturbing.perturb(readings.values(), seeded_stream("sent"))
    monkeypatch.setattr(sampler, "noisy_steps", broken)
    assert noisy_readings(asked, readings, seeded_stream("sent")) != sent
    assert perturbing.perturb(readings.values(), seeded_stream("sent")) != perturbed
    result = audit(device("fresh:0.5", "broken"), parse_law("fresh:0.5"), NumberSetting(readings=2), samples=1000)
    assert not result.passed


def test_the_command_audits_what_devices_run(monkeypatch):
    monkeypatch.setattr(sampler, "noisy_steps", unclipped)
    assert run("--noise", "fresh:0.5", "--samples", "1000").exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize("text", LAWS)
def test_a_fifth_too_little_noise_is_caught_by_its_probabilities(text):
    result = audit(device(TOO_LITTLE[text], text), parse_law(text), NumberSetting(readings=2), samples=3000)
    assert not result.passed
    assert "noise has the law's probabilities" in failed(result)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["fresh:0.5", "gaussian:1.0"])
def test_a_fifth_too_little_noise_is_caught_by_the_bound_where_the_promise_is_tight(text):
    """20,000 releases: of the gap in ε, 0.25 and more, the bound loses about 0.13 (four standard errors)."""
    result = audit(device(TOO_LITTLE[text], f"tight {text}"), parse_law(text), samples=20_000)
    assert result.leaks
    assert "ε" in result.faults[0]


def test_one_noise_for_all_readings_is_caught():
    draw = device("fresh:0.5", "one for all")

    def reuses(readings):
        noise = draw([0.0])[0]
        return [round(reading * 10) + noise for reading in readings]

    result = audit(reuses, parse_law("fresh:0.5"), NumberSetting(readings=3), samples=2000)
    assert result.leaks
    assert "minus" in result.event
    assert failed(result) == {"each reading has its own noise"}


def test_the_same_noise_at_each_release_is_caught():
    noise = device("gaussian:1.0", "once")([0.0, 0.0])
    result = audit(
        lambda readings: [round(reading * 10) + drawn for reading, drawn in zip(readings, noise, strict=True)],
        parse_law("gaussian:1.0"), NumberSetting(readings=2), samples=2000,
    )  # fmt: skip
    assert result.leaks
    assert "each release has its own noise" in failed(result)


def test_noise_used_for_two_releases_is_caught():
    draw, noises = device("gaussian:1.0", "twice"), []

    def draws_every_other_time(readings):
        noises.append(noises[-1] if len(noises) % 2 else draw([0.0])[0])
        return [round(readings[0] * 10) + noises[-1]]

    result = audit(draws_every_other_time, parse_law("gaussian:1.0"), samples=2000)
    assert failed(result) == {"each release has its own noise"}


@pytest.mark.slow
def test_one_variance_passed_off_as_fresh_is_caught():
    """The noise of one reading is right; only the spread of the others reveals the variance."""
    result = audit(device("shared:0.5", "passed off"), parse_law("fresh:0.5"), NumberSetting(readings=10), samples=3000)
    assert result.leaks
    assert "spread of the others" in result.event
    assert failed(result) == {"each reading has its own noise"}


def test_floats_off_the_grid_are_caught():
    rng = np.random.default_rng(1)
    result = audit(
        lambda readings: [reading * 10 + rng.laplace(0.0, 10.0) for reading in readings],
        parse_law("fresh:0.5"), samples=2000,
    )  # fmt: skip
    assert failed(result) == {"outputs are whole grid steps"}
    assert not result.passed


def test_clamping_to_the_range_is_caught():
    draw = device("gaussian:1.0", "clamped")
    result = audit(
        lambda readings: [min(max(output, 0), 10) for output in draw(readings)], parse_law("gaussian:1.0"), samples=2000
    )
    assert failed(result) >= {"nothing piles up at the ends", "noise has the law's probabilities"}


@pytest.mark.slow
def test_drawing_again_until_inside_the_range_is_caught():
    draw = device("gaussian:1.0", "drawn again")

    def insists(readings):
        while True:
            outputs = draw(readings)
            if all(-10 <= output <= 20 for output in outputs):
                return outputs

    result = audit(insists, parse_law("gaussian:1.0"), samples=4000)
    assert "noise has the law's probabilities" in failed(result)


def test_the_bound_is_that_of_clopper_and_pearson():
    """Without noise an event always happens on one side and never on the other: both limits have a closed form."""
    result = audit(lambda readings: [round(10 * readings[0])], parse_law("fresh:0.5"), samples=2000)
    limit = ((1 - CONFIDENCE) / 2) ** (1 / 1000)  # half of the releases measure; two limits share the risk
    assert result.found_epsilon == pytest.approx(math.log(limit / (1 - limit)))


def test_the_promise_is_compared_where_asked():
    law, draw = parse_law("gaussian:1.0"), device("gaussian:1.0", "where")
    at_epsilon = audit(draw, law, samples=1000, epsilon=0.5)
    promise = law.guarantee(distance=1.0, readings=1, grid=0.1)
    assert (at_epsilon.promised_epsilon, at_epsilon.delta) == (0.5, promise.delta(0.5))
    at_delta = audit(draw, law, samples=1000, delta=0.1)
    assert (at_delta.promised_epsilon, at_delta.delta) == (promise.epsilon(0.1), 0.1)


def test_a_distance_between_grid_steps_counts_as_the_next_step():
    setting = NumberSetting(distance=0.25, grid=0.1, readings=2)
    assert setting.shift == 3
    assert setting.inputs() == ([0.0, 0.0], [0.3, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "mass"),
    [
        ("fresh:0.5", lambda: laplace_mass(10.0, 600)),
        ("gaussian:0.05", lambda: gaussian_mass(0.25, 600)),
        ("gaussian:0.45", lambda: gaussian_mass(20.25, 600)),
        ("shared:2.0", lambda: mixed_mass(0.0, 50 / 1024, 600)),
        ("floored:0.1:3.0", lambda: mixed_mass(10.0, 100 / 3 / 1024, 600)),
    ],
)
def test_probabilities_up_to_a_bound_are_sums_of_the_mass(law, mass):
    bounds = np.arange(-50.0, 51.0)
    sums = np.cumsum(mass())[550:651]
    assert up_to(parse_law(law).on_grid(GRID), bounds) == pytest.approx(sums, abs=1e-7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": 10}, "samples 10"),
        ({"epsilon": 1.0, "delta": 0.1}, "give one of them"),
        ({"epsilon": -1.0}, "epsilon -1.0"),
        ({"delta": 1.5}, "delta 1.5"),
        ({"delta": 0.0}, "delta 0"),
    ],
)
def test_invalid_options_are_reported(options, words):
    with pytest.raises(BadParameter, match=words):
        audit(device("gaussian:1.0", "options"), parse_law("gaussian:1.0"), **options)


@pytest.mark.parametrize(("part", "number"), [("distance", 0.0), ("distance", math.inf), ("grid", -1.0)])
def test_invalid_settings_are_reported(part, number):
    with pytest.raises(BadParameter, match=part):
        NumberSetting(**{part: number})


def test_a_sampler_that_answers_wrongly_is_reported():
    with pytest.raises(BadParameter, match="2 outputs for 1 readings"):
        audit(lambda readings: [1, 2], parse_law("fresh:0.5"), samples=1000)
    with pytest.raises(BadParameter, match="finite"):
        audit(lambda readings: [math.nan], parse_law("fresh:0.5"), samples=1000)


def write_draws(path, sampler, readings=2, releases=2000):
    first, second = NumberSetting(readings=readings).inputs()
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["side", "release", "reading", "value"])
        for release in range(releases):
            for side, inputs in enumerate((first, second)):
                table.writerows([side, release, n, output] for n, output in enumerate(sampler(inputs)))


def run(*arguments):
    app = typer.Typer()
    app.command()(audit_command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_draws_from_a_file_are_the_same_draws(tmp_path):
    write_draws(tmp_path / "draws.csv", device("fresh:0.5", "file"))
    law, setting = parse_law("fresh:0.5"), NumberSetting(readings=2)
    from_file = audit_draws(NumberDraws.read(tmp_path / "draws.csv"), law, setting)
    assert from_file == audit(device("fresh:0.5", "file"), law, setting, samples=2000)
    with pytest.raises(BadParameter, match="the draws have 2 per release"):
        audit_draws(NumberDraws.read(tmp_path / "draws.csv"), law, NumberSetting(readings=3))


@pytest.mark.slow
def test_the_command_tells_good_draws_from_bad_ones(tmp_path):
    write_draws(tmp_path / "good.csv", device("fresh:0.5", "good"))
    write_draws(tmp_path / "bad.csv", device("fresh:4.0", "bad"))
    good = run("--noise", "fresh:0.5", "--input", tmp_path / "good.csv", "--json")
    assert good.exit_code == 0
    printed = json.loads(good.stdout)
    assert printed["passed"] is True
    assert printed["audits"][0]["promised_epsilon"] == pytest.approx(1.0)
    bad = run("--noise", "fresh:0.5", "--input", tmp_path / "bad.csv")
    assert bad.exit_code == 1
    for words in ("fresh:0.5 fails:", "at most 1 is promised", "check failed: noise has the law's probabilities"):
        assert words in " ".join(bad.stdout.split())


def test_the_command_audits_the_real_sampler():
    """Drawn from the operating system; at this loose δ a correct sampler fails about once in a million runs."""
    ran = run("--noise", "floored:0.5:1.0", "--samples", 1000, "--delta", 0.3)
    assert ran.exit_code == 0, ran.stdout
    for words in ("ε promised", "No leak found", "never prove"):
        assert words in " ".join(ran.stdout.split())


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("side,release,reading\n0,1,1\n", MissingColumn, "value"),
        ("side,release,reading,value\n0,1,1,?\n", BadRow, "row 1"),
        ("side,release,reading,value\n0,1,1\n", BadRow, "row 1"),
        ("side,release,reading,value\n2,1,1,5\n", BadRow, "side 2"),
        ("side,release,reading,value\n0,1,1,5\n0,1,1,6\n", BadRow, "twice"),
        ("side,release,reading,value\n0,1,1,5\n0,1,2,5\n1,1,1,6\n", BadRow, "1 of 2 readings"),
        ("side,release,reading,value\n0,1,1,5\n1,1,1,6\n", BadParameter, "draw more"),
        ("side,release,reading,value\n", BadParameter, "draw more"),
    ],
)
def test_bad_draws_are_reported(tmp_path, text, kind, words):
    (tmp_path / "draws.csv").write_text(text)
    with pytest.raises(kind, match=words):
        NumberDraws.read(tmp_path / "draws.csv")


def test_bad_input_of_the_command_is_reported(tmp_path):
    assert isinstance(run("--noise", "fresh:0.5", "--input", tmp_path / "none.csv").exception, UnreadableFile)
    assert "--noise" in str(run("--input", tmp_path / "none.csv").exception)
    assert isinstance(run("--noise", "fresh").exception, BadParameter)
