"""Claims in the formats of public data sets. All samples are made up."""

import csv
import json

import pytest
from tests.command import rows_of, run

import sottovoce as sv
from sottovoce.claims.public_formats import FORMATS, ReadOptions, format_of_folder
from sottovoce.errors import BadParameter, BadRow, DuplicateClaim, MissingColumn, NoClaims, UnreadableFile

# The same three claims and two truths in each format: ann and bob about hall, bob about stairs.
NUMBERS = {
    "sottovoce": ("user,object,value\nann,hall,12.5\nbob,hall,12\nbob,stairs,4\n", "object,value\nhall,12\nstairs,4\n"),
    "fusion": ("ann\thall\t12.5\nbob\thall\t12\nbob\tstairs\t4\n", "hall\t12\nstairs\t4\n"),
    "matrix": ("place,ann,truth,bob\nhall,12.5,12,12\nstairs,,4,4\n", None),
    "matrix-by-user": ("who;hall;stairs\nann;12.5;NA\nbob;12;4\n", None),
}
CHOICES = {
    "truth-inference": ("question,worker,answer\nq1,ann,1\nq1,bob,0\nq2,bob,1\n", "question,truth\nq1,0\nq2,1\n"),
    "crowd-kit": ("worker,task,label\nann,q1,1\nbob,q1,0\nbob,q2,1\n", "task,label\nq1,0\nq2,1\n"),
    "toloka": ("ann\tq1\t1\nbob\tq1\t0\nbob\tq2\t1\n", "q1\t0\nq2\t1\n"),
    "square": ("ann q1 1\nbob  q1\t0\r\n\nbob q2 1\n", "q1 0\nq2 1\n"),
}


def written(folder, name, texts):
    """A claims file and, where the format has one, a truths file."""
    form = FORMATS[name]
    claims, truths = form.files or ("claims.csv" if "matrix" in name else "claims.txt", "truths.txt")
    (folder / claims).write_bytes(texts[0].encode())
    if texts[1]:
        (folder / truths).write_bytes(texts[1].encode())
    return folder / claims, folder / truths if texts[1] else folder / claims


def test_every_format_has_a_sample():
    assert {*NUMBERS, *CHOICES} == set(FORMATS)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_read_from_every_format(tmp_path, name):
    claims_file, truths_file = written(tmp_path, name, NUMBERS[name])
    column = "truth" if name == "matrix" else None
    claims = sv.Claims.read_format(claims_file, name, column=column)
    assert list(claims) == [("ann", "hall", 12.5), ("bob", "hall", 12.0), ("bob", "stairs", 4.0)]
    if name != "matrix-by-user":
        known = FORMATS[name].truths(truths_file, ReadOptions("number", column=column)).by_label("truths")
        assert known == {"hall": 12.0, "stairs": 4.0}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_whose_codes_look_like_numbers(tmp_path, name):
    claims_file, truths_file = written(tmp_path, name, CHOICES[name])
    claims = sv.Claims.read_format(claims_file, name)
    assert claims.kind == "choice"
    assert [(user, thing, str(answer)) for user, thing, answer in claims] == [
        ("ann", "q1", "1"), ("bob", "q1", "0"), ("bob", "q2", "1"),
    ]  # fmt: skip
    assert FORMATS[name].truths(truths_file, ReadOptions("choice")).by_label("truths") == {"q1": "0", "q2": "1"}
    assert format_of_folder(tmp_path) is FORMATS[name]


def test_one_of_several_attributes_of_fused_sources_is_read(tmp_path):
    """A source that leaves a cell empty, or a line short, claims nothing about it."""
    path = tmp_path / "stock.txt"
    path.write_text("a\tX\t1.5%\t10\nb\tX\t\t11\nc\tX\t2%\nc\tY\t3%\t\n")
    assert list(sv.Claims.read_format(path, "fusion", column="2")) == [("a", "X", 10.0), ("b", "X", 11.0)]
    first = sv.Claims.read_format(path, "fusion", column="1", strip_units=True)
    assert list(first) == [("a", "X", 1.5), ("c", "X", 2.0), ("c", "Y", 3.0)]
    for column in (None, "0", "3", "price"):
        with pytest.raises(BadParameter, match=r"choose one by its number, from 1 to 2, with column= \(--column\)"):
            sv.Claims.read_format(path, "fusion", column=column)


def test_words_in_a_matrix_are_answers_and_so_is_the_word_none(tmp_path):
    path = tmp_path / "birds.csv"
    path.write_text('"photo";"ann";"bob, jr"\np1;duck;none\np2;;"goose; grey"\n')
    assert list(sv.Claims.read_format(path, "matrix")) == [
        ("ann", "p1", "duck"), ("bob, jr", "p1", "none"), ("bob, jr", "p2", "goose; grey"),
    ]  # fmt: skip


def test_other_encodings_decimal_commas_and_marks_in_front(tmp_path):
    path = tmp_path / "räume.csv"
    path.write_bytes("Ort;Jörg;Käthe\nFlur;12,5;1.012,25\n".encode("windows-1252"))
    claims = sv.Claims.read_format(path, "matrix", decimal=",", encoding="windows-1252")
    assert list(claims) == [("Jörg", "Flur", 12.5), ("Käthe", "Flur", 1012.25)]
    with pytest.raises(UnreadableFile, match=r"line 1: byte 0xf6: the text is not UTF-8; .* name its encoding"):
        sv.Claims.read_format(path, "matrix", decimal=",")
    path.write_bytes("\ufeffw q 1\n".encode())
    assert sv.Claims.read_format(path, "square").user_labels.tolist() == ["w"]


