"""The analyst's page: the same answer as the command's, and nothing of the file is kept."""

import contextlib
import csv
import io
import itertools
import json
import logging
import re
import shlex
import sys
import tempfile
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from command import rows_of, run
from hallways import HALLWAY_CLAIMS
from patience import PATIENCE
from server_under_test import OPERATOR_TOKEN, LocalServer, SetClock
from sottovoce.protocol.problems import Problem
from sottovoce.server.app import create_app
from sottovoce.server.console import analysis, analyst
from sottovoce.server.console.uploads import parse_parts
from sottovoce.server.settings import Settings
from sottovoce.server.storage.tables import metadata

TRUTHS = "where,metres\nnorth hall,24.0\nlibrary,30.9\n"
COLUMNS = {"user": "who", "object": "where", "value": "metres"}


class AnalystPage:
    """An operator at the analyst's page."""

    def __init__(self, server):
        self.server, self.client = server, server.client
        answer = self.client.post("/sign-in", data={"token": OPERATOR_TOKEN}, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        self.token = re.search(r'name="form_token" value="([0-9a-f]+)"', self.client.get("/analyst").text)[1]

    def ask(
        self, claims=HALLWAY_CLAIMS, name="halls.csv", *, truth=None, methods=("noise-aware",), token=None, **fields
    ):
        content = claims if isinstance(claims, bytes) else claims.encode()
        files = {"claims": (name, content)} | ({"truth": ("measured.csv", truth.encode())} if truth else {})
        data = {"form_token": token or self.token, **COLUMNS, "method": list(methods), **fields}
        return self.client.post("/analyst", data=data, files=files)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return tmp_path_factory.mktemp("analyst") / "campaigns.db"


@pytest.fixture(scope="module")
def analyst_page(database):
    settings = Settings(database=f"sqlite:///{database}", operator_token=OPERATOR_TOKEN, operator_body_limit=300_000)
    clock = SetClock()
    with (
        pytest.MonkeyPatch.context() as patch,
        TestClient(create_app(settings, clock=clock, background=False), raise_server_exceptions=False) as client,
    ):
        # The first fits on a machine compile the kernels, which takes a loaded one longer than the server's limit.
        patch.setattr(analysis, "MOST_SECONDS", PATIENCE)
        yield AnalystPage(LocalServer(client, clock))


def saved(answer):
    """The table that the page can save."""
    text = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", answer.text, re.DOTALL)[1]
    return list(csv.DictReader(io.StringIO(unescape(text))))


def test_only_operators_get_in(analyst_page):
    stranger = TestClient(analyst_page.client.app)
    asked = stranger.get("/analyst", follow_redirects=False)
    assert (asked.status_code, asked.headers["location"]) == (303, "/sign-in?next=%2Fanalyst")
    sent = stranger.post("/analyst", files={"claims": ("halls.csv", HALLWAY_CLAIMS)}, follow_redirects=False)
    assert sent.status_code == 303
    assert "library" not in sent.text


def test_the_entry_of_the_page_is_the_current_one(analyst_page):
    assert re.findall(r'<a href="(.*?)" aria-current="page"', analyst_page.client.get("/analyst").text) == ["/analyst"]
    assert re.findall(r'<a href="(.*?)" aria-current="page"', analyst_page.client.get("/operators").text) == [
        "/operators"
    ]


def test_a_form_of_another_site_is_refused(analyst_page):
    assert analyst_page.ask(token="0" * 64).status_code == 403
    foreign = analyst_page.client.post(
        "/analyst", files={"claims": ("a.csv", HALLWAY_CLAIMS)}, headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert foreign.status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize(("first", "later", "status"), [(10_000, 0, 200), (0, 500, 422)])
def test_the_time_of_a_first_iteration_does_not_count(analyst_page, monkeypatch, first, later, status):
    """The first iteration may have to compile the kernels, once on each machine."""
    moments = itertools.chain((0, first), itertools.count(first + later, later))
    monkeypatch.setattr(analysis, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    assert analyst_page.ask(methods=["crh"]).status_code == status


@pytest.mark.slow
def test_the_answer_is_the_commands(analyst_page, tmp_path):
    """The commands that the page offers to copy, run unchanged, write the file that it offers to save."""
    answer = analyst_page.ask(methods=["noise-aware", "crh"], truth=TRUTHS)
    assert answer.status_code == 200
    (tmp_path / "halls.csv").write_text(HALLWAY_CLAIMS)
    (tmp_path / "measured.csv").write_text(TRUTHS)
    command = re.search(r"<pre[^>]*>(.*?)</pre>", answer.text, re.DOTALL)[1]
    commands = unescape(re.sub(r"<[^>]+>", "", command)).splitlines()
    assert len(commands) == 2
    scores = {}
    for line in commands:
        words = shlex.split(line)
        assert words[0] == "sottovoce"
        ran = run(*words[1:], "--json", cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        scores[json.loads(ran.stdout)["method"]] = json.loads(ran.stdout)["scores"]
    first, second = rows_of(tmp_path / "truths-noise-aware.csv"), rows_of(tmp_path / "truths-crh.csv")
    table = saved(answer)
    assert [{name: entry[name] for name in first[0]} for entry in table] == first
    assert [entry["crh"] for entry in table] == [entry["truth"] for entry in second]
    for name, entry in (("noise-aware", scores["noise-aware"]), ("crh", scores["crh"])):
        shown = re.search(rf'<tr><th scope="row">{name}.*?</tr>', answer.text, re.DOTALL)[0]
        assert f"<td>{entry['mae']:.3g}</td><td>{entry['rmse']:.3g}</td>" in shown
    for name in ("mean", "median"):
        shown = re.search(rf'<tr><th scope="row">{name}.*?</tr>', answer.text, re.DOTALL)[0]
        assert f"<td>{scores['crh'][name]['mae']:.3g}</td>" in shown


def test_names_and_labels_survive_a_shell(analyst_page, tmp_path):
    name = "it's $(my) file; & co.csv"
    answer = analyst_page.ask(HALLWAY_CLAIMS.replace("who", "who is 'it'"), name, user="who is 'it'")
    command = unescape(re.sub(r"<[^>]+>", "", re.search(r"<pre[^>]*>(.*?)</pre>", answer.text, re.DOTALL)[1]))
    words = shlex.split(command)
    assert words[2] == name
    assert words[words.index("--user") + 1] == "who is 'it'"


def test_the_plain_averages_are_always_there(analyst_page):
    answer = analyst_page.ask(methods=["gtm"])
    assert re.findall(r'<tr><th scope="row">(gtm|mean|median|crh)', answer.text) == ["gtm", "mean", "median"]
    (north,) = [entry for entry in saved(answer) if entry["object"] == "north hall"]
    assert float(north["mean"]) == pytest.approx((24.1 + 23.8 + 29.5 + 24.0) / 4)
    assert float(north["median"]) == pytest.approx((24.0 + 24.1) / 2)


def test_the_chart_of_weights_speaks_of_users(analyst_page):
    chart = re.search(r"<desc>(Number of .*?)</desc>", analyst_page.ask().text)[1]
    assert chart.startswith("Number of users by weight, where 1 is the mean weight. The largest group, ")
    assert re.search(r", \d of \d, has [\d.]+ to [\d.]+ times the mean weight\.$", chart)


def test_users_are_counted_but_not_named(analyst_page):
    answer = analyst_page.ask()
    assert "15 claims by 5 users about 4 objects" in answer.text
    assert not re.search(r"\b(ann|bob|cleo|dan|eve)\b", answer.text)


def parquet(text):
    sink = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pylist(typed(text)), sink)
    return sink.getvalue()


def typed(text):
    return [{**entry, "metres": float(entry["metres"])} for entry in csv.DictReader(io.StringIO(text))]


def not_utf8():
    """A file whose text is not text."""
    text = pa.array([b"\xff", b"b"]).view(pa.string())
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table({"who": text, "where": ["hall", "hall"], "metres": [1.0, 2.0]}), sink)
    return sink.getvalue()


def test_all_formats_give_the_same(analyst_page):
    lines = "\n".join(map(json.dumps, typed(HALLWAY_CLAIMS)))
    tables = [
        saved(analyst_page.ask(content, name))
        for name, content in (("a.csv", HALLWAY_CLAIMS), ("a.parquet", parquet(HALLWAY_CLAIMS)), ("a.jsonl", lines))
    ]
    assert tables[0] == tables[1] == tables[2]


def test_objects_named_by_several_columns_in_any_format(analyst_page):
    text = "".join(f"{line},{'floor' if place == 0 else 1 + place % 2}\n" for place, line in
                   enumerate(HALLWAY_CLAIMS.splitlines()))  # fmt: skip
    lines = "\n".join(json.dumps(row) for row in typed(text))
    pages = [
        analyst_page.ask(content, name, object="where+floor", duplicates="mean")
        for name, content in (("a.csv", text), ("a.parquet", parquet(text)), ("a.jsonl", lines))
    ]
    assert [page.status_code for page in pages] == [200, 200, 200]
    tables = [saved(page) for page in pages]
    assert tables[0] == tables[1] == tables[2]
    assert {row["object"].rpartition(" · ")[2] for row in tables[0]} == {"1", "2"}


def test_joined_labels_are_refused_before_they_fill_the_memory(analyst_page):
    """A name of ten thousand letters, stored once and repeated by every row: joined, it would take a gigabyte."""
    rows, sink = 100_000, io.BytesIO()
    names = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * 10_000]))
    table = pa.table({"who": pa.array(["a"] * rows), "where": names, "metres": pa.array([1.0] * rows)})
    pa.parquet.write_table(table, sink, compression="zstd", store_schema=False)
    page = analyst_page.ask(sink.getvalue(), "a.parquet", object="where+who", duplicates="mean")
    assert page.status_code == 422
    assert (
        "labels that join several columns take 1,000,100,000 bytes, but at most 67,108,864 are accepted here"
        in page.text
    )


