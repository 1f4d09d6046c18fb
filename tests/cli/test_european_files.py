"""Every command that reads claims reads them as spreadsheets of other countries write them."""

import json

import pytest

from command import rows_of, run

EUROPEAN = "user;object;value\nann;hall;12,5 m\nbob;hall;13,5 m\ncleo;hall;1.012,0 m\n"
OPTIONS = ("--decimal", ",", "--strip-units")


def packed(tmp_path, *arguments):
    ran = run("claims", "pack", *arguments, tmp_path / "pack", "--json")
    assert ran.returncode == 0, ran.stderr
    truths = json.loads(run("discover", tmp_path / "pack", "--method", "median", "--json").stdout)
    return json.loads(ran.stdout), truths["truths"]


@pytest.fixture
def european(tmp_path):
    path = tmp_path / "halls.csv"
    path.write_text(EUROPEAN)
    return path


def test_a_pack_holds_the_same_values(european, tmp_path):
    _, truths = packed(tmp_path, european, *OPTIONS)
    assert truths["hall"]["truth"] == 13.5


def test_a_point_between_thousands_is_not_taken_for_a_decimal_point(tmp_path):
    path = tmp_path / "large.csv"
    path.write_text("user;object;value\nann;hall;1.234\nbob;hall;1.234\n")
    assert packed(tmp_path, path, "--decimal", ",")[1]["hall"]["truth"] == 1234


def test_units_are_the_same_in_all_files_of_a_pack(european, tmp_path):
    (tmp_path / "more.csv").write_text("user;object;value\ndan;hall;0,013 km\n")
    ran = run("claims", "pack", european, tmp_path / "more.csv", tmp_path / "pack", *OPTIONS)
    assert ran.returncode == 2
    assert "in 'm' (3 rows) and in 'km' (1 row)" in " ".join(ran.stderr.split())
    assert not (tmp_path / "pack").exists()


@pytest.mark.slow
def test_a_pack_reports_the_rows_that_were_left_out(european, tmp_path):
    (tmp_path / "more.csv").write_text("user;object;value\ndan;hall;about 12\n;hall;13\neve;hall;14,0 m\n")
    summary, truths = packed(
        tmp_path, european, tmp_path / "more.csv", *OPTIONS, "--skip-bad", "--left-out", tmp_path / "bad.csv"
    )
    assert summary["skipped"] == summary["left_out"]["rows"] == 2
    assert truths["hall"]["claims"] == 4
    rows = rows_of(tmp_path / "bad.csv")
    assert [row["line"] for row in rows] == ["2", "3"]
    assert "about 12" in rows[0]["reason"]
    assert "user is missing" in rows[1]["reason"]


def test_readings_are_perturbed(european, tmp_path):
    ran = run("perturb", european, "--noise", "fresh:500000", "--out", tmp_path / "noisy.csv", *OPTIONS)
    assert ran.returncode == 0, ran.stderr
    values = [float(row["value"]) for row in rows_of(tmp_path / "noisy.csv")]
    assert values == pytest.approx([12.5, 13.5, 1012], abs=0.1)  # a hundred scales of this noise
    refused = run(
        "perturb", european, "--noise", "response:1", "--choices", "a,b", "--out", tmp_path / "x.csv", *OPTIONS
    )
    assert refused.returncode == 2
    assert "for numbers, not answers" in " ".join(refused.stderr.split())


def test_a_pilot_is_read_with_the_options_that_its_mistakes_call_for(tmp_path):
    path, bad = tmp_path / "halls.csv", tmp_path / "bad.csv"
    path.write_text("who;object;value\nann;hall;12,5 m\nbob;hall;13,5 m\nbob;hall;13,5 m\ncleo;hall;about 14\n")
    arguments = ["plan", "--pilot", path, "--simulations", "0", "--json"]
    needed = (("--user", "who"), ("--decimal", ","), ("--strip-units",), ("--skip-bad",), ("--duplicates", "last"))
    for advised in needed:
        refused = run(*arguments)
        assert (refused.returncode, advised[0] in refused.stderr) == (2, True), refused.stderr
        arguments += advised
    ran = run(*arguments, "--left-out", bad)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["error_rate"] == pytest.approx(2.0)  # λ1 = 1/variance, of two readings 1 m apart
    assert "about 14" in rows_of(bad)[0]["reason"]
    answers = tmp_path / "answers.csv"
    answers.write_bytes("user;object;value\nann;q;später\nbob;q;nie\ncleo;q;nie\n".encode("windows-1252"))
    arguments = ["plan", "--choices", "2", "--pilot", answers, "--simulations", "0", "--json"]
    assert "--encoding" in run(*arguments).stderr
    ran = run(*arguments, "--encoding", "windows-1252")
    assert json.loads(ran.stdout)["plans"][0]["right_source"] == "estimated from the pilot"


