"""Tasks from spreadsheets: as people keep them, with all mistakes at once, and from files that mean harm."""

import io
import struct
import tracemalloc
import zipfile
import zlib

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sottovoce.errors import SottovoceError, UnreadableFile
from sottovoce.protocol.task_ids import id_from
from sottovoce.protocol.task_rows import BadTasks
from sottovoce.protocol.task_table import read_tasks, with_the_rest, write_tasks

HALL = {"title": "Main hall", "unit": "m", "low": "0", "high": "2.7", "grid": "0.1", "id": "main-hall"}


def book(*rows, before=(), hidden=False):
    """An XLSX file."""
    made, content = openpyxl.Workbook(), io.BytesIO()
    if hidden:
        made.create_sheet("Notes", 0).append(["nothing", "here"])
        made.worksheets[0].sheet_state = "hidden"
        made.active = 1
    sheet = made.worksheets[-1]
    for row in (*before, *rows):
        sheet.append(list(row))
    made.save(content)
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        "title,unit,low,high,grid\nMain hall,m,0,2.7,0.1\n",
        "Task;Unit;Lowest;Highest;Step\r\nMain hall;m;0;2,7;0,1\r\n",
        "Task\tUnit\tMin\tMax\tStep\nMain hall\tm\t0\t2,7\t0,1",
        "\ufeffTITLE;UNIT;LOW (m);HIGH (m);GRID\n Main  hall ;m;0;2,7;0,1\n;;;;\n",
        "\n\ntitle|unit|low|high|grid\nMain hall|m|0|2.7|0.1\n",
        "title;unit;low;high;grid\nMain hall;m;0;2,7;0,1\n".encode("utf-16"),
        "title;unit;low;high;grid;Größe\nMain hall;m;0;2,7;0,1;ä\n".encode("windows-1252"),
        book(["Title", "Unit", "Lowest value", "Highest value", "Step", "By"], ["Main hall", "m", 0, 2.7, 0.1, "x"]),
        book(["Title", "Unit", "Low", "High", "Grid"], ["Main hall", "m", "0", "2,7", "0,1"], before=[[], [None]]),
        book(["title", "unit", "low", "high", "grid"], ["Main hall", "m", 0, 2.7, 0.1], hidden=True),
    ],
    ids=["comma", "semicolon", "paste", "mark", "bar", "utf-16", "1252", "xlsx", "xlsx text", "xlsx hidden"],
)  # fmt: skip
def test_spreadsheets_of_many_kinds_are_read_alike(content):
    table = read_tasks("tasks", content)
    assert table.tasks == [HALL]
    assert table.known is None


def test_questions_quotas_and_known_truths_are_read_too():
    rows = [
        ["Question", "Answers", "Min", "Max", "Step", "Readings", "Gold"],
        ["Which bird?", "finch; robin", None, None, None, 40, "robin"],
        ["Passable?", "yes | no, never\n", None, None, None, None, None],
        ["How long?", None, -1.5, 1e3, 0.25, "7", -1.25],
        ["How wide?", None, "1.000,5", "2.000", "0,5", None, "1.001"],
    ]
    table = read_tasks("tasks.xlsx", book(*rows))
    assert table.tasks == [
        {"title": "Which bird?", "choices": ["finch", "robin"], "quota": 40, "id": "which-bird"},
        {"title": "Passable?", "choices": ["yes", "no, never"], "id": "passable"},
        {"title": "How long?", "low": "-1.5", "high": "1000", "grid": "0.25", "quota": 7, "id": "how-long"},
        {"title": "How wide?", "low": "1000.5", "high": "2000", "grid": "0.5", "id": "how-wide"},
    ]
    assert table.known == {"which-bird": "robin", "how-long": "-1.25", "how-wide": "1001"}
    again = read_tasks("tasks.csv", write_tasks(table.tasks, table.known), decimal=".")
    assert (sorted(map(str, again.known.items())), again.tasks[0]["choices"]) == (
        sorted(map(str, table.known.items())), ["finch", "robin"],
    )  # fmt: skip
    assert [{**task} for task in again.tasks] == table.tasks


