"""`sottovoce reproduce`: complete, resumable, the same for the same seed; verdicts that can go either way."""

import importlib.util
import json
import re
import shutil
import signal
import subprocess
from html import escape
from html.parser import HTMLParser
from types import SimpleNamespace

import pytest

import warm
from command import rows_of, run, run_process
from patience import PATIENCE, until
from sottovoce.lab.reproduce import FIGURES, named
from sottovoce.lab.reproduce.experiment import Setting
from sottovoce.lab.reproduce.runner import reproduce
from sottovoce.lab.reproduce.style import draw_files


def reproduced(out, *figures, **options):
    flags = [part for name, entry in options.items() for part in (f"--{name}", str(entry))]
    patience = 900  # seconds, on a busy machine
    ran = run_process("reproduce", *figures, "--quick", "--json", "--out", out, *flags, timeout=patience)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


class Outline(HTMLParser):
    """Headings, pictures and addresses of a page."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.pictures, self.links = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            self.anchors.append(given["id"])
        if tag == "img":
            self.pictures.append(given)
        if tag == "a":
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory):
    """Every figure, made by two processes: the folder, and the summary."""
    out = tmp_path_factory.mktemp("whole")
    return out, reproduced(out, processes=2)


def tables_of(out):
    return {name: (out / f"{name}.csv").read_bytes() for name in FIGURES}


def test_the_file_of_numbers_has_the_columns_of_every_row(tmp_path):
    """The rows of a figure's second panel may have columns that the first row lacks."""
    blank = SimpleNamespace(name="two-panels", size=(2, 2), draw=lambda *_: None, note=lambda _: "two panels")
    draw_files(blank, [{"part": "error", "error": 0.5}, {"part": "gain", "epsilon": 1.0}], tmp_path)
    assert rows_of(tmp_path / "two-panels.csv") == [
        {"part": "error", "error": "0.5", "epsilon": ""},
        {"part": "gain", "error": "", "epsilon": "1"},
    ]


@pytest.mark.slow
def test_a_whole_run_is_complete_and_a_second_one_computes_nothing(whole_run, tmp_path):
    out, first = whole_run
    check_figures(out, first)
    check_page(out, first)
    shutil.copytree(out, tmp_path, dirs_exist_ok=True)
    second = reproduced(tmp_path)
    assert first["computed"] > 80
    assert second["computed"] == 0
    assert second["figures"] == first["figures"]
    assert tables_of(tmp_path) == tables_of(out)


def check_figures(out, summary):
    assert [figure["name"] for figure in summary["figures"]] == list(FIGURES)
    for figure in summary["figures"]:
        assert figure["files"] == [f"{figure['name']}.{suffix}" for suffix in ("png", "svg", "csv")]
        assert (out / figure["files"][0]).read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / figure["files"][1]).read_text()
        assert len(rows_of(out / figure["files"][2])) >= 3
        assert re.search(r"\d", figure["sentence"])
    papers = [figure for figure in summary["figures"] if named(figure["name"]).of_the_paper]
    assert len(papers) == 9  # seven figures, the baselines and Theorem 4.3
    # Seconds depend on what else the machine does.
    fails = {figure["name"] for figure in papers if not figure["holds"]} - {"efficiency"}
    # The printed theorem is false. On the floorplan the median is better than CRH, whose weights do not follow the true
    # ones closely enough.
    assert {"baselines", "theorem"} <= fails
    assert fails <= {"baselines", "theorem", "weights"}
    assert summary["left_out"] == {}


def check_page(out, summary):
    """The page needs nothing but itself, and can be read aloud."""
    text = (out / "index.html").read_text()
    page = Outline(text)
    # The paper's figures first, then what it could not show.
    assert page.anchors == sorted(FIGURES, key=lambda name: not named(name).of_the_paper)
    assert len(page.pictures) == len(FIGURES)
    for picture in page.pictures:
        assert picture["src"].startswith("data:image/png;base64,")
        assert len(picture["alt"]) > 60
    for link in page.links:
        assert link[1:] in FIGURES if link.startswith("#") else (out / link).is_file()
    for figure in summary["figures"]:
        assert escape(figure["claim"]) in text
        assert escape(figure["sentence"]) in text
    assert "http" not in re.sub(r"data:image/png;base64,[^\"]*", "", text)


DETERMINISTIC = ("trade-off", "weights", "theorem")


