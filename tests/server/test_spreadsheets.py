"""CSV files that people download: no spreadsheet runs what is in them, and our own readers get back what went in."""

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sottovoce as sv
from sottovoce.claims.header import NOISE_COLUMN
from sottovoce.claims.packing import files
from sottovoce.protocol.task_table import read_tasks, write_tasks
from sottovoce.server.exports import encode_table
from sottovoce.text_tables import as_written, harmless

SIGNS = "=+-@\t\r"
NASTY = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "'=1", "''@x", '=HYPERLINK("http://x","y")', "-", "-5 °C"]


@settings(max_examples=200, deadline=None)
@given(st.text(st.sampled_from([*SIGNS, "'", "a", "1", ".", "e", " "]), max_size=6))
@example("-5")
@example("'-5")
@example("'=")
def test_a_text_comes_back_as_it_was(text):
    cell = harmless(text)
    assert as_written(cell) == text
    if cell[:1] in tuple(SIGNS):
        assert cell[0] in "+-"
        float(cell)  # a number is no formula


@pytest.mark.parametrize("read", ["memory", "pack"])
def test_exported_claims_are_read_back(tmp_path, read):
    users = [f"u{n}" for n in range(len(NASTY))]
    table = pa.table({"user": users, "object": NASTY, "value": [float(n) for n in range(len(NASTY))],
                      NOISE_COLUMN: ["fresh:0.5"] * len(NASTY)})  # fmt: skip
    path = tmp_path / "claims.csv"
    path.write_bytes(encode_table(table, "csv"))
    for row in csv.DictReader(io.StringIO(path.read_text())):
        assert row["object"][0] == "'"
        assert row["user"][0] == "u"
    if read == "memory":
        found = sv.Claims.read(path).object_labels.tolist()
    else:
        (source,) = files([path])
        found = [label for chunk in source.chunks for label in chunk.objects.to_pylist()]
    assert sorted(found) == sorted(NASTY)


def test_numbers_stay_numbers():
    table = pa.table({"task": ["-5", "+2.5", "1e3"], "truth": [-1.5, 2.0, None]})
    rows = list(csv.reader(io.StringIO(encode_table(table, "csv").decode())))
    assert rows[1:] == [["-5", "-1.5"], ["+2.5", "2"], ["1e3", ""]]


def test_other_formats_are_left_alone():
    table = pa.table({"task": ["=1+1"]})
    assert encode_table(table, "jsonl") == b'{"task": "=1+1"}\n'


def test_a_table_of_tasks_goes_through_a_spreadsheet():
    tasks = [{"id": name, "title": name, "unit": "@m", "low": "-5", "high": "5", "grid": "0.5", "quota": 3}
             for name in NASTY]  # fmt: skip
    text = write_tasks(tasks)
    assert not any(cell[:1] in ("=", "@") for row in csv.reader(io.StringIO(text)) for cell in row)
    assert "-5" in next(iter(csv.DictReader(io.StringIO(text))))["low"]
    assert read_tasks("the table", text).tasks == tasks


@pytest.mark.slow
@pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
def test_results_and_claims_of_a_campaign_are_harmless(server):
    task = {"id": "=1+1", "title": "=cmd", "unit": "@m", "low": 0, "high": 100, "grid": 0.1}
    campaign = server.opened(tasks=[task])
    for token in server.participants(campaign, 6):
        assert server.report(campaign, token, server.body(campaign, {"=1+1": 100})).status_code == 201
    server.recompute()
    for kind in ("results", "claims"):
        text = server.client.get(f"/api/campaigns/{campaign}/{kind}.csv", headers=server.operator).text
        rows = list(csv.reader(io.StringIO(text)))
        assert len(rows) > 1
        assert not any(cell[:1] in ("=", "@", "+") for row in rows for cell in row)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("id,low,high,grid,quota\na,0,1,0.1," + "9" * 5000, "quota: '99999"),
        ("id,low,high,grid,quota\na,0,1,0.1,²", "quota: '²'"),
        ("id,low,high,grid\n" + "a" * 200_000 + ",0,1,0.1", "field larger"),
        ("a" * 200_000 + "\n1", "first line is too long"),
    ],
    ids=["digits", "superscript", "giant cell", "giant header"],
)
def test_a_file_that_is_not_a_table_is_refused_briefly(table, message):
    with pytest.raises(sv.errors.SottovoceError, match=message) as refusal:
        read_tasks("the table", table)
    assert len(str(refusal.value)) < 400