def test_noise_can_be_given_in_the_form_or_in_the_file(analyst_page):
    said = analyst_page.ask(noise="shared:0.5")
    header, *rows = HALLWAY_CLAIMS.splitlines()
    inside = analyst_page.ask("\n".join([f"{header},noise_law", *(f"{line},shared:0.5" for line in rows)]))
    assert "noise <code>shared:0.5</code>" in inside.text
    assert saved(said) == saved(inside)
    assert saved(said) != saved(analyst_page.ask())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"user": "user"}, "halls.csv: there is no column 'user' among 'who', 'where', 'metres'; add a header line"),
        (
            {"claims": HALLWAY_CLAIMS + "dan,stairs,n/a\n"},
            "halls.csv, line 17, row 16: metres 'n/a': a value must be a finite number",
        ),
        ({"claims": HALLWAY_CLAIMS + "eve,library,31\n"}, "who 'eve' makes a second claim about where 'library'"),
        ({"claims": ""}, "halls.csv: the file is empty"),
        ({"claims": b"\xff\xfe\x00\x01", "name": "halls.parquet"}, "halls.parquet: it could not be read as Parquet"),
        (
            {"claims": '{"who": 1, "where": 2, "metres": 3}\n{', "name": "halls.jsonl"},
            "halls.jsonl, line 2, row 2: '{': a line must be a JSON object",
        ),
        ({"claims": "null", "name": "halls.jsonl"}, "halls.jsonl, line 1, row 1: 'null': a line must be a JSON object"),
        ({"claims": "[" * 99_999, "name": "halls.jsonl"}, "halls.jsonl, line 1, row 1: '[[["),
        ({"claims": "\n \n", "name": "halls.jsonl"}, "halls.jsonl: the file is empty"),
        ({"claims": not_utf8(), "name": "halls.parquet"}, "halls.parquet: it could not be read as Parquet"),
        ({"claims": '{"a": 1}', "name": "halls.jsonl"}, "halls.jsonl: there is no column 'who' among 'a'"),
        ({"claims": HALLWAY_CLAIMS.encode("utf-16")[:-1]}, "byte 0x0a: the text is cut off, or not UTF-16"),
        ({"noise": "loud:1"}, "loud"),
        ({"methods": []}, "no method: at least one is needed"),
        ({"methods": ["magic"]}, "method 'magic': it must be one of noise-aware, crh, gtm, catd, lfcn"),
        (
            {"methods": ["crh", "dawid-skene"]},
            "method 'dawid-skene': it works with choices, but these claims are numbers; tick only methods for numbers:",
        ),
        ({"truth": "where,metres\nattic,1\n"}, "measured.csv: none of its objects is in the claims"),
    ],
    ids=[
        "column",
        "value",
        "twice",
        "empty",
        "parquet",
        "jsonl",
        "jsonl-null",
        "jsonl-deep",
        "jsonl-empty",
        "parquet-text",
        "jsonl-column",
        "cut-off",
        "law",
        "none",
        "magic",
        "kind",
        "truths",
    ],
)
def test_a_mistake_is_reported_in_the_librarys_words_and_the_form_stays(analyst_page, changes, message):
    answer = analyst_page.ask(**{"skip_bad": "", **changes})
    assert answer.status_code == 422
    section = re.search(r'<section class="problem" role="alert">(.*?)</section>', answer.text, re.DOTALL)[1]
    assert message in unescape(section)
    assert f'id="object" name="object" value="{COLUMNS["object"]}"' in answer.text


