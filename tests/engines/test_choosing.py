"""The engine follows from the size of the claims and the memory that is free, and the choice is reported."""

import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.claims.packing import pack_claims
from sottovoce.cli.app import app
from sottovoce.engines import DiskEngine, MemoryEngine, choose_engine, choosing
from sottovoce.errors import BadParameter


@pytest.fixture
def packed(tmp_path):
    return pack_claims(sv.worlds.synthetic(50, 30, seed=1).claims, tmp_path / "pack")


@pytest.mark.parametrize(("free", "fits"), [(10**9, True), (100_000, False), (None, False)])
def test_claims_are_held_in_memory_where_they_fit(packed, monkeypatch, free, fits):
    monkeypatch.setattr(choosing, "free_memory", lambda: free)
    assert choosing.fits_in_memory(packed)[0] is fits
    ran = CliRunner().invoke(app, ["discover", str(packed.folder), "--method", "crh"])
    assert ran.exit_code == 0
    assert f"engine {'memory' if fits else 'disk'}: " in ran.stderr


def test_the_choice_can_be_made_in_python(packed, monkeypatch):
    monkeypatch.setattr(choosing, "free_memory", lambda: 10**9)
    chosen = choose_engine(packed)
    assert (type(chosen.engine), chosen.name) == (MemoryEngine, "memory")
    assert "1,500 claims need up to 0.1 GB; 1.0 GB are free" in chosen.reason
    assert chosen.engine.object_ages.tolist() == [0] * 30
    assert type(choose_engine(packed, "disk").engine) is DiskEngine
    claims = packed.claims()
    assert choose_engine(claims).engine.n_claims == len(claims)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"engine": "abacus"}, "'auto', 'memory', 'disk' or 'spark'"),
        ({"engine": "disk", "spark_master": "local[1]"}, "only Spark has a master"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(packed, options, why):
    with pytest.raises(BadParameter, match=why):
        choose_engine(packed, **options)


@pytest.mark.parametrize("engine", ["disk", "spark"])
def test_claims_in_memory_are_not_sent_elsewhere(packed, engine):
    with pytest.raises(BadParameter, match="pack them, and use"):
        choose_engine(packed.claims(), engine)


def test_a_file_larger_than_memory_is_refused_with_the_way_out(tmp_path, monkeypatch):
    (tmp_path / "claims.csv").write_text("user,object,value\na,x,1\n")
    monkeypatch.setattr(choosing, "free_memory", lambda: 10)
    refused = CliRunner().invoke(app, ["discover", str(tmp_path / "claims.csv")])
    assert isinstance(refused.exception, BadParameter)
    assert "sottovoce claims pack" in str(refused.exception)
    assert CliRunner().invoke(app, ["discover", str(tmp_path / "claims.csv"), "--engine", "memory"]).exit_code == 0


def test_this_machine_reports_how_much_memory_is_free():
    assert choosing.free_memory() > 10**6
