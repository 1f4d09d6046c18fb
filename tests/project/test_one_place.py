"""What one change should cost: a noise law is known in its own file only, and a task has one list of fields."""

import ast
import re
from pathlib import Path

import pytest

import sottovoce
from sottovoce.privacy.laws import LAWS
from sottovoce.protocol.format_1 import FirstTask
from sottovoce.protocol.format_2 import SecondChoiceTask, SecondNumberTask
from sottovoce.protocol.task_table import COLUMNS, read_tasks, write_tasks
from sottovoce.server.campaigns import TaskDraft
from sottovoce.server.routes.campaigns import TaskEntry

SOURCE = Path(sottovoce.__file__).parent
CLASSES = {law.__name__ for law in LAWS.values()} | {"DrawnVariance"}


PAGE = SOURCE / "device" / "page"
CONSOLE = SOURCE / "server" / "console"


def questions(tree):
    """Lines that ask which law a law is: by its class or by its name."""
    for node in ast.walk(tree):
        parts = []
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            parts = node.args[1:]
        elif isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchClass):
            parts = [node.cls]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        for part in parts:
            for inner in ast.walk(part):
                asked = {getattr(inner, "id", None), getattr(inner, "attr", None)} & CLASSES
                if asked or (isinstance(inner, ast.Constant) and inner.value in LAWS):
                    yield node.lineno


def test_nobody_outside_a_law_asks_which_law_it_is():
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        if SOURCE / "privacy" / "laws" not in path.parents
        for line in questions(ast.parse(path.read_text()))
    ]
    assert not found


@pytest.mark.parametrize(
    "code",
    [
        "isinstance(law, FreshVariance)",
        "isinstance(law, SharedVariance | sv.Gaussian)",
        "kind is FreshVariance",
        "type(law) in (FreshVariance, Gaussian)",
        "law.name == 'shared'",
        "name in ('fresh', 'gaussian')",
        "match law:\n    case Gaussian(): pass",
    ],
)
def test_such_a_question_would_be_found(code):
    assert list(questions(ast.parse(code)))


@pytest.mark.parametrize("folder", [PAGE, CONSOLE / "static"], ids=lambda folder: folder.name)
def test_no_script_outside_a_law_names_one(folder):
    """Neither as a text to compare with, nor as a key."""
    named = re.compile(rf"[\"'`/(|](?:{'|'.join(LAWS)})\b|\b(?:{'|'.join(LAWS)})\"?:(?!//)")
    scripts = [path for path in folder.glob("*.js") if not path.name.startswith("law")]
    assert scripts
    assert not [path.name for path in scripts if named.search(path.read_text())]
    assert named.search('if (name === "fresh")')
    assert named.search("/^(shared|floored):/")


def test_the_page_knows_the_laws_in_the_order_of_the_registry():
    imported = re.search(r"new Map\(\[(.*?)\]", (PAGE / "laws.js").read_text())[1].lower().split(", ")
    assert imported == list(LAWS)
    assert {path.name for path in PAGE.glob("law-*.js")} == {f"law-{name}.js" for name in LAWS}


def test_a_field_of_a_task_is_in_the_model_and_the_form_and_everything_else_follows():
    """Importers and exporters ask the model; the form and the interface are held to it."""
    fields = {*FirstTask.model_fields}
    written = {"id": "hall", "title": "Hall", "unit": "m", "low": "0", "high": "9", "grid": "0.1", "quota": 5}
    assert {*written} == {*fields, "quota"}
    table = write_tasks([written])
    assert read_tasks("tasks.csv", table).tasks == [written]
    models = (FirstTask, SecondNumberTask, SecondChoiceTask)
    named = {name for model in models for name in model.model_fields} | {"quota"}
    assert {*TaskDraft.model_fields} == {*TaskEntry.model_fields} == named
    form = (CONSOLE / "templates" / "question.html").read_text()
    assert {*re.findall(r'name="(\w+)-\{\{ n \}\}"', form)} == {*COLUMNS}
    listed = re.compile(r"[\"']unit[\"'], *[\"']low[\"']")  # nobody else writes the list down
    assert not [path.name for path in SOURCE.rglob("*.py") if listed.search(path.read_text())]