@pytest.mark.parametrize(
    ("high", "decimal", "read"),
    [
        ("1.234", None, "1.234"),
        ("1,234", ",", "1.234"),
        ("1,234", ".", "1234"),
        ("1.234,5", None, "1234.5"),
        ("1 234,5", None, "1234.5"),
        ("1’234.5", None, "1234.5"),
        ("0,125", None, "0.125"),
    ],
)
def test_the_decimal_sign_is_recognised_where_it_can_be(high, decimal, read):
    text = f"title\tlow\thigh\tgrid\nA\t0\t{high}\t1e-3\n"
    assert read_tasks("t", text, decimal=decimal).tasks[0]["high"] == read


def test_help_is_read_with_its_line_breaks():
    rows = [["Title", "Low", "High", "Step", "Help text"], ["A", 0, 5, 1, "Walk  along.\r\nDo not run. "],
            ["B", 0, 5, 1, None]]  # fmt: skip
    table = read_tasks("tasks.xlsx", book(*rows))
    assert [task.get("help") for task in table.tasks] == ["Walk along.\nDo not run.", None]
    assert read_tasks("again.csv", write_tasks(table.tasks)).tasks == table.tasks
    with pytest.raises(BadTasks, match=r"“A”, help: 'x+…': it must be text of 0 to 2,000 characters; correct it"):
        read_tasks("t.csv", f"title,low,high,grid,help\nA,0,5,1,{'x' * 2001}\n")


def test_a_task_keeps_what_the_table_has_no_column_for():
    (task,) = read_tasks("t.csv", "title,low,high,grid\nA,0,5,1\n").tasks
    kept = task | {"unit": "m", "help": "Walk.", "quota": 5, "instrument": "steps", "place": [[1, 2]]}
    for columns in ([], ["help", "quota"], ["unit", "help", "quota", "instrument"]):
        emptied = write_tasks([task], columns=columns)
        table = read_tasks("t.csv", emptied)
        assert {*table.columns} == {"id", *task, *columns}
        left = {name: entry for name, entry in kept.items() if name not in columns}
        assert with_the_rest(table.tasks[0], kept, table.columns) == left


def test_a_sign_that_may_mean_two_things_is_asked_for():
    with pytest.raises(BadTasks, match=r"'1,234': it may be 1234 or 1\.234; say which sign is the decimal sign"):
        read_tasks("t", "title\tlow\thigh\tgrid\nA\t0\t1,234\t1\n")
    other = "title\tlow\thigh\tgrid\nA\t0\t1,234\t1\nB\t0\t5\t0.5\n"
    assert read_tasks("t", other).tasks[0]["high"] == "1234"  # the other task shows it


def test_all_mistakes_are_found_at_once_each_with_row_column_value_rule_and_fix():
    text = (
        "Task;Lowest;Highest;Step;Choices;Instrument;Quota;Known\n"
        "Fine;0;9;1;;;;\n"
        "Hall;5;1;0,1;;;few;\n"
        ";0;;-1;;;;\n"
        "Bird;;;;finch;;;\n"
        "Two;0;9;1;a|b;;;\n"
        "Steps;0;9;1;;flute;;\n"
        "Known;0;9;1;;;;10\n"
    )
    with pytest.raises(BadTasks) as refusal:
        read_tasks("tasks.csv", text)
    found = [(one.place, one.column) for one in refusal.value.mistakes]
    assert found == [
        (1, "high"), (1, "quota"), (2, "title"), (2, "high"), (3, "choices"),
        (4, "low"), (4, "high"), (4, "grid"), (5, "instrument"), (6, "known"),
    ]  # fmt: skip
    lines = str(refusal.value).splitlines()
    assert lines[0] == "tasks.csv, line 3, “Hall”, Highest: '1': it must be above the lowest value, 5; correct it"
    assert lines[1].startswith("tasks.csv, line 3, “Hall”, Quota: 'few': it must be a whole number")
    assert lines[-1].startswith("tasks.csv, line 8, “Known”, Known: '10': it must lie within the range of the task")


