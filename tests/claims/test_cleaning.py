"""Tables of other countries' spreadsheets: decimal signs, units, separators, encodings, and rows left out."""

import csv
import json

import pytest
from tests.command import run

import sottovoce as sv
from sottovoce.errors import BadParameter, BadRow, MissingColumn, UnreadableFile


def claims_of(tmp_path, text, name="claims.csv", encoding="utf-8", **options):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return sv.Claims.read(path, **options)


def values(claims):
    return {(user, thing): value for user, thing, value in claims}


@pytest.mark.parametrize(
    ("written", "decimal", "meant"),
    [
        ("12,5", ",", 12.5),
        ("-0,25", ",", -0.25),
        ("−0,25", ",", -0.25),
        (",5", ",", 0.5),
        ("3", ",", 3.0),
        ("1.234", ",", 1234.0),
        ("1.234.567,5", ",", 1234567.5),
        ("1 234,5", ",", 1234.5),
        ("1 234,5", ",", 1234.5),
        ("1’234,5", ",", 1234.5),
        ("1,5e3", ",", 1500.0),
        ("1,234", ".", 1234.0),
        ("1,234.5", ".", 1234.5),
        ("12.5", ".", 12.5),
    ],
)
def test_the_decimal_sign_given_decides(tmp_path, written, decimal, meant):
    text = f"user;object;value\na;x;{written}\n"
    assert values(claims_of(tmp_path, text, decimal=decimal)) == {("a", "x"): meant}


@pytest.mark.parametrize(
    ("written", "decimal"), [("12.5", ","), ("1.23", ","), ("1.2345", ","), ("1,5", "."), ("1,2,3", ",")]
)
def test_what_is_not_a_number_with_this_sign_is_refused(tmp_path, written, decimal):
    with pytest.raises(BadRow, match="line 2, row 1: value"):
        claims_of(tmp_path, f"user;object;value\na;x;{written}\n", decimal=decimal)


def test_nothing_is_guessed_but_the_error_says_what_to_do(tmp_path):
    with pytest.raises(BadRow, match="--decimal ,"):
        claims_of(tmp_path, "user;object;value\na;x;12,5\n")
    with pytest.raises(BadRow, match="--strip-units"):
        claims_of(tmp_path, "user;object;value\na;x;12.5 m\n")
    with pytest.raises(BadRow) as refusal:
        claims_of(tmp_path, "user;object;value\na;x;1\nb;x;tall\n")
    assert "--decimal" not in str(refusal.value)


@pytest.mark.parametrize(
    ("answers", "kind"), [(("5b", "6a"), "choice"), (("1st", "2nd"), "choice"), (("yes", "no"), "choice")]
)
def test_answers_that_begin_with_a_digit_are_still_answers(tmp_path, answers, kind):
    text = "user,object,value\n" + "".join(f"u{n},x,{answer}\n" for n, answer in enumerate(answers))
    assert claims_of(tmp_path, text).kind == kind


@pytest.mark.parametrize(
    ("written", "meant"),
    [("12.5 m", 12.5), ("12.5m", 12.5), ("3 km/h", 3.0), ("4 m²", 4.0), ("5 %", 5.0), ("€ 7.5", 7.5), ("CHF 7.5", 7.5),
     ("21 °C", 21.0), ("1e3 Pa", 1000.0), ("8", 8.0)],
)  # fmt: skip
def test_units_are_removed(tmp_path, written, meant):
    text = f"user;object;value\na;x;{written}\n"
    assert values(claims_of(tmp_path, text, strip_units=True)) == {("a", "x"): meant}


@pytest.mark.parametrize("written", ["<5 m", "~5", "5 ± 1 m", "5-6 m", "12 m 30 cm", "m", "5 or 6", "12h30"])
def test_more_than_a_number_with_a_unit_is_refused(tmp_path, written):
    with pytest.raises(BadRow, match="row 1"):
        claims_of(tmp_path, f"user;object;value\na;x;{written}\n", strip_units=True)


def test_two_units_are_refused_and_counted(tmp_path):
    text = "user;object;value\na;x;12 m\nb;x;13 m\nc;x;1250 cm\n"
    with pytest.raises(BadRow, match=r"'m' \(2 rows\) and in 'cm' \(1 row\); all values must have the same unit"):
        claims_of(tmp_path, text, strip_units=True)


def test_units_and_decimal_commas_together_as_in_a_spreadsheet(tmp_path):
    text = 'user,object,value\na,x,"1.012,5 m"\nb,x,"998 m"\n'
    assert values(claims_of(tmp_path, text, decimal=",", strip_units=True)) == {("a", "x"): 1012.5, ("b", "x"): 998.0}


