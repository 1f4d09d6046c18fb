"""A column of a result is described once; a new one appears in frames, files, the API and pages."""

import csv
import io
import json
import re
from html import unescape

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import sottovoce as sv
from command import rows_of
from server_under_test import OPERATOR_TOKEN, local_server
from sottovoce.cli.app import app as command
from sottovoce.discovery.schema import NUMBERS, Column, Place

CLAIMS = "user,object,value\n" + "".join(f"u{n},hall,{n}\nu{n},room,{2 * n}\n" for n in range(6))


@pytest.fixture
def added(monkeypatch):
    """One more figure, in the unit of the claims."""
    place = Place.COMMAND | Place.API | Place.FILE | Place.PAGE
    column = Column("spread", pa.float64(), "how far claims scatter", lambda found: found.spreads, place, measured=True)
    monkeypatch.setitem(NUMBERS, "spread", column)


@pytest.fixture
def server(tmp_path):
    with local_server(tmp_path) as server:
        yield server


@pytest.fixture
def campaign(server):
    campaign = server.opened()
    for place, token in enumerate(server.participants(campaign, 6)):
        server.report(campaign, token, server.body(campaign, {"hall-0": 100 + 10 * place, "hall-1": 200}))
    server.recompute()
    return campaign


def sign_in(client):
    client.post("/sign-in", data={"token": OPERATOR_TOKEN}, follow_redirects=False)


def test_a_new_column_is_in_the_interface_and_its_description(added, server, campaign):
    row = server.results(campaign)["results"][0]
    assert row["spread"] == pytest.approx(1.7, abs=0.05)  # of 10, 11, … 15
    described = server.client.get("/api/openapi.json").json()["components"]["schemas"]["TaskResult"]["anyOf"][0]
    assert described["properties"]["spread"]["description"] == "how far claims scatter"
    assert set(row) == set(described["properties"])


@pytest.mark.alike
@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_new_column_is_in_the_files(added, server, campaign, ending):
    content = server.client.get(f"/api/campaigns/{campaign}/results.{ending}").content
    if ending == "csv":
        row = next(csv.DictReader(io.StringIO(content.decode())))
    elif ending == "parquet":
        row = pa.parquet.read_table(io.BytesIO(content)).to_pylist()[0]
    else:
        row = json.loads(content.splitlines()[0])
    assert float(row["spread"]) == server.results(campaign)["results"][0]["spread"]


def test_a_new_column_is_on_the_pages(added, server, campaign):
    shown = server.results(campaign)["results"][0]["spread"]
    sign_in(server.client)
    for page in (f"/c/{campaign}", f"/campaigns/{campaign}"):
        text = server.client.get(page).text
        assert '<th role="columnheader" scope="col">Spread</th>' in text
        assert f'<td role="cell" data-label="spread">{shown:.1f}' in text
        assert 'colspan="5"' in text  # a task with too few claims leaves no gap


def test_a_new_column_is_on_the_analyst_page(added, server):
    sign_in(server.client)
    token = re.search(r'name="form_token" value="([0-9a-f]+)"', server.client.get("/analyst").text)[1]
    files = {"claims": ("claims.csv", CLAIMS.encode())}
    answer = server.client.post("/analyst", data={"form_token": token, "method": ["crh"]}, files=files)
    assert '<th scope="col">Spread</th>' in answer.text
    assert '"mean","median","spread"\n' in unescape(answer.text)  # all as CSV


def test_a_new_column_is_in_what_the_command_prints_and_writes(added, tmp_path):
    path, out = tmp_path / "claims.csv", tmp_path / "truths.csv"
    path.write_text(CLAIMS)
    runner = CliRunner()
    found = runner.invoke(command, ["discover", str(path), "--method", "mean", "--out", str(out), "--json"])
    assert json.loads(found.stdout)["truths"]["room"]["spread"] == pytest.approx((35 / 3) ** 0.5)  # of 0, 2, … 10
    assert list(rows_of(out)[0])[-3:] == ["mean", "median", "spread"]
    assert " spread " in runner.invoke(command, ["discover", str(path), "--method", "mean"]).stdout


def test_a_new_column_is_in_the_frame(monkeypatch):
    share = Column("share", pa.float64(), "of all claims", lambda found: found.fit.claims_ / found.fit.claims_.sum())
    monkeypatch.setitem(NUMBERS, "share", share)
    frame = sv.Mean().fit(sv.Claims.from_matrix([[1.0, 2.0], [3.0, 4.0]])).to_frame()
    assert frame.columns == ["object", "truth", "low", "high", "claims", "effective_users", "share"]
    assert frame["share"].to_list() == [0.5, 0.5]


def test_results_that_were_stored_without_a_column_are_still_shown(server, campaign, monkeypatch):
    column = Column("spread", pa.float64(), "how far claims scatter", lambda found: found.spreads, measured=True)
    monkeypatch.setitem(NUMBERS, "spread", column)
    assert '<td role="cell" data-label="spread">–</td>' in server.client.get(f"/c/{campaign}").text
    row = next(csv.DictReader(io.StringIO(server.client.get(f"/api/campaigns/{campaign}/results.csv").text)))
    assert row["spread"] == ""


@pytest.mark.slow
def test_everything_in_results_is_described(server, campaign):
    results = server.results(campaign)
    schemas = server.client.get("/api/openapi.json").json()["components"]["schemas"]
    assert set(results) == set(schemas["Results"]["properties"])
    assert set(results["results"][0]) == set(schemas["TaskResult"]["anyOf"][0]["properties"])
    assert results["iterations"] >= 1
    assert f"<dd>{results['iterations']} iteration" in server.client.get(f"/c/{campaign}").text