def test_a_missing_file_is_a_mistake_too(analyst_page):
    data = {"form_token": analyst_page.token, **COLUMNS, "method": "crh"}
    answer = analyst_page.client.post("/analyst", data=data, files={"claims": ("", b"")})
    assert answer.status_code == 422
    assert "no file: claims come in a CSV" in answer.text
    assert 'value="crh" checked' in answer.text


def test_dirty_rows_are_dropped_and_counted_on_request(analyst_page):
    answer = analyst_page.ask(HALLWAY_CLAIMS + "dan,stairs,n/a\neve,library,31.2\n", skip_bad="yes", duplicates="mean")
    assert answer.status_code == 200
    assert "1 bad row left out" in answer.text
    lines = "\n".join([*map(json.dumps, typed(HALLWAY_CLAIMS)), "null", "{", '{"who": "dan", "where": "attic"}'])
    answer = analyst_page.ask(lines, "halls.jsonl", skip_bad="yes")
    assert "3 bad rows left out" in answer.text


def test_a_mistake_quotes_only_so_much(analyst_page):
    answer = analyst_page.ask(HALLWAY_CLAIMS + "x" * 100_000 + "\n")
    assert answer.status_code == 422
    assert "x" * 200 in answer.text
    assert len(answer.text) < 20_000


