"""A field of a task is declared in the model of its format: tables, forms, the API and their copies follow."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce
from questions import second

HERE = Path(__file__).parent
SHARED = """
    floor: Annotated[
        Annotated[int, Field(ge=0, le=200)] | None,
        TaskColumn("Floor", "storey", headings=("level",), explained="is where it is", repeated=True),
    ] = None
    landmark: Annotated[TitleText | None, TaskColumn("Landmark")] = None
"""
OF_NUMBERS = '    tolerance: Annotated[Decimal | None, TaskColumn("Tolerance")] = None\n'


@pytest.mark.slow
def test_a_new_field_goes_all_the_way(tmp_path):
    """The field goes from the API, a table and the wizard into the manifest and back, in a copy with one changed
    file.
    """
    copy = tmp_path / "source" / "sottovoce"
    shutil.copytree(Path(sottovoce.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    model = copy / "protocol" / "format_2.py"
    shared, of_numbers = "    def texts(self)", '    kind: Literal["number"] = "number"\n'
    code = model.read_text()
    assert code.count(shared) == code.count(of_numbers) == 1
    model.write_text(code.replace(shared, f"{SHARED}\n{shared}").replace(of_numbers, of_numbers + OF_NUMBERS))
    searched = os.pathsep.join([str(copy.parent), str(HERE.parent)])
    ran = subprocess.run(
        [sys.executable, HERE / "new_fields.py", tmp_path],
        env={**os.environ, "PYTHONPATH": searched, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == [second().sha256]
