"""Reading claims from files, and the messages about files that are wrong."""

import gzip
import io

import numpy as np
import pytest

import sottovoce as sv
import warm
from sottovoce.claims.budget import Budget, FileTooLarge
from sottovoce.claims.jsonl_tables import could_crash_arrow
from sottovoce.claims.packing import files
from sottovoce.claims.table_file import TableFile
from sottovoce.errors import BadRow, DuplicateClaim, MissingColumn, NoClaims, UnreadableFile

GOOD = "user,object,value\nann,hall,12.1\nbob,hall,11.8\nann,stairs,4\n"
TRIPLES = [("ann", "hall", 12.1), ("bob", "hall", 11.8), ("ann", "stairs", 4.0)]


@pytest.fixture
def file(tmp_path):
    def write(text, name="claims.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_csv_is_read(file):
    assert list(sv.Claims.read(file(GOOD))) == TRIPLES


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".jsonl"])
def test_what_is_written_is_read_again(tmp_path, suffix):
    claims = sv.worlds.synthetic(9, 5, fill=0.6, seed=1).claims
    claims.write(tmp_path / f"claims{suffix}")
    again = sv.Claims.read(tmp_path / f"claims{suffix}")
    assert list(again) == list(claims)
    assert [path.name for path in tmp_path.iterdir()] == [f"claims{suffix}"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (GOOD.replace(",", ";"), "claims.csv"),
        (GOOD.replace(",", "\t"), "claims.tsv"),
        ("\ufeff" + GOOD, "claims.csv"),
        (GOOD.replace("\n", "\r\n"), "claims.csv"),
        (gzip.compress(GOOD.encode()), "claims.csv.gz"),
        ('"value","note","object","user"\n12.1,"a, b","hall",ann\n11.8,"c\nd","hall",bob\n4,,stairs,ann\n', "c.csv"),
        ("user,object,value\nann,hall,+12.1\nbob,hall, 11.8 \nann,stairs,4.\n", "claims.csv"),
    ],
    ids=["semicolons", "tabs", "byte order mark", "windows", "gzip", "quoted, other order", "signs and blanks"],
)
def test_csv_as_people_have_it(file, text, name):
    assert list(sv.Claims.read(file(text, name))) == TRIPLES


def test_other_column_names_and_a_stream():
    text = GOOD.replace("user,object,value", "who,what,metres")
    claims = sv.Claims.read(io.BytesIO(text.encode()), user="who", object="what", value="metres")
    assert list(claims) == TRIPLES


def test_whole_number_labels_are_sorted_as_numbers_and_padded_ones_stay_text(file):
    rows = "user,object,value\n" + "".join(f"u,{label},1\n" for label in (10, 9, 2))
    assert sv.Claims.read(file(rows)).object_labels.tolist() == [2, 9, 10]
    assert sv.Claims.read(file(rows + "u,07,1\nu,7,1\n")).object_labels.tolist() == ["07", "10", "2", "7", "9"]


def test_labels_that_look_like_missing_values_are_labels(file):
    claims = sv.Claims.read(file("user,object,value\nNA,null,1\nnan,NULL,2\n"))
    assert claims.user_labels.tolist() == ["NA", "nan"]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", NoClaims, "empty"),
        ("user,object,value\n", NoClaims, "no row"),
        ("user,thing,value\na,b,1\n", MissingColumn, "'object' among 'user', 'thing', 'value'; .*--object"),
        ("a,b,1\nc,d,2\n", MissingColumn, "header"),
        ("user,object,value\na,x,1\nb,x,tall\n", BadRow, r"row 2: value 'tall': .*finite number.*; .*--skip-bad"),
        ("user,object,value\na,x,1\nb,x,nan\n", BadRow, "row 2: value 'nan'"),
        ("user,object,value\na,x,1\nb,x,inf\n", BadRow, "row 2: value 'inf'"),
        ("user,object,value\na,x,1\nb,x,-1e999\n", BadRow, "row 2: value '-1e999'"),
        ("user,object,value\na,x,\nb,x,1\n", BadRow, "row 1: value ''"),
        ('user,object,value\na,x,"3,5"\n', BadRow, "row 1: value '3,5'"),
        ("user,object,value\na,x,1\n,x,2\n", BadRow, "row 2: user is missing"),
        ("user,object,value\na,x,1\nb,x\nc,x,1\n", BadRow, "row 2: 'b,x': a row must have the fields"),
        ("user,object,value\na,x,1\nb,x,1,1\nc,x,?\n", BadRow, r"row 2: .* \(1 more bad row\)"),
        ("user,object,value\na,x,1\nb,x,1\na,x,2\n", DuplicateClaim, r"row 3: user 'a' .*'x' .*first in row 1.*'mean'"),
        (b"user,object,value\na,\xff\xfe,1\n", UnreadableFile, "claims.csv"),
    ],
)
def test_a_mistake_is_reported_with_row_value_rule_and_fix(file, text, error, words):
    with pytest.raises(error, match=words):
        sv.Claims.read(file(text))