def test_labels_with_html_are_text(analyst_page):
    nasty = "<script>alert(1)</script>"
    answer = analyst_page.ask(
        HALLWAY_CLAIMS.replace("stairs", nasty).replace("where", "<b>where"), object="<b>where", name=f"{nasty}.csv"
    )
    assert answer.status_code == 200
    assert nasty not in answer.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert len(re.findall("<script", answer.text)) == len(re.findall("<script[^>]* src=", answer.text))


def test_a_file_that_is_too_large_is_refused(analyst_page):
    large = HALLWAY_CLAIMS + "dan,attic,1\n" * 40_000
    answer = analyst_page.ask(large)
    assert answer.status_code == 413
    assert "<form" in answer.text
    body, boundary = b"--x\r\n" + large.encode(), {"Content-Type": "multipart/form-data; boundary=x"}
    # In pieces, without its length in advance.
    answer = analyst_page.client.post("/analyst", content=iter([body]), headers=boundary)
    assert answer.status_code == 413
    assert "at most 300,000 bytes are accepted" in answer.text
    assert "<form" in answer.text


def test_warnings_are_about_users_and_objects(analyst_page):
    """A fifth that agrees on a far value leans beyond chance: (18 - 10) / 16 · √119 = 5.5 standard errors."""
    claims = "who,where,metres\n" + "".join(f"u{n},hall,{50 if n < 24 else 10}\n" for n in range(120))
    text = unescape(analyst_page.ask(claims).text)
    assert "In one object, mean and median differ" in text
    assert "some users lean to one side" in text


