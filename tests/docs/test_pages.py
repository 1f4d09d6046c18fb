"""Every command and every piece of code on the pages runs, and prints what the page shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pages

NAMES = [str(page.relative_to(pages.ROOT)) for page in pages.PAGES]
# Blocks that are to be read only. A new one needs a good reason here as well as on its page.
NOT_RUN = {
    ("README.md", "these make a virtual environment and test everything"),
    ("docs/index.md", "these make a virtual environment and test everything"),
    ("docs/tutorial.md", "it installs into the reader's environment"),
    ("docs/tutorial.md", "it takes a minute, and new random numbers are drawn each time"),
    ("docs/guides/operator.md", "it installs into the reader's environment"),
    ("docs/guides/operator.md", "the server of this page has been stopped"),
    ("docs/guides/operator.md", "it changes the system"),
    ("docs/guides/operator.md", "it needs a certificate"),
    ("docs/guides/operator.md", "it needs a name on the internet"),
    ("docs/guides/operator.md", "it needs a PostgreSQL server"),
    ("docs/guides/operator.md", "it needs a receiver on the internet"),
    ("docs/guides/participant.md", "it installs into the reader's environment"),
    ("docs/guides/scale.md", "it needs a cluster"),
}
READ = {"", "text", "json", "csv", "http", "ini", "toml", "yaml", "sql"}  # blocks in which there is nothing to run


def read(name):
    return (pages.ROOT / name).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_page_runs_and_prints_what_it_shows(name, tmp_path):
    page = pages.ROOT / name
    lines = page.read_text().splitlines()
    for outcome in pages.run(page, tmp_path):
        place = f"{name}:{outcome.step.line + 1}"
        printed = "\n".join(outcome.printed)
        expected = pages.shown(outcome, lines)
        assert outcome.code == pages.expected_code(expected), f"{place}: exit code {outcome.code}\n{printed}"
        assert expected is None or pages.same(expected, outcome.printed, outcome.step.vary), (
            f"{place} prints something else; `make docs-outputs` writes it into the page if it is right\n{printed}"
        )


def test_few_blocks_are_not_run():
    marked = {
        (name, block.not_run)
        for name in NAMES
        for block in pages.blocks(read(name).splitlines())
        if block.not_run is not None
    }
    assert marked <= NOT_RUN


@pytest.mark.parametrize("name", NAMES)
def test_languages_of_blocks_are_known(name):
    """Each is known, so that no command hides from the test above under another name."""
    for block in pages.blocks(read(name).splitlines()):
        directive = block.language.startswith("{")
        assert directive or block.language in pages.RUN | READ | {"output"}, f"{name}:{block.first}: {block.language}"


def test_readme_links_to_files_that_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", read("README.md")):
        assert target.startswith("https://") or (pages.ROOT / target).is_file(), target


PAGE = """\
```console
$ echo one; echo two
one
two
$ cat \\
> nothing
Error: ...
```

<!-- not run: it would -->
```sh
rm everything
```

```python
print("a")
```

```output
a
```
""".splitlines()


def test_blocks_become_steps():
    found = list(pages.steps(PAGE))
    assert [step.code for step in found] == ["echo one; echo two", "cat \\\nnothing", 'print("a")']
    assert [PAGE[slice(*step.shown)] for step in found] == [["one", "two"], ["Error: ..."], ["a"]]
    assert [block.not_run for block in pages.blocks(PAGE)] == [None, "it would", None, None]


@pytest.mark.parametrize(
    ("expected", "printed", "matches"),
    [
        (["a 1"], ["a 1"], True),
        (["a 1"], ["a 2"], False),
        (["a 1"], ["a 1", "b"], False),
        (["a ..."], ["a 2"], True),
        (["a ..."], ["a 2", "b"], False),
        (["a", "...", "c"], ["a", "b1", "b2", "c"], True),
        (["a", "...", "c"], ["a", "c"], True),
        (["a", "...", "c"], ["a", "b"], False),
    ],
)
def test_dots_stand_for_anything(expected, printed, matches):
    assert pages.same(expected, printed) is matches


@pytest.mark.parametrize(
    ("expected", "printed", "matches"),
    [
        ('"ann",1.5198800959534629,3', '"ann",1.5198800959534633,3', True),
        ('"ann",1.5198800959534629,3', '"ann",1.519884,3', False),
        ('"ann",1.5198800959534629,3', '"ann",1.5198800959534629,4', False),
        ("ε = 1.00, δ = 1e-05", "ε = 1.00, δ = 1.00000001e-05", True),
        ("ε = 1.00, δ = 1e-05", "ε = 1.01, δ = 1e-05", False),
        ("12,345.678901 m.", "12,345.678902 m.", True),
        ("−0.5 to 0.5", "0.5 to 0.5", False),
        ("1000001 claims", "1000002 claims", False),
        ("version 0.1.0 at 127.0.0.1", "version 0.1.1 at 127.0.0.1", False),
        ("a ... 0.25", "a 3 0.75", False),
    ],
)
def test_figures_are_compared_to_a_millionth_and_all_else_exactly(expected, printed, matches):
    assert pages.same([expected], [printed]) is matches


@pytest.mark.parametrize(
    ("printed", "matches"),
    [
        ("hall-1  11.31   9.8  14  6  m", True),
        ("hall-1  12.4  −941.0  965.0  6  m", False),
        ("hall-1  12.4  10.0  15.0  5  m", False),
        ("hall-2  12.4  10.0  15.0  6  m", False),
    ],
)
def test_figures_that_vary_are_held_within_bounds(printed, matches):
    page = ["<!-- figures vary by 6 -->", "```console", "$ results", "hall-1  12.4  10.1  14.7  6  m", "```"]
    (step,) = pages.steps(page)
    assert step.vary == 6
    assert pages.same(page[slice(*step.shown)], [printed], step.vary) is matches


@pytest.mark.slow
def test_pages_run_the_installed_command(tmp_path):
    """The command that replaces it while pages run prints the same."""
    page = tmp_path / "page.md"
    page.write_text("```console\n$ sottovoce --version\n```\n")
    (outcome,) = pages.run(page, tmp_path)
    command = Path(sys.executable).with_name("sottovoce")
    assert outcome.printed == subprocess.check_output([command, "--version"], text=True).splitlines()


@pytest.mark.parametrize(
    ("expected", "printed", "written"),
    [
        (["a 1"], ["a 2"], ["a 2"]),
        (["a", "...", "z"], ["b", "c", "d", "y"], ["b", "...", "y"]),
        (["took ... s", "error 1"], ["took 3 s", "error 2"], ["took ... s", "error 2"]),
    ],
)
def test_refreshed_output_leaves_out_what_the_page_leaves_out(expected, printed, written):
    assert pages.refreshed(expected, printed) == written


@pytest.mark.slow
def test_pages_run_in_order_in_one_folder(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 3 > n\n```\n\n```python\nn = open('n').read()\n```\n\n```python\nprint(n)\n1/0\n```\n")
    outcomes = list(pages.run(page, tmp_path))
    assert [outcome.code for outcome in outcomes] == [0, 0, 1]
    assert outcomes[-1].printed[0] == "3"
    assert outcomes[-1].printed[-1] == "ZeroDivisionError: division by zero"