def test_rows_are_counted_as_editors_and_spreadsheets_do():
    text = 'title,choices\n"A\nB",yes|no\n\nC,only\n'
    with pytest.raises(BadTasks, match="line 5, “C”"):
        read_tasks("t.csv", text)
    with pytest.raises(BadTasks, match="row 4, “C”"):
        read_tasks("t.xlsx", book(["title", "choices"], ["A", "yes|no"], [], ["C", "only"]))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text("aä长 -1/", min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=8))
def test_ids_are_unique_and_do_not_depend_on_the_other_tasks(titles):
    def ids(some):
        rows = "".join(f'"{title}",yes|no\n' for title in some)
        return [task["id"] for task in read_tasks("t", f"title,choices\n{rows}").tasks]

    made = ids(titles)
    assert len(set(made)) == len(titles)
    assert ids(titles) == made
    plain = [" ".join(title.split()) for title in titles]
    first = plain.index(plain[-1])
    if made[first] == id_from(plain[first]):
        assert ids([titles[first]]) == [made[first]]


def test_a_title_keeps_the_id_that_it_had():
    text = "title,choices\nPath,yes|no\nNew,yes|no\n"
    assert [task["id"] for task in read_tasks("t", text, ids={"Path": "p-17"}).tasks] == ["p-17", "new"]


def test_columns_that_are_not_read_and_names_alike_are_noted():
    table = read_tasks("t.csv", "title,choices,colour\nPath,yes|no,red\nPath,a|b,\n".encode("cp1252"))
    assert table.notes == (
        "Column 'colour' is not read.", "Several tasks are called “Path”: people cannot tell them apart.",
    )  # fmt: skip
    assert [task["id"] for task in table.tasks] == ["path", "path-2"]
    with pytest.raises(SottovoceError, match="columns 'title' and 'Task' mean the same"):
        read_tasks("t", "title,Task,choices\na,b,yes|no\n")


def archive(parts):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as made:
        for name, part in parts.items():
            made.writestr(name, part)
    return content.getvalue()


def repacked(change):
    """An XLSX file with some of its parts changed."""
    with zipfile.ZipFile(io.BytesIO(book(["title", "choices"], ["A", "yes|no"]))) as one:
        parts = {name: one.read(name) for name in one.namelist()}
    return archive(parts | change(parts))


def false_size():
    """A part of 200 MB that claims to have 100 bytes, with the right checksum of these."""
    content = bytearray(repacked(lambda parts: {"xl/media/zeros.bin": b"\0" * (200 << 20)}))
    entry = content.rindex(b"PK\1\2", 0, content.rindex(b"xl/media/zeros.bin"))
    struct.pack_into("<I", content, entry + 16, zlib.crc32(b"\0" * 100))
    struct.pack_into("<I", content, entry + 24, 100)
    return bytes(content)


def repeated(parts):
    """Texts that are stored once, and would be copied into each of many cells."""
    types = "[Content_Types].xml"
    kind = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    listed = b'<Override PartName="/xl/sharedStrings.xml" ContentType="%s"/></Types>' % kind
    rows = (b"<row>" + b'<c t="s"><v>0</v></c>' * 100 + b"</row>") * 12
    return {
        types: parts[types].replace(b"</Types>", listed),
        "xl/sharedStrings.xml": SHARED % (b" " + b"A" * 30_000),
        SHEET: parts[SHEET].replace(b"</sheetData>", rows + b"</sheetData>"),
    }