@pytest.mark.parametrize(
    ("name", "text", "error", "message"),
    [
        ("square", "w1 q1 1\n\nw2 q1\n", BadRow, "line 3, row 2: 'w2 q1': every line, even the first, must have these "
         "fields, separated by spaces: user, object, value; correct it, or drop"),
        ("square", "w1 q1 very good\n", BadRow, "line 1, row 1: 'w1 q1 very good': every line, even the first"),
        ("square", "w1 q1 1\nw1 q1 0\n", DuplicateClaim, "row 2: user 'w1' makes a second claim about object 'q1'"),
        ("square", "", NoClaims, "no row"),
        ("toloka", "w1\t\t1\n", BadRow, "line 1, row 1: object is missing"),
        ("fusion", "a\tX\t1\nb\n", BadRow, "line 2, row 2: 'b': every line, even the first, must have"),
        ("matrix", "o,ann,bob\nhall,1,2\nstairs,3,tall\n", BadRow, "line 3, column 'bob': value 'tall': a value"),
        ("matrix", "o,ann,bob\nhall,1,inf\n", BadRow, "line 2, column 'bob': value 'inf'"),
        ("matrix", "o,ann,bob\nhall,1\n", BadRow, "line 2: it has 2 cells, but the header has 3; leave cells"),
        ("matrix", "o,ann,ann\nhall,1,2\n", MissingColumn, "two columns 'ann', but column names must be unique"),
        ("matrix", "o,ann\n", NoClaims, "a matrix needs a header"),
        ("matrix", "o,ann\nhall,\n", NoClaims, "no row"),
        ("matrix", "o,ann\nhall,1\nhall,2\n", DuplicateClaim, "a second claim about object 'hall'"),
        ("crowd-kit", "task,performer,label\nq1,w1,1\n", MissingColumn, "no column 'worker' among 'task', 'performer'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_format_is_refused_with_its_place(tmp_path, name, text, error, message):
    path = tmp_path / "claims.csv"
    path.write_text(text)
    with pytest.raises(error, match=message):
        sv.Claims.read_format(path, name)


def test_a_missing_column_is_reported(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("o,ann,bob\nhall,1,2\n")
    with pytest.raises(MissingColumn, match="no column 'truth' of truths among 'ann', 'bob'; name the column"):
        sv.Claims.read_format(path, "matrix", column="truth")
    with pytest.raises(MissingColumn, match="columns are objects, and none of them has truths"):
        sv.Claims.read_format(path, "matrix-by-user", column="ann")
    with pytest.raises(BadParameter, match="the format square has only one column of values; leave it out"):
        sv.Claims.read_format(path, "square", column="1")
    with pytest.raises(BadParameter, match="format 'excel': it must be one of sottovoce, truth-inference"):
        sv.Claims.read_format(path, "excel")
    with pytest.raises(UnreadableFile, match="no such file"):
        sv.Claims.read_format(tmp_path / "nowhere", "square")


def test_bad_lines_can_be_left_out_with_their_numbers(tmp_path):
    path = tmp_path / "responses.txt"
    path.write_text("w1 q1 1\nw2\n\nw2 q1 0\n")
    claims = sv.Claims.read_format(path, "square", skip_bad=True)
    assert len(claims) == 2
    assert [(row["row"], row["line"]) for row in claims.left_out.to_pylist()] == [(2, 2)]


def test_the_command_converts_a_file_for_the_other_commands(tmp_path):
    (tmp_path / "halls.csv").write_text(NUMBERS["matrix"][0])
    ran = run("claims", "convert", "halls.csv", "halls", "--format", "matrix", "--column", "truth", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "3 claims by 2 users about 2 objects in halls/claims.csv, and 2 truths in halls/truth.csv.\n"
    assert rows_of(tmp_path / "halls" / "truth.csv") == [
        {"object": "hall", "value": "12"}, {"object": "stairs", "value": "4"},
    ]  # fmt: skip
    found = run(
        "discover", "halls/claims.csv", "--truth", "halls/truth.csv", "--method", "mean", "--json", cwd=tmp_path
    )
    assert json.loads(found.stdout)["scores"]["mae"] == pytest.approx(0.125)  # 0.25 and 0


def test_the_command_recognises_a_folder_and_says_that_codes_are_choices(tmp_path):
    written(tmp_path, "square", CHOICES["square"])
    ran = run("claims", "convert", tmp_path, tmp_path / "out")
    assert ran.returncode == 0, ran.stderr
    assert "add --kind choice" in ran.stdout
    with (tmp_path / "out" / "claims.csv").open() as file:
        assert next(csv.reader(file)) == ["user", "object", "value"]
    ran = run("claims", "convert", tmp_path, tmp_path / "out")
    assert (ran.returncode, "already exists" in ran.stderr) == (2, True)


def test_the_command_refuses_and_writes_nothing(tmp_path):
    (tmp_path / "claims.txt").write_text("w1 q1\n")
    for arguments, message in (
        (("claims.txt", "out"), "not from a single file; name it with --format"),
        (("claims.txt", "out", "--format", "square"), "line 1, row 1"),
        ((".", "out"), "not recognised from the names of its files"),
        ((".", "out", "--format", "matrix"), "that of a single file"),
        (("claims.txt", "out", "--format", "nix"), "format 'nix'"),
    ):
        ran = run("claims", "convert", *arguments, cwd=tmp_path)
        assert ran.returncode == 2
        assert message in " ".join(ran.stderr.split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["claims.txt"]


def test_the_formats_are_listed():
    ran = run("claims", "formats", "--json")
    assert set(json.loads(ran.stdout)) == set(FORMATS)