@pytest.mark.slow
def test_numbers_depend_on_the_seed_and_not_on_the_number_of_processes(whole_run, tmp_path):
    by_two, _ = whole_run
    first = reproduced(tmp_path, *DETERMINISTIC, processes=1)
    tables = [(tmp_path / f"{name}.csv").read_bytes() for name in DETERMINISTIC]
    assert tables == [(by_two / f"{name}.csv").read_bytes() for name in DETERMINISTIC]
    second = reproduced(tmp_path, *DETERMINISTIC, processes=1, seed=4)
    assert second["computed"] == first["computed"]  # what another seed left there does not count
    assert all(
        (tmp_path / f"{name}.csv").read_bytes() != table for name, table in zip(DETERMINISTIC, tables, strict=True)
    )


@pytest.mark.slow
def test_interrupted_work_is_resumed(whole_run, tmp_path):
    out, _ = whole_run
    shutil.copytree(out / ".cache", tmp_path / ".cache")
    kept = tmp_path / ".cache" / "effect-of-crowd.jsonl"
    lines = kept.read_text().splitlines(keepends=True)
    assert len(lines) == 9
    kept.write_text("".join(lines[:4]) + lines[4][:50])  # stopped in the middle of writing
    assert reproduce(["effect-of-crowd"], tmp_path, Setting(quick=True), processes=1).computed == 5
    assert (tmp_path / "effect-of-crowd.csv").read_bytes() == (out / "effect-of-crowd.csv").read_bytes()


@pytest.mark.slow
def test_a_real_floorplan_takes_the_place_of_the_simulated_one(tmp_path):
    from sottovoce.worlds import floorplan

    world = floorplan(9)
    claims = world.claims
    (tmp_path / "step_dataset.txt").write_text("".join(f"{o}\t{v!r}\t{u}\n" for u, o, v in claims))
    truths = zip(claims.object_labels.tolist(), world.truths.tolist(), strict=True)
    (tmp_path / "step_ground_truth.txt").write_text("".join(f"{o}\t{v!r}\n" for o, v in truths))
    summary = reproduced(tmp_path / "out", "floorplan", "weights", "coverage", floorplan=tmp_path)
    assert len(summary["figures"]) == 3
    rows = rows_of(tmp_path / "out" / "floorplan.csv")
    assert [float(row["wanted"]) for row in rows] == [0.1, 1.0, 5.0]
    assert all(float(row["noise"]) < 7 for row in rows), "noise of metres, whatever λ1 is"
    # The crowd is the same in every run, so that there is no spread before noise.
    assert all(row["error_before_low"] == row["error_before_high"] for row in rows)
    seven = {row["user"] for row in rows_of(tmp_path / "out" / "weights.csv")}
    assert len(seven) == 7


def test_unknown_figures_are_refused_with_the_list_of_names(tmp_path):
    ran = run("reproduce", "trade-of", "--out", tmp_path / "out")
    assert ran.returncode == 2
    for word in ("trade-of", *FIGURES):
        assert word in " ".join(ran.stderr.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--processes", 0), ("--floorplan", "nowhere")])
def test_bad_options_end_with_code_2(tmp_path, options):
    ran = run_process("reproduce", "floorplan", "--quick", "--out", tmp_path / "out", *options)
    assert ran.returncode == 2
    assert str(options[1]) in ran.stderr


def test_help_lists_the_figures():
    ran = run("reproduce", "--help", env={"COLUMNS": "300", "PATH": ""})
    assert ran.returncode == 0
    for name in FIGURES:
        assert name in ran.stdout


@pytest.mark.slow
def test_without_paillier_the_figure_is_left_out_and_the_page_says_so(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr("sottovoce.lab.reproduce.cost.find_spec", lambda name: None if name == "phe" else find(name))
    made = reproduce(["readings", "cost"], tmp_path, Setting(quick=True), processes=1)
    assert [outcome.experiment.name for outcome in made.outcomes] == ["readings"]
    assert "phe" in made.left_out["cost"]
    assert made.left_out["cost"] in made.page.read_text()
    assert not (tmp_path / "cost.png").exists()


@pytest.mark.slow
def test_ctrl_c_leaves_what_is_finished(tmp_path):
    kept = tmp_path / ".cache" / "effect-of-crowd.jsonl"
    command = ["-m", "sottovoce", "reproduce", "effect-of-crowd", "--quick", "--out", tmp_path, "--processes", "1"]
    with warm.Process(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as work:
        until(lambda: kept.is_file() and kept.read_text().count("\n") >= 2, "second line")
        work.send_signal(signal.SIGINT)
        work.wait(PATIENCE)
    finished = kept.read_text().count("\n")
    assert work.returncode not in (0, 2)
    assert 2 <= finished < 9
    assert reproduce(["effect-of-crowd"], tmp_path, Setting(quick=True), processes=1).computed == 9 - finished
