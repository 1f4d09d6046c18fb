"""Your own law, in its own file: once registered, it works wherever the laws of the project do."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from byte_streams import seeded_stream
from campaign_server import campaign_server
from hallways import HALLWAY_CLAIMS, manifest
from participant import Participant
from privacy.own_law import TwoSided
from sottovoce.cli.app import app
from sottovoce.device.sanity import check_promise
from sottovoce.errors import BadParameter
from sottovoce.planning.information import information
from sottovoce.privacy.audit import numbers
from sottovoce.privacy.laws import LAWS, noise_laws, parse_law, register
from sottovoce.protocol import Manifest, Problem, Promise


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """Register the law for one test at a time."""
    monkeypatch.setitem(LAWS, "twosided", TwoSided)


def run(*arguments):
    ran = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


def test_perturb_adds_it(tmp_path):
    raw, out = tmp_path / "raw.csv", tmp_path / "noisy.csv"
    raw.write_text(HALLWAY_CLAIMS)
    columns = ("--user", "who", "--object", "where", "--value", "metres")
    assert run("perturb", raw, "--noise", "twosided:1.5", "--grid", "0.1", "--out", out, *columns)["readings"] == 15
    assert sv.Claims.read(out).noise == "twosided:1.5"
    assert run("discover", out)["claims"] == 15


def test_guarantee_says_what_it_promises():
    printed = run("guarantee", "--noise", "twosided:2", "--distance", "1", "--grid", "0.1", "--readings", "3")
    assert printed["pure_epsilon"] == printed["epsilon"] == 0.5
    assert printed["paper_delta"] is None
    together = run("guarantee", "--noise", "twosided:2", "--readings", "3", "--unit", "participant")
    assert together["epsilon"] == 1.5


@pytest.mark.slow
@pytest.mark.parametrize("grid", [None, 0.1])
def test_plan_finds_its_least_noise(grid):
    plans = {option.law.name: option for option in sv.plan(epsilon=0.5, participants=100, grid=grid, simulations=2)}
    assert set(plans) == set(noise_laws())
    own = plans["twosided"]
    assert (own.law.scale, own.delta) == (pytest.approx(2.0, rel=2e-6), 0.0)
    assert own.guarantee.epsilon(0.0) <= 0.5
    assert plans["fresh"].predicted_error < own.predicted_error  # with a law that the analyst can use
    assert own.simulated_error.mean == pytest.approx(own.predicted_error, rel=0.5)


@pytest.fixture
def seeded(monkeypatch):
    """The audit draws from a seed: of random draws one in a thousand does not show the leak below."""
    monkeypatch.setattr(numbers, "ByteStream", lambda: seeded_stream("own law"))


@pytest.mark.slow
@pytest.mark.usefixtures("seeded")
def test_audit_passes_it_and_bounds_its_epsilon_from_below():
    (audited,) = run("audit", "--noise", "twosided:1", "--samples", "3000")["audits"]
    assert 0 < audited["found_epsilon"] <= audited["promised_epsilon"] == 1.0
    assert all(check["passed"] for check in audited["checks"])


class Quiet(TwoSided):
    """A law that promises twice the noise that it draws."""

    def on_grid(self, grid):
        return type(super().on_grid(grid))(self.exact("scale") / grid / 2)

    def guarantee(self, *arguments, **options):
        return TwoSided(self.scale).guarantee(*arguments, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("seeded")
def test_audit_detects_a_law_that_promises_more_than_it_keeps(monkeypatch):
    monkeypatch.setitem(LAWS, "twosided", Quiet)
    ran = CliRunner().invoke(app, ["audit", "--noise", "twosided:1", "--samples", "3000"])
    assert ran.exit_code == 1
    assert "fails" in ran.output


def test_a_device_judges_joins_and_releases(tmp_path):
    asked = manifest(noise="twosided:1.0")
    with campaign_server(asked) as server:
        ann = Participant(tmp_path / "participant.db")
        try:
            assert ann.join(server.invite()).promise == Promise(1.0, 0.0)
            ann.release({"hall-1": "12.3", "hall-2": "1e6"})
            ann.release({"hall-3": "5"})  # nothing is shared, so readings may come one by one
            ann.flush()
        finally:
            ann.file.close()
        assert [len(json.loads(body)["readings"]) for body in server.bodies] == [2, 1]


def test_its_simple_bound_catches_a_wrong_promise():
    asked = manifest(noise="twosided:1.0", unit="participant")
    check_promise(asked, Promise(3.0, 0.0))
    for wrong in (Promise(2.9, 0.0), Promise(2.9, 1e-5)):
        with pytest.raises(Problem, match="cannot have an epsilon below"):
            check_promise(asked, wrong)


def test_the_noise_aware_estimator_treats_it_as_normal_noise_of_its_variance():
    law = TwoSided(1.0)
    world = sv.worlds.synthetic(80, 20, seed=5)
    claims = world.with_simulated_noise(law, seed=6).claims
    own = sv.NoiseAware(noise=law).fit(claims)
    normal = sv.NoiseAware(noise=sv.Gaussian(2**0.5)).fit(claims)
    assert own.truths_ == pytest.approx(normal.truths_, rel=1e-9)
    mean = sv.Mean().fit(claims)
    assert np.abs(own.truths_ - world.truths).mean() < np.abs(mean.truths_ - world.truths).mean()
    assert information(law, 2.0) == pytest.approx(information(sv.Gaussian(2**0.5), 2.0))


def test_a_name_can_be_used_only_once():
    register(TwoSided)  # the same again: nothing happens
    other = type("Other", (TwoSided,), {"name": "fresh"})
    with pytest.raises(BadParameter, match="there is already one with this name"):
        register(other)


def test_a_manifest_with_a_law_that_was_not_registered_is_refused(monkeypatch):
    data = manifest(noise="twosided:1.0").bytes()
    monkeypatch.delitem(LAWS, "twosided")
    with pytest.raises(Problem) as refused:
        Manifest.parse(data)
    assert refused.value.code == "bad_manifest"
    with pytest.raises(BadParameter, match="one of shared:RATE, fresh:RATE, floored:FLOOR:RATE, gaussian:SIGMA"):
        parse_law("twosided:1.0")


def test_another_process_does_not_have_it():
    code = "import sottovoce as sv; sv.parse_law('twosided:1.0')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "must be one of" in ran.stderr