def test_one_file_is_computed_at_a_time(analyst_page):
    with analyst._computing:
        answer = analyst_page.ask(methods=["catd"])
    assert answer.status_code == 503
    assert "another one is being computed" in unescape(answer.text)
    assert 'value="catd" checked' in answer.text
    assert analyst_page.ask().status_code == 200
    assert analyst_page.ask(claims="").status_code == 422
    assert not analyst._computing.locked()  # whatever came of it


def test_time_and_size_have_limits(analyst_page, monkeypatch):
    monkeypatch.setattr(analysis, "MOST_SECONDS", -1.0)
    answer = analyst_page.ask()
    assert (answer.status_code, "use the command line instead" in answer.text) == (422, True)
    monkeypatch.undo()
    monkeypatch.setattr(analysis, "MOST_CLAIMS", 10)
    for name, content in (("a.csv", HALLWAY_CLAIMS), ("a.parquet", parquet(HALLWAY_CLAIMS))):
        answer = analyst_page.ask(content, name)
        assert (answer.status_code, "15 claims, but at most 10 are accepted here" in answer.text) == (422, True)
    monkeypatch.undo()
    monkeypatch.setattr(analysis, "_MOST_UNPACKED", 100)
    assert "bytes, but at most 100 are accepted here" in analyst_page.ask(parquet(HALLWAY_CLAIMS), "a.parquet").text


_watched = {"on": False, "written": []}


def _watch(event, arguments):
    if _watched["on"] and event == "open":
        path, mode, flags = arguments
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (isinstance(flags, int) and flags & 0o3):
            _watched["written"].append(str(path))


sys.addaudithook(_watch)  # hooks cannot be taken away, so this one sleeps


def everything_in(folder):
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("outcome", ["answer", "mistake"])
def test_nothing_stays_behind(analyst_page, database, tmp_path, monkeypatch, caplog, outcome):
    """No file, no row, no line in the logs: labels that appear nowhere else are searched for everywhere."""
    marker = f"zanzibar-{outcome}"
    claims = HALLWAY_CLAIMS.replace("library", f"{marker}-object").replace("ann", f"{marker}-user")
    if outcome == "mistake":
        claims += f"{marker}-user,attic,{marker}-value\n"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    analyst_page.ask(claims.replace(marker, "before"))  # whatever is loaded or compiled at the first time
    tables = [table.name for table in metadata.sorted_tables]
    before = {name: analyst_page.server.rows(name) for name in tables}
    caplog.set_level(logging.DEBUG)
    _watched.update(on=True, written=[])
    try:
        answer = analyst_page.ask(claims, f"{marker}-file.csv", truth=f"where,metres\n{marker}-object,30.9\n")
    finally:
        _watched["on"] = False
    assert answer.status_code == (200 if outcome == "answer" else 422)
    assert marker in answer.text  # it was there …
    assert [path for path in _watched["written"] if path != "/dev/null"] == []
    assert everything_in(tmp_path) == []
    assert {name: analyst_page.server.rows(name) for name in tables} == before
    for path in everything_in(database.parent):
        assert marker.encode() not in Path(path).read_bytes()
    assert marker not in caplog.text
    assert not any(marker in str(vars(record)) for record in caplog.records)
    assert marker not in analyst_page.client.get("/metrics").text
    assert marker not in analyst_page.client.get("/analyst").text  # … and is gone


def test_the_page_is_not_kept_by_browsers(analyst_page):
    assert analyst_page.ask().headers["cache-control"] == "no-store"