SHARED = b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>%s</t></si></sst>'
SHEET, LOOKS, BOOK = "xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/workbook.xml"
FORMAT = b'<numFmts><numFmt numFmtId="200" formatCode="%s"/></numFmts>'
ENTITY = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
HARMFUL = {
    "bomb": repacked(lambda parts: {"xl/media/zeros.bin": b"\0" * (17 << 20)}),
    "many parts": archive({"xl/workbook.xml": ""} | {f"{n}": "" for n in range(1001)}),
    "entities": repacked(lambda parts: {SHEET: ENTITY + parts[SHEET].partition(b"?>")[2]}),
    "wide entities": repacked(lambda parts: {SHEET: (ENTITY + b"<x/>").decode().encode("utf-16")}),
    "many cells": repacked(
        lambda parts: {SHEET: parts[SHEET].replace(b"</sheetData>", b"<row>" + b"<c/>" * 10**6 + b"</row></sheetData>")}
    ),
    "many looks": repacked(
        lambda parts: {LOOKS: parts[LOOKS].replace(b"</cellXfs>", b"<xf/>" * 60_000 + b"</cellXfs>")}
    ),
    "many sheets": repacked(
        lambda parts: {
            BOOK: parts[BOOK].replace(b"</sheets>", b'<sheet name="a" sheetId="1"/>' * 60_000 + b"</sheets>")
        }
    ),
    "endless look": repacked(  # the time to look for a date in it grew with the square
        lambda parts: {LOOKS: parts[LOOKS].replace(b"<fonts", FORMAT % (b"[" * 10**6) + b"<fonts")}
    ),
    "endless place": repacked(lambda parts: {SHEET: parts[SHEET].replace(b'r="A1"', b'r="' + b"A" * 10**6 + b'1"')}),
    "many attributes": repacked(
        lambda parts: {SHEET: parts[SHEET].replace(b"<row ", b"<row " + b" ".join(b'a%d=""' % n for n in range(10**5)))}
    ),
    "long cell": repacked(lambda parts: {SHEET: parts[SHEET].replace(b">A<", b">" + b"A" * 32_768 + b"<")}),
    "one text in many cells": repacked(repeated),
    "no workbook": archive({"content.xml": "<office/>"}),
    "cut": book(["title", "choices"], ["A", "yes|no"])[:2000],
    "not XML": repacked(lambda parts: {SHEET: b"nothing"}),
    "old": b"\xd0\xcf\x11\xe0" + b"\0" * 600,
    "zeros": b"\0" * 100,
    "large": b"a" * ((8 << 20) + 1),
}


@pytest.mark.parametrize("content", HARMFUL.values(), ids=HARMFUL)
def test_a_harmful_or_damaged_file_is_refused_in_few_words(content):
    with pytest.raises(UnreadableFile) as refusal:
        read_tasks("tasks.xlsx", content)
    assert str(refusal.value).startswith("tasks.xlsx: ")
    assert len(str(refusal.value)) < 200


@pytest.mark.slow
def test_a_part_that_states_a_false_size_takes_no_memory():
    content = false_size()
    tracemalloc.start()
    try:
        assert [task["title"] for task in read_tasks("tasks.xlsx", content).tasks] == ["A"]
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
    finally:
        tracemalloc.stop()


def test_a_sheet_that_claims_to_be_huge_is_read_by_its_cells():
    def far(parts):
        sheet = parts[SHEET].replace(b'ref="A1:B2"', b'ref="A1:XFD1048576"')
        row = b'<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>far</t></is></c></row>'
        assert b"XFD1048576" in sheet
        return {SHEET: sheet.replace(b"</sheetData>", row + b"</sheetData>")}

    assert [task["title"] for task in read_tasks("tasks.xlsx", repacked(far)).tasks] == ["A"]


def test_the_encoding_can_be_named():
    content = "title,choices\nПарк,да|нет\n".encode("windows-1251")
    assert read_tasks("t", content, encoding="windows-1251").tasks[0]["title"] == "Парк"
    with pytest.raises(SottovoceError, match="encoding 'klingon'"):
        read_tasks("t", content, encoding="klingon")
    with pytest.raises(UnreadableFile, match="it is not text in utf-8"):
        read_tasks("t", content, encoding="utf-8")
    with pytest.raises(SottovoceError, match="decimal sign"):
        read_tasks("t", content, decimal="·")
