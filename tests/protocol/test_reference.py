"""The page from which others write clients is true, and its catalogue is complete."""

import json
import re
from pathlib import Path

from sottovoce.protocol import CATALOGUE, Manifest, Problem, Report, problems

PAGE = (Path(__file__).parents[2] / "docs/reference/protocol.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```json\n(.*?)\n```", PAGE, re.DOTALL)
HASHES = re.findall(r"```text\n([0-9a-f]{64})\n```", PAGE)


def test_the_worked_manifest_and_report_are_canonical_and_have_the_hashes_shown():
    manifest, second = (Manifest.parse(example.encode()) for example in EXAMPLES[:2])
    report = Report.parse(EXAMPLES[2].encode())
    report.check(manifest)
    assert report.bytes() == EXAMPLES[2].encode()
    assert [manifest.sha256, second.sha256, report.content_hash] == HASHES


def test_the_problem_shown_is_the_one_that_is_sent():
    shown = json.loads(EXAMPLES[3])
    assert Problem(shown["code"], shown["detail"]).to_json() == shown


def test_every_problem_is_on_the_page_as_it_is_in_the_catalogue():
    rows = re.findall(r"^\| `(\w+)` \| (\d+|–) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    listed = [(kind.code, str(kind.status or "–"), kind.title, kind.fix) for kind in CATALOGUE.values()]
    assert rows == listed


def test_every_problem_can_occur():
    package = Path(problems.__file__).parents[1]
    code = [path for path in package.rglob("*.py") if path != Path(problems.__file__)]
    used = set(re.findall(r'"([a-z_]+)"', "".join(path.read_text(encoding="utf-8") for path in code)))
    assert set(CATALOGUE) <= used


def test_codes_are_unique_and_statuses_are_errors():
    source = Path(problems.__file__).read_text(encoding="utf-8")
    written = re.findall(r'^\s+Kind\("(\w+)",', source, re.MULTILINE)
    assert len(written) == len(set(written)) == len(CATALOGUE)  # a repeated one would vanish from the catalogue
    for kind in CATALOGUE.values():
        assert kind.status is None or 400 <= kind.status < 600, kind.code
        assert kind.title[0].isupper(), kind.code
        assert not (kind.title + kind.fix).endswith("."), kind.code
        assert Problem(kind.code).code == kind.code
