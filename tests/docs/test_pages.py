"""Every command and every piece of code on the pages runs, and prints what the page shows."""

import re

import pytest

import pages

NAMES = [str(page.relative_to(pages.ROOT)) for page in pages.PAGES]
# Blocks that are to be read only. A new one needs a good reason here as well as on its page.
NOT_RUN = {
    ("README.md", "these make a virtual environment and test everything"),
    ("docs/index.md", "these make a virtual environment and test everything"),
    ("docs/tutorial.md", "it installs into the reader's environment"),
    ("docs/guides/operator.md", "it installs into the reader's environment"),
    ("docs/guides/operator.md", "the server of this page has been stopped"),
    ("docs/guides/operator.md", "it changes the system"),
    ("docs/guides/operator.md", "it needs a certificate"),
    ("docs/guides/operator.md", "it needs a name on the internet"),
    ("docs/guides/operator.md", "it needs a PostgreSQL server"),
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
        assert expected is None or pages.same(expected, outcome.printed), (
            f"{place} prints something else; `make docs-outputs` writes it into the page if it is right\n{printed}"
        )


def test_only_few_blocks_are_not_run():
    marked = {
        (name, block.not_run)
        for name in NAMES
        for block in pages.blocks(read(name).splitlines())
        if block.not_run is not None
    }
    assert marked <= NOT_RUN


@pytest.mark.parametrize("name", NAMES)
def test_languages_of_blocks_are_known(name):
    """So that no command hides from the test above under another name."""
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
    ("expected", "printed", "written"),
    [
        (["a 1"], ["a 2"], ["a 2"]),
        (["a", "...", "z"], ["b", "c", "d", "y"], ["b", "...", "y"]),
        (["took ... s", "error 1"], ["took 3 s", "error 2"], ["took ... s", "error 2"]),
    ],
)
def test_refreshed_output_leaves_out_what_the_page_leaves_out(expected, printed, written):
    assert pages.refreshed(expected, printed) == written


def test_pages_run_in_order_in_one_folder(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```sh\necho 3 > n\n```\n\n```python\nn = open('n').read()\n```\n\n```python\nprint(n)\n1/0\n```\n")
    outcomes = list(pages.run(page, tmp_path))
    assert [outcome.code for outcome in outcomes] == [0, 0, 1]
    assert outcomes[-1].printed[0] == "3"
    assert outcomes[-1].printed[-1] == "ZeroDivisionError: division by zero"