def test_errors_are_also_the_builtin_a_caller_would_catch(file):
    with pytest.raises(KeyError):
        sv.Claims.read(file("a,b\n1,2\n"))
    with pytest.raises(OSError, match="no such file"):
        sv.Claims.read("nowhere.csv")
    with pytest.raises(OSError, match="suffix"):
        sv.Claims.read(file(GOOD, "claims.xlsx"))
    with pytest.raises(OSError, match="parquet"):
        sv.Claims.read(file(GOOD, "claims.parquet"))


def test_skip_bad_drops_and_counts(file):
    bad = "c,hall,?\n,hall,1\nd,hall\ne,hall,inf\nf,,3\n"
    claims = sv.Claims.read(file(GOOD + bad), skip_bad=True)
    assert list(claims) == TRIPLES  # and users c to f, who have no claims left, are gone
    assert claims.skipped == 5
    assert "5 bad rows skipped" in repr(claims)
    with pytest.raises(NoClaims):
        sv.Claims.read(file("user,object,value\na,b,?\n"), skip_bad=True, kind="number")


def test_row_numbers_count_skipped_rows(file):
    with pytest.raises(DuplicateClaim, match=r"row 5: .*first in row 2"):
        sv.Claims.read(file("user,object,value\na,x,?\nb,x,1\nc,x\nd,x,2\nb,x,3\n"), skip_bad=True)


@pytest.mark.parametrize(("how", "value"), [("mean", 3.0), ("last", 5.0)])
def test_repeated_claims_are_merged_on_request(file, how, value):
    rows = "user,object,value\nann,hall,1\nbob,hall,7\nann,hall,3\nann,hall,5\nann,stairs,2\n"
    claims = sv.Claims.read(file(rows), duplicates=how)
    assert list(claims) == [("ann", "hall", value), ("bob", "hall", 7.0), ("ann", "stairs", 2.0)]
    assert claims.offsets.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('{"user":"a","object":"x","value":1}\n{"user":"b","object":"x","value":"tall"}\n', "row 2: value 'tall'"),
        ('{"user":"a","object":"x","value":1}\n{"user":"b","object":"x"\n', "row 2: "),
        ('{"user":"a","object":"x","value":1}\n{"user":"b","object":"x","value":null}\n', "row 2: value ''"),
        ('{"user":"a","object":"x","value":true}\n', "row 1: value True"),
    ],
)
def test_bad_json_lines_are_reported(file, lines, words):
    with pytest.raises(BadRow, match=words):
        sv.Claims.read(file(lines, "claims.jsonl"), kind="number")


@pytest.mark.parametrize(
    ("name", "content", "error", "words"),
    [
        ("a.jsonl", '{"user":"a","object":"x","value":1}\n' * 4, FileTooLarge, "4 claims, but at most 3"),
        ("a.csv", "user,object,value\n" + "a,x,1\n" * 4, FileTooLarge, "4 claims, but at most 3"),
        ("a.jsonl", '{"a": 1}', MissingColumn, "no column 'user' among 'a'"),
        ("a.jsonl", "\n \n", NoClaims, "the file is empty"),
        ("a.jsonl", '{"user":1,"object":1,"value":1}\nnull', BadRow, "row 2: 'null': a line must be a JSON object"),
        ("a.arrow", "x", UnreadableFile, "is not accepted here"),
    ],
)
def test_an_untrusted_file_is_read_within_a_budget(name, content, error, words):
    stream = io.BytesIO(content.encode())
    stream.name = name
    with pytest.raises(error, match=words):
        sv.Claims.read(stream, budget=Budget(rows=3, unpacked=1000))


def test_json_may_hold_what_no_array_does(file):
    """A lone surrogate, a number of any length, a law that is not text."""
    odd = ('"\\ud800"', "7" * 5000, '"z"')
    lines = [f'{{"user": {user}, "object": 1, "value": 1, "noise_law": 5}}\nnull\n' for user in odd]
    claims = sv.Claims.read(file("".join(lines), "claims.jsonl"), skip_bad=True)
    assert claims.user_labels.tolist() == ["7" * 5000, "?", "z"]
    assert (claims.noise, claims.skipped) == ("5", 3)


