"""Files that unpack to far more memory than their size: each is answered or refused, and none is unpacked.

Each is uploaded to the analyst's page in a separate process, whose memory is measured.
"""

import io
import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest

MEGABYTE = 1 << 20
ROWS = 100_000
MOST_CLAIMS = 200_000
# More than any file within its budget needs, and far less than any of these would take.
CEILING = 300 * MEGABYTE
DRIVER = """
import json, resource, sys
from pathlib import Path
from sottovoce.errors import SottovoceError
from sottovoce.server.console import analysis
from sottovoce.server.console.uploads import Upload

def ask(name, content):
    question = analysis.Question(Upload(name, content), ("crh",), "who", "where", "metres", duplicates="mean")
    try:
        return f"{question.answer().claims} claims"
    except SottovoceError as mistake:
        return f"{str(mistake)[:200]} … {str(mistake)[-200:]}"

def most():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

analysis.MOST_SECONDS = 1000.0  # it is memory that is measured
ask("first.csv", b"who,where,metres\\na,b,1\\nb,b,2\\n")  # whatever is loaded or compiled at the first time
used = most()
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))  # a bomb that goes off fails here, and not the machine
analysis.MOST_CLAIMS = int(sys.argv[1])
for path in map(Path, sys.argv[2:]):
    print(json.dumps({"said": ask(path.name, path.read_bytes()), "used": most() - used}), flush=True)
"""


def parquet(columns, **options):
    sink = io.BytesIO()
    options = {"compression": "zstd", "store_schema": False} | options
    pa.parquet.write_table(pa.table(columns), sink, **options)
    return sink.getvalue()


def repeated(text, rows=ROWS):
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))


def columns(rows=ROWS, **other):
    return {"who": pa.array(["a"] * rows), "where": pa.array(["b"] * rows), "metres": pa.array([1.0] * rows)} | other


def varint(number, length=0):
    """A number as Thrift's compact protocol writes it, if need be longer than it must be."""
    number = number << 1 if number >= 0 else (-number << 1) - 1
    found = bytearray()
    while number > 127 or len(found) + 1 < length:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def lying(content, truth, lie):
    """The same file, but wherever its footer says one number it says another."""
    size = int.from_bytes(content[-8:-4], "little")
    data, footer = content[: -8 - size], content[-8 - size : -8]
    assert varint(truth) in footer
    footer = footer.replace(varint(truth), varint(lie))
    return data + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def with_a_false_size():
    content = parquet(columns(rows=70, who=pa.array([f"{n:03}" + "x" * MEGABYTE for n in range(70)])))
    about = pa.parquet.ParquetFile(io.BytesIO(content)).metadata.row_group(0)
    content = lying(content, about.column(0).total_uncompressed_size, 100)
    return lying(content, about.total_byte_size, 300)


def with_a_false_dictionary():
    """A file with a dictionary whose header says that it has two thousand million entries."""
    content = parquet({name: pa.array(["1"] * 10) for name in ("who", "where", "metres")}, compression="none")
    head = b"\x4c\x15" + varint(1) + b"\x15"  # a struct of one entry, and its encoding
    assert content.count(head) == 3
    return content.replace(head, b"\x4c\x15" + varint(2**31 - 1) + b"\x15", 1)


def with_growing_names():
    names = pa.array(["x" * n for n in range(12_000)])  # 72 MB, of which each adds one letter to the one before
    return parquet(
        columns(rows=12_000, who=names), use_dictionary=["where"], column_encoding={"who": "DELTA_BYTE_ARRAY"}
    )


