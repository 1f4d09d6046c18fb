"""Objects named by several columns, such as a sensor and the hour of its measurement."""

import datetime

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.command import rows_of, run

import sottovoce as sv
from sottovoce.errors import BadParameter, BadRow, MissingColumn

TABLE = """who,sensor,time,value
ann,north,2026-05-01 10:05,20
bob,north,2026-05-01 10:55,22
ann,north,2026-05-01 11:00,30
bob,south,2026-05-01 10:30,10
"""
HOURS = ["north · 2026-05-01 10:00", "north · 2026-05-01 11:00", "south · 2026-05-01 10:00"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text(TABLE)
    return path


def objects(path, label, **options):
    return sv.Claims.read(path, user="who", object=label, **options).object_labels.tolist()


def test_a_sensor_and_an_hour(table):
    claims = sv.Claims.read(table, user="who", object="sensor+time@hour")
    assert claims.object_labels.tolist() == HOURS
    assert sv.Mean().fit(claims).truths_.tolist() == [21.0, 30.0, 10.0]


def test_two_columns_as_they_are(table):
    assert objects(table, "sensor+time")[0] == "north · 2026-05-01 10:05"
    assert objects(table, "time@day", duplicates="mean") == ["2026-05-01"]
    assert objects(table, "sensor+time@30minutes")[1] == "north · 2026-05-01 10:30"
    assert objects(table, "time@month", duplicates="mean") == ["2026-05"]


def test_an_existing_column_is_used_even_if_its_name_looks_like_several(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("user,a+b,b@hour,value\nu,x,y,1\n")
    assert sv.Claims.read(path, object="a+b").object_labels.tolist() == ["x"]
    assert sv.Claims.read(path, object="b@hour").object_labels.tolist() == ["y"]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "frame", "separator"])
def test_other_sources_have_the_same_labels(tmp_path, table, kind):
    frame = pd.read_csv(table, parse_dates=["time"])
    if kind == "frame":
        assert sv.Claims.from_frame(frame, user="who", object="sensor+time@hour").object_labels.tolist() == HOURS
        return
    path = tmp_path / f"other.{'csv' if kind == 'separator' else kind}"
    if kind == "parquet":
        pa.parquet.write_table(pa.Table.from_pandas(frame), path)
    elif kind == "jsonl":
        frame.astype({"time": str}).to_json(path, orient="records", lines=True)
    else:
        path.write_text(TABLE.replace(",", ";"))
    assert objects(path, "sensor+time@hour") == HOURS


def test_json_lines_that_arrow_cannot_read_have_the_same_labels(tmp_path, table):
    """One broken line, and the whole file is read line by line."""
    path = tmp_path / "claims.jsonl"
    frame = pd.read_csv(table).assign(floor=1.0)
    good = frame.to_json(orient="records", lines=True)
    path.write_text(good + '\n{"who": "eve", "sensor": \n')
    with pytest.raises(BadRow, match="a line must be a JSON object"):
        objects(path, "sensor+time@hour")
    assert objects(path, "sensor+time@hour", skip_bad=True) == HOURS
    assert objects(path, "floor+sensor", skip_bad=True, duplicates="mean") == ["1 · north", "1 · south"]
    path.write_text(good + "\nnull\n")
    assert objects(path, "sensor+time@hour", skip_bad=True) == HOURS
    with pytest.raises(BadParameter, match="'fortnight' is not a period"):
        objects(path, "sensor+time@fortnight", skip_bad=True)
    path.write_text(good.replace('"north"', "7") + '\n{"who": "eve", "value": 1, "sensor": "west"}\n')
    with pytest.raises(BadRow, match=r"sensor\+time@hour is missing"):
        objects(path, "sensor+time@hour")
    assert objects(path, "sensor+time@hour", skip_bad=True) == [label.replace("north", "7") for label in HOURS]
    path.write_text(good.replace('"south"', '{"wing": 1}'))
    with pytest.raises(BadRow):
        objects(path, "sensor+time@hour")


def test_json_lines_without_a_part_of_the_label_name_it(tmp_path, table):
    path = tmp_path / "claims.jsonl"
    path.write_text(pd.read_csv(table).to_json(orient="records", lines=True).replace("20.0", '"20"'))
    with pytest.raises(MissingColumn, match="no column 'room'"):
        objects(path, "sensor+room")


def test_times_with_a_zone_are_compared_in_utc(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("user,time,value\na,2026-05-01T10:35:00Z,1\nb,2026-05-01T12:40:00+02:00,2\n")
    assert sv.Claims.read(path, object="time@hour").object_labels.tolist() == ["2026-05-01 10:00Z"]
    moment = datetime.datetime(2026, 5, 1, 10, 35, tzinfo=datetime.UTC)
    claims = sv.Claims.from_frame(pa.table({"user": ["a"], "time": [moment], "value": [1.0]}), object="time@hour")
    assert claims.object_labels.tolist() == ["2026-05-01 10:00Z"]


def test_european_dates_are_read(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("user;time;value\na;1.5.2026 10:35;1\nb;01.05.2026;2\n")
    assert sv.Claims.read(path, object="time@day").object_labels.tolist() == ["2026-05-01"]


def test_a_label_of_very_many_columns_is_refused(table):
    with pytest.raises(BadParameter, match="500 columns, but a label has at most 10; name fewer"):
        objects(table, "+".join(["sensor"] * 500))


def test_mistakes_are_reported(table, tmp_path):
    with pytest.raises(MissingColumn, match="no column 'room' among 'who', 'sensor', 'time', 'value'"):
        objects(table, "sensor+room")
    with pytest.raises(
        BadParameter, match=r"time@fortnight: 'fortnight' is not a period; times can be rounded down to the second"
    ):
        objects(table, "sensor+time@fortnight")
    with pytest.raises(
        BadRow, match="sensor 'north': times that are to be rounded down must all be written like 2026-05-01 10:35"
    ):
        objects(table, "sensor@hour")
    path = tmp_path / "odd.csv"
    path.write_text("user,a,b,value\nu,x · y,z,1\n")
    with pytest.raises(
        BadRow, match=r"a label in column 'a' contains ' · ', which separates the columns of a\+b; use another char"
    ):
        sv.Claims.read(path, object="a+b")
    path.write_text("user,a,b,value\nu,x,,1\n")
    with pytest.raises(BadRow, match=r"line 2, row 1: a\+b is missing"):
        sv.Claims.read(path, object="a+b")


def test_commands_take_several_columns_also_of_truths_and_for_packs(table, tmp_path):
    (tmp_path / "truth.csv").write_text("sensor,time,value\nnorth,2026-05-01 10:00,21\nsouth,2026-05-01 10:00,12\n")
    columns = ("--user", "who", "--object", "sensor+time@hour")
    ran = run("discover", table, *columns, "--method", "mean", "--truth", tmp_path / "truth.csv",
              "--out", tmp_path / "out.csv")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert [row["object"] for row in rows_of(tmp_path / "out.csv")] == HOURS
    ran = run("claims", "pack", table, tmp_path / "pack", *columns)
    assert ran.returncode == 0, ran.stderr
    ran = run("discover", tmp_path / "pack", "--method", "mean", "--out", tmp_path / "packed.csv")
    assert rows_of(tmp_path / "packed.csv") == rows_of(tmp_path / "out.csv")


def test_a_frame_with_other_names_says_where_to_give_them():
    with pytest.raises(MissingColumn, match=r"no column 'user' among 'who', .*Claims.from_frame\(frame, user=\.\.\."):
        sv.Mean().fit(pd.DataFrame({"who": ["a"], "object": ["b"], "value": [1.0]}))