def test_bad_json_lines_can_be_skipped(file):
    lines = '{"user":"a","object":"x","value":1}\nnot json\n{"user":"b","object":"x","value":"?"}\n'
    claims = sv.Claims.read(file(lines, "claims.jsonl"), skip_bad=True)
    assert list(claims) == [("a", "x", 1.0)]
    assert claims.skipped == 2


def test_progress_reaches_the_end(file):
    seen = []
    path = file(GOOD)
    sv.Claims.read(path, progress=lambda done, size: seen.append((done, size)))
    assert seen[-1] == (len(GOOD), len(GOOD))


def test_a_file_larger_than_one_block_keeps_its_labels_together(tmp_path, monkeypatch):
    monkeypatch.setattr("sottovoce.claims.csv_tables.BLOCK_BYTES", 2000)
    claims = sv.worlds.synthetic(60, 40, seed=3).claims
    claims.write(tmp_path / "claims.csv")
    assert list(sv.Claims.read(tmp_path / "claims.csv")) == list(claims)


FULL = """
import resource, sys
import numpy as np
import sottovoce as sv
claims = sv.Claims.from_matrix(np.random.default_rng(0).random((100, 300)))
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    claims.write(sys.argv[1])
except sv.SottovoceError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_a_full_disk_is_reported_and_leaves_the_old_file(tmp_path, suffix):
    """The system refuses files beyond a size, as a full disk does."""
    path = tmp_path / f"claims.{suffix}"
    path.write_text("precious")
    ran = warm.run(["-c", FULL, path])
    assert ran.returncode == 0, ran.stderr
    assert "free some space" in ran.stdout
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_numpy_agrees_with_the_grouping():
    rng = np.random.default_rng(0)
    cells = rng.choice(300 * 200, 5000, replace=False)
    users, objects, values = cells // 200, cells % 200, rng.standard_normal(5000)
    claims = sv.Claims.from_arrays(users, objects, values)
    order = np.lexsort((users, objects))
    assert claims.users.dtype == np.int32
    assert claims.user_labels[claims.users].tolist() == users[order].tolist()
    assert claims.object_labels[claims.objects].tolist() == objects[order].tolist()
    assert claims.values.tolist() == values[order].tolist()


@pytest.mark.parametrize("before", ["", '{"user": "a", "object": "b", "value": 1}\n'])
def test_a_line_that_is_just_null_is_a_bad_row(tmp_path, before):
    """Arrow's own reader crashes on it."""
    (tmp_path / "claims.jsonl").write_text(f'{before}null\n{{"user": "c", "object": "b", "value": 2}}\n')
    with pytest.raises(BadRow, match=r"row \d: 'null'"):
        sv.Claims.read(tmp_path / "claims.jsonl")
    assert len(sv.Claims.read(tmp_path / "claims.jsonl", skip_bad=True)) == (2 if before else 1)


def test_a_file_with_nothing_but_a_byte_order_mark_is_empty(tmp_path):
    (tmp_path / "claims.csv").write_bytes(b"\xef\xbb\xbf\n")
    with pytest.raises(NoClaims, match="empty"):
        sv.Claims.read(tmp_path / "claims.csv")


UTF16 = GOOD.encode("utf-16")


@pytest.mark.parametrize("name", ["claims.csv", "claims.jsonl"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (UTF16[:-1], "byte 0x0a: the text is cut off, or not UTF-16; check that the file is complete"),
        (UTF16 + b"\x3d\xd8", "line 5: byte 0x3d: the text is cut off"),  # one half of a surrogate pair
        (UTF16[:40] + b"\x00\xdc" + UTF16[42:], "the text is not UTF-16; save it as UTF-8"),  # the other half
        (GOOD.encode("utf-16-le"), "line 1: byte 0x00: the text is neither UTF-8 nor UTF-16 with a byte order mark"),
        (GOOD.encode("utf-32"), "line 1: byte 0x00"),
        (b"\0" * 99, "line 1: byte 0x00"),
    ],
    ids=["cut", "cut-pair", "half-a-pair", "utf-16-le", "utf-32", "nothing"],
)
def test_damaged_text_is_refused_and_not_a_traceback(file, content, words, name):
    path = file(content, name)
    with pytest.raises(UnreadableFile, match=words):
        sv.Claims.read(path)
    uploaded = io.BytesIO(content)
    uploaded.name = name
    with pytest.raises(UnreadableFile, match=words):
        sv.Claims.read(uploaded, budget=Budget(10, 1000))
    (source,) = files([path])
    with pytest.raises(UnreadableFile, match=words):
        list(source.chunks)
    if name == "claims.csv":
        with pytest.raises(UnreadableFile, match=words):
            sv.Claims.read_format(path, "matrix")