BOMBS = {
    "one long name again and again": (
        "a.parquet", lambda: parquet(columns(who=repeated("x" * MEGABYTE))), "a text of 1,048,576 bytes"),
    "one long value again and again": (
        "a.parquet", lambda: parquet(columns(metres=repeated("9" * MEGABYTE))), "a text of 1,048,576 bytes"),
    "one long law again and again": (
        "a.parquet", lambda: parquet(columns(noise_law=repeated("9" * MEGABYTE))), "a text of 1,048,576 bytes"),
    "a name of ten thousand letters again and again": (
        "a.parquet", lambda: parquet(columns(who=repeated("x" * 10_000), metres=repeated("1" * 100))), "1 claims"),
    "long names that are all alike": (
        "a.parquet",
        lambda: parquet(columns(rows=70, who=pa.array([f"{n:03}" + "x" * MEGABYTE for n in range(70)]))),
        "bytes, but at most 67,108,864 are accepted here"),
    "a footer with a false size": ("a.parquet", with_a_false_size, "bytes, but at most 67,108,864"),
    "a dictionary with a false size": ("a.parquet", with_a_false_dictionary, "shorter than its header says"),
    "2^40 rows": (
        "a.parquet", lambda: lying(parquet(columns()), ROWS, 2**40), "1,099,511,627,776 claims, but at most 200,000"),
"negative number of rows": ("a.parquet", lambda: lying(parquet(columns()), ROWS, -1), "number of rows is negative"),
    "names that grow": ("a.parquet", with_growing_names, "an encoding that may unpack to any size"),
    "a column that nobody asked for": (
        "a.parquet",
        lambda: parquet(columns(rows=70, other=pa.array([f"{n:03}" + "x" * MEGABYTE for n in range(70)]))),
        "1 claims"),
    "a large set of options again and again": (
        "a.parquet", lambda: parquet(columns(metres=repeated(json.dumps(list(range(1_500)))))),
        "150,000,000 options in its claims, but at most 200,000 are accepted here"),
    "names in lists": (
        "a.parquet", lambda: parquet(columns(rows=2, who=pa.array([["a"], ["b"]]))), "it must hold text or numbers"),
    "millions of empty lines": ("a.jsonl", lambda: b"{}\n" * 2_700_000, "at most 200,000 are accepted here"),
    "millions of columns": ("a.csv", lambda: b"who,where,metres" + b",x" * 4_000_000 + b"\na,b,1",
                           "the first line has 65,536 bytes or more"),
    "a quotation mark that is not closed": (
        "a.csv", lambda: b'who,where,metres\na,b,"1\n' + b"a,b,1\n" * 100_000,
        "column 'metres' has a text of 600,002 bytes, but at most 10,000 are accepted here; check whether"),
    "a long name in JSON": (
        "a.jsonl", lambda: json.dumps({"who": "é" * 6_000, "where": "b", "metres": 1}).encode() + b"\n",
        "column 'who' has a text of 12,000 bytes"),
    "an answer of a million brackets": ("a.csv", lambda: b"who,where,metres\na,b," + b"[" * 500_000 + b"\n",
                                        "column 'metres' has a text of 500,000 bytes"),
    "many short rows": ("a.csv", lambda: b"who,where,metres\n" + b"a\n" * 300_000,
                               "a row must have the fields who, where, metres (299,999 more bad rows)"),
}  # fmt: skip


@pytest.mark.slow
def test_no_file_is_unpacked_beyond_its_budget(tmp_path):
    paths = []
    for place, (name, content, _) in enumerate(BOMBS.values()):
        folder = tmp_path / str(place)
        folder.mkdir()
        paths.append(folder / name)
        paths[-1].write_bytes(content())
        assert paths[-1].stat().st_size < 9 * MEGABYTE
    command = [sys.executable, "-c", DRIVER, str(MOST_CLAIMS), *map(str, paths)]
    ran = subprocess.run(command, capture_output=True, text=True)
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    for (bomb, (_, _, said)), answer in zip(BOMBS.items(), found, strict=False):
        assert said in answer["said"], bomb
        assert answer["used"] < CEILING, f"{bomb}: {answer['used'] / MEGABYTE:.0f} MB"
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert len(found) == len(BOMBS)