def test_answers_in_another_encoding_are_perturbed(tmp_path):
    (tmp_path / "answers.csv").write_bytes("user;object;value\nann;q;später\nbob;q;nie\n".encode("windows-1252"))
    arguments = ("perturb", tmp_path / "answers.csv", "--noise", "response:50", "--choices", "später,nie")
    ran = run(*arguments, "--encoding", "windows-1252", "--out", tmp_path / "noisy.csv")
    assert ran.returncode == 0, ran.stderr
    assert {row["value"] for row in rows_of(tmp_path / "noisy.csv")} == {"später", "nie"}


@pytest.mark.slow
@pytest.mark.parametrize("time", ["10:35", "2026-05-01", "2026-05-01 10:35", "2026-05-01T10:35:00Z", "1.5.2026 10:35"])
def test_times_are_not_taken_for_choices(tmp_path, time):
    path = tmp_path / "arrivals.csv"
    path.write_text(f"user,object,value\nann,train,{time}\nbob,train,{time}\n")
    ran = run("discover", path)
    assert ran.returncode == 2
    said = " ".join(ran.stderr.split())
    assert "a time must be written as a number, such as minutes since midnight" in said
    assert run("discover", path, "--kind", "choice").returncode == 0


def test_times_are_objects_as_well_as_anything(tmp_path):
    """A station's readings at each hour: the time is what the claims are about, in memory and in a pack."""
    import datetime

    import pyarrow as pa
    import pyarrow.parquet

    hours = [datetime.datetime(2026, 5, 1, hour) for hour in (10, 10, 11)]
    table = pa.table({"station": ["a", "b", "a"], "time": hours, "value": [1.0, 3.0, 5.0]})
    pyarrow.parquet.write_table(table, tmp_path / "hours.parquet")
    columns = ("--user", "station", "--object", "time")
    read = json.loads(run("discover", tmp_path / "hours.parquet", *columns, "--method", "mean", "--json").stdout)
    assert [round(entry["truth"]) for entry in read["truths"].values()] == [2, 5]
    _, truths = packed(tmp_path, tmp_path / "hours.parquet", *columns)
    assert list(truths) == list(read["truths"])


def test_a_few_words_among_european_numbers_do_not_make_them_answers(tmp_path):
    path = tmp_path / "halls.csv"
    path.write_text(EUROPEAN + "dan;hall;n. a.\neve;hall;\n")
    ran = run("discover", path, "--skip-bad")
    assert ran.returncode == 2
    assert "with a unit, say so with strip_units=True (--strip-units) and decimal=',' (--decimal ,)" in " ".join(
        ran.stderr.split()
    )
    ran = run("discover", path, "--skip-bad", *OPTIONS, "--method", "median", "--json")
    summary = json.loads(ran.stdout)
    assert (summary["truths"]["hall"]["truth"], summary["left_out"]["rows"]) == (13.5, 2)


def test_answers_of_which_up_to_half_look_like_numbers_stay_answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("user,object,value\na,x,none\nb,x,none\nc,x,far\nd,x,10 km\ne,x,12 km\nf,x,15 km\n")
    ran = run("discover", path, "--json")
    assert json.loads(ran.stdout)["truths"]["x"]["truth"] == "none"


def test_a_spreadsheet_must_be_saved_as_text(tmp_path):
    (tmp_path / "claims.xlsx").write_bytes(b"PK")
    ran = run("discover", tmp_path / "claims.xlsx")
    assert (ran.returncode, ran.stderr.split()[-5:]) == (2, ["save", "the", "sheet", "as", "CSV"])