@pytest.mark.parametrize("damaged", [gzip.compress(GOOD.encode())[:30], GOOD.encode()], ids=["cut", "not-compressed"])
def test_damaged_compressed_files_are_refused_by_their_name(tmp_path, damaged):
    path = tmp_path / "claims.csv.gz"
    path.write_bytes(damaged)
    with pytest.raises(UnreadableFile, match=r"claims\.csv\.gz: it could not be read as compressed csv"):
        sv.Claims.read(path)
    (source,) = files([path])
    with pytest.raises(UnreadableFile, match=r"claims\.csv\.gz: it could not be read as compressed csv"):
        list(source.chunks)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_named_encoding_whose_mark_is_missing_is_refused(file, encoding):
    with pytest.raises(UnreadableFile, match=f"the text is not {encoding.upper()}; save it as UTF-8"):
        sv.Claims.read(file(GOOD.encode(f"{encoding}-le")), encoding=encoding)


def test_a_row_cut_within_a_character_prints_no_traceback(file, capfd):
    path = file(GOOD.encode() + "jö".encode()[:2])
    for read in (sv.Claims.read, lambda path: [list(source.chunks) for source in files([path])]):
        with pytest.raises(UnreadableFile, match="line 5: byte 0xc3: the text is cut off, or not UTF-8"):
            read(path)
    assert capfd.readouterr().err == ""


def test_a_file_that_is_not_parquet_is_not_asked_for_its_encoding(file):
    with pytest.raises(UnreadableFile, match="could not be read as parquet"):
        sv.Claims.read(file(b"\xff" * 99, "claims.parquet"))


def test_a_folder_is_not_called_missing(tmp_path):
    with pytest.raises(UnreadableFile, match="this folder is not a pack"):
        sv.Claims.read(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(UnreadableFile, match="it is a pack, but here a file is needed; give a file instead"):
        sv.Claims.read(tmp_path)


@pytest.mark.parametrize("levels", [600, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_deeply_nested_line_is_a_bad_row_and_not_a_crash(tmp_path, levels, opening):
    """Arrow recurses into it until its stack overflows, which cannot be caught."""
    deep = opening * levels + "1" + {"[": "]", '{"a":': "}"}[opening] * levels
    path = tmp_path / "claims.jsonl"
    path.write_text(f'{{"user": "a", "object": "b", "value": 1}}\n{{"user": {deep}, "object": "b", "value": 2}}\n')
    with pytest.raises(BadRow, match="row 2: ") as refusal:
        sv.Claims.read(path)
    assert len(str(refusal.value)) < 1000
    assert len(sv.Claims.read(path, skip_bad=True)) == 1
    (source,) = files([path], skip_bad=True)
    assert sum(len(chunk.values) for chunk in source.chunks) == 1


def test_many_brackets_in_many_lines_are_not_a_deeply_nested_line(tmp_path):
    path = tmp_path / "claims.jsonl"
    line = '{{"user": "u{0}", "object": "[{{x", "value": 1, "more": [[1], {{"a": {{}}}}]}}\n'
    path.write_text("".join(line.format(n) for n in range(1000)))
    assert not could_crash_arrow(TableFile.of(path))
    assert len(sv.Claims.read(path)) == 1000


def test_a_list_is_not_a_label(tmp_path):
    path = tmp_path / "claims.jsonl"
    path.write_text('{"user": [1], "object": "b", "value": 2}\n')
    with pytest.raises(BadRow, match="column 'user' holds lists"):
        sv.Claims.read(path)


def test_a_giant_cell_is_read_and_a_giant_header_is_reported_briefly(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("user,object,value\n" + "a" * 200_000 + ",b,1\nc,b,2\n")
    assert len(sv.Claims.read(path)) == 2
    path.write_text("a" * 200_000 + ",user,object,value\n1,c,b,2\n")
    with pytest.raises(UnreadableFile, match="first line has 65,536 bytes or more") as refusal:
        sv.Claims.read(path)
    assert len(str(refusal.value)) < 1000