def test_values_in_json_lines_and_frames_of_text_follow_the_same_rules(tmp_path):
    text = '{"user": "a", "object": "x", "value": "12,5 m"}\n{"user": "b", "object": "x", "value": "13 m"}\n'
    found = values(claims_of(tmp_path, text, "claims.jsonl", decimal=",", strip_units=True))
    assert found == {("a", "x"): 12.5, ("b", "x"): 13.0}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_at_the_beginning_tell_the_encoding(tmp_path, encoding):
    text = "Nutzer\tStraße\tLänge\nJörg\tAllee\t5\n"
    claims = claims_of(tmp_path, text, encoding=encoding, user="Nutzer", object="Straße", value="Länge")
    assert values(claims) == {("Jörg", "Allee"): 5.0}


def test_another_encoding_is_named_or_asked_for(tmp_path):
    text = "user;object;value\nanne;x;1\njörg;x;2\n"
    with pytest.raises(UnreadableFile, match=r"line 3: byte 0xf6: the text is not UTF-8; .*--encoding.*windows-1252"):
        claims_of(tmp_path, text, encoding="windows-1252")
    (tmp_path / "claims.csv").write_bytes(text.encode("windows-1252"))
    claims = sv.Claims.read(tmp_path / "claims.csv", encoding="windows-1252")
    assert claims.user_labels.tolist() == ["anne", "jörg"]


@pytest.mark.parametrize("wrong", [{"decimal": ";"}, {"encoding": "martian"}, {"encoding": "base64"}])
def test_options_are_checked(tmp_path, wrong):
    (tmp_path / "claims.csv").write_text("user;object;value\na;x;1\n")
    with pytest.raises(BadParameter):
        sv.Claims.read(tmp_path / "claims.csv", **wrong)


def test_the_separator_is_recognised_before_columns_are_looked_for(tmp_path):
    with pytest.raises(MissingColumn, match=r"no column 'user' among 'Nutzer', 'Objekt', 'Wert'"):
        claims_of(tmp_path, "Nutzer;Objekt;Wert\na;x;1\n")


BAD = 'user,object,value\n"two\nlines",x,1\n\nb,x,tall\nc,x\n,x,3\nd,x,4\n'


def test_errors_name_the_line_that_an_editor_shows(tmp_path):
    with pytest.raises(BadRow, match=r"line 5, row 2: value 'tall'"):
        claims_of(tmp_path, BAD)


def test_rows_left_out_are_listed_with_line_and_reason(tmp_path):
    claims = claims_of(tmp_path, BAD, skip_bad=True)
    rows = claims.left_out.to_pylist()
    assert [(row["row"], row["line"]) for row in rows] == [(2, 5), (3, 6), (4, 7)]
    for row, words in zip(rows, ("value 'tall'", "'c,x'", "user is missing"), strict=True):
        assert words in row["reason"]
    assert claims.skipped == 3
    assert claims_of(tmp_path, "user,object,value\na,x,1\n", skip_bad=True).left_out is None


def test_the_command_reports_rows_left_out(tmp_path):
    (tmp_path / "claims.csv").write_text(BAD)
    ran = run("discover", tmp_path / "claims.csv", "--skip-bad", "--left-out", tmp_path / "bad.csv", "--method", "mean")
    assert ran.returncode == 0, ran.stderr
    assert "3 rows left out" in ran.stderr
    assert "line 5: value 'tall'" in ran.stderr
    with (tmp_path / "bad.csv").open() as file:
        assert [row["line"] for row in csv.DictReader(file)] == ["5", "6", "7"]
    ran = run("discover", tmp_path / "claims.csv", "--skip-bad", "--json", "--method", "mean")
    left_out = json.loads(ran.stdout)["left_out"]
    assert left_out["rows"] == 3
    assert left_out["first"][0] | {"reason": ""} == {"row": 2, "line": 5, "reason": ""}
    assert run("discover", tmp_path / "claims.csv", "--left-out", tmp_path / "b.csv").returncode == 2


def test_a_european_file_from_the_command_line(tmp_path):
    text = "Nutzer;Flur;Länge\nJörg;A;12,5 m\nAnne;A;12,7 m\n"
    (tmp_path / "flure.csv").write_bytes(text.encode("windows-1252"))
    ran = run(
        "discover", tmp_path / "flure.csv", "--user", "Nutzer", "--object", "Flur", "--value", "Länge",
        "--encoding", "windows-1252", "--decimal", ",", "--strip-units", "--method", "mean", "--json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["truths"]["A"]["truth"] == pytest.approx(12.6)


def test_a_number_with_the_other_decimal_sign_is_told_from_a_number_with_a_unit(tmp_path):
    text = "user;object;value\na;x;12.5 m\nb;x;1,5 m\n"
    with pytest.raises(
        BadRow, match=r"the decimal sign must be ',', as stated with decimal= \(--decimal\); correct it"
    ):
        claims_of(tmp_path, text, decimal=",", strip_units=True)