def multipart(boundary, parts):
    """A body as RFC 7578 has it, written here from its words."""
    lines = [
        b"--" + boundary + b'\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n' + part + b"\r\n"
        for part in parts
    ]
    return b"".join(lines) + b"--" + boundary + b"--\r\n"


@given(st.binary(max_size=200))
@example(b"\r\n--boundary7\r")
@example(b"a\r\n\r\nb\r\n")
@example(b"--boundary")
def test_files_arrive_byte_for_byte(content):
    form = parse_parts(multipart(b"boundary77", [content]), b"boundary77")
    assert form.files["f"].read() == content


@given(st.binary(max_size=100))
def test_a_form_is_either_parsed_or_refused(content):
    with contextlib.suppress(Problem):
        parse_parts(content, b"x")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"--x\r\n",
        b"before--x--",
        b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--",
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\xff\r\n--x--',
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n--x--',
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n' + b"a: b\r\n" * 2_000 + b"\r\na\r\n--x--",
    ],
    ids=["nothing", "no-end", "something-before", "no-name", "no-text", "no-content", "long-head"],
)
def test_a_broken_form_is_a_problem(content):
    with pytest.raises(Problem, match="the form"):
        parse_parts(content, b"x")


def test_many_fields_are_refused():
    with pytest.raises(Problem, match="at most 499 fields"):
        parse_parts(multipart(b"x", [b""] * 600), b"x")


def test_one_object_is_explained(analyst_page):
    answer = analyst_page.ask(explained="north hall")
    assert answer.status_code == 200
    text = unescape(answer.text)
    assert "Why north hall has this truth" in text
    rows = re.findall(r'<tr><th scope="row">(ann|bob|cleo|eve)</th><td>([\d.]+)</td><td>([\d.]+)%</td>', text)
    assert {name for name, _, _ in rows} == {"ann", "bob", "cleo", "eve"}
    weights = [float(weight) for _, _, weight in rows]
    assert weights == sorted(weights, reverse=True)
    assert sum(weights) == pytest.approx(100, abs=0.3)
    shown = re.sub("<[^>]*>", "", text[text.index('<pre class="command"') :])
    assert "sottovoce explain halls.csv 'north hall' --method noise-aware" in shown


def test_an_object_without_claims_is_refused(analyst_page):
    answer = analyst_page.ask(explained="<cellar>")
    assert answer.status_code == 422
    assert "object '<cellar>': it has no claims" in unescape(answer.text)


def test_values_as_spreadsheets_write_them(analyst_page):
    claims = HALLWAY_CLAIMS.replace(",", ";").replace(".", ",").replace("24,1", "24,1 m").encode("windows-1252")
    answer = analyst_page.ask(claims, decimal=",", strip_units="yes", encoding="windows-1252", methods=("median",))
    assert answer.status_code == 422  # plain methods are not ticked: they are always there
    answer = analyst_page.ask(claims, decimal=",", strip_units="yes", encoding="windows-1252", methods=("crh",))
    assert answer.status_code == 200, answer.text
    same = analyst_page.ask(methods=("crh",))
    assert saved(answer) == saved(same)
    shown = re.sub("<[^>]*>", "", unescape(answer.text))
    assert "--decimal , --encoding windows-1252 --strip-units" in shown
    assert analyst_page.ask(decimal="x").status_code == 422


def test_coverage_is_shown_beside_the_errors(analyst_page):
    text = analyst_page.ask(truth=TRUTHS).text
    assert "Truths in their intervals" in text
    line = re.search(r'<th scope="row">noise-aware</th>(.*?)</tr>', text, re.DOTALL)[1]
    assert re.findall(r"<td>(\d+)%</td>", line) in (["0"], ["50"], ["100"])


# Three careful people, and two who always say yes: weights matter where the careful ones are outvoted or tied.
DOORS = "who,where,metres\n" + "".join(
    f"{who},door {door},{answer}\n"
    for door in range(8)
    for who, answer in [
        *((who, "yes" if door % 2 else "no") for who in ("ann", "bob", "cleo")[: 2 if door == 6 else 3]),
        *((who, "yes") for who in ("dan", "eve")),
    ]
)
OPEN_DOORS = "where,metres\n" + "".join(f"door {door},{'yes' if door % 2 else 'no'}\n" for door in range(8))


def test_choices_have_bars_chances_runner_up_and_majority(analyst_page):
    answer = analyst_page.ask(DOORS, methods=["noise-aware", "dawid-skene"], truth=OPEN_DOORS, explained="door 0")
    assert answer.status_code == 200, answer.text
    assert "39 claims by 5 users about 8 objects" in answer.text
    headings = re.findall(r'<th scope="col">(.*?)</th>', answer.text)
    assert {"Chance", "Runner-up", "Majority", "Claims", "Correct truths"} <= {*headings}
    assert "95% low" not in answer.text
    assert answer.text.count('<ul class="answers">') == 8
    table = {entry["object"]: entry for entry in saved(answer)}
    assert [table[f"door {door}"]["truth"] for door in range(6)] == ["no", "yes"] * 3
    assert table["door 0"] | {"majority": "no", "runner_up": "yes", "claims": "5"} == table["door 0"]
    assert 0.5 < float(table["door 0"]["chance"]) < 1
    assert table["door 0"]["dawid-skene"] == "no"
    rows = re.findall(r'<tr><th scope="row">(noise-aware|dawid-skene|majority|mean)', answer.text)
    assert rows == ["noise-aware", "dawid-skene", "majority"]
    assert "Why door 0 has this truth" in answer.text
    assert "another answer" in answer.text
    assert "--kind" not in answer.text


@pytest.mark.slow
def test_the_answer_about_choices_is_the_commands(analyst_page, tmp_path):
    """Answers that are written as numbers are choices only where the form says so, and the command then says so too."""
    codes = DOORS.replace("yes", "1").replace("no", "0")
    answer = analyst_page.ask(
        codes,
        "doors.csv",
        methods=["noise-aware"],
        kind="choice",
        truth=OPEN_DOORS.replace("yes", "1").replace("no", "0"),
    )
    assert answer.status_code == 200, answer.text
    (tmp_path / "doors.csv").write_text(codes)
    (tmp_path / "measured.csv").write_text(OPEN_DOORS.replace("yes", "1").replace("no", "0"))
    command = re.search(r"<pre[^>]*>(.*?)</pre>", answer.text, re.DOTALL)[1]
    words = shlex.split(unescape(re.sub(r"<[^>]+>", "", command)))
    assert words[words.index("--kind") + 1] == "choice"
    ran = run(*words[1:], "--json", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert saved(answer) == rows_of(tmp_path / "truths.csv")
    accuracy = json.loads(ran.stdout)["scores"]["accuracy"]
    shown = re.search(r'<tr><th scope="row">noise-aware.*?</tr>', answer.text, re.DOTALL)[0]
    assert f"<td>{100 * accuracy:.1f}%</td>" in shown


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"claims": DOORS, "methods": ["gtm"]}, "numbers"),
        ({"methods": ["dawid-skene"]}, "choices"),
        ({"claims": DOORS, "kind": "number"}, "number"),
        ({"claims": DOORS.replace("dan,door 3,yes", "dan,door 3,7")}, "row"),
        ({"claims": DOORS + "ann,door 0,yes\n"}, "ann"),
        ({"claims": DOORS + "ann,door 0,yes\n", "duplicates": "mean"}, "mean"),
        ({"claims": DOORS, "noise": "fresh:1"}, "fresh"),
        ({"claims": DOORS, "kind": "colour"}, "colour"),
    ],
    ids=lambda entry: str(entry)[-40:],
)
def test_what_does_not_fit_choices_is_refused_in_words(analyst_page, asked, words):
    answer = analyst_page.ask(**asked)
    assert answer.status_code == 422, answer.text
    message = re.search(r'<section class="problem".*?</section>', answer.text, re.DOTALL)[0]
    assert words in message
