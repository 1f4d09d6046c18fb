"""What one change should cost: a noise law is known in its own file only, and a task has one list of fields."""

import ast
import re
from pathlib import Path

import pytest

import sottovoce
from sottovoce.privacy.laws import LAWS

SOURCE = Path(sottovoce.__file__).parent
CLASSES = {law.__name__ for law in LAWS.values()} | {"DrawnVariance"}


PAGE = SOURCE / "device" / "page"
CONSOLE = SOURCE / "server" / "console"


def questions(tree):
    """Lines that check which law a law is, by its class or by its name."""
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


@pytest.mark.slow
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


def test_nobody_else_lists_the_fields_of_a_task():
    """Importers, exporters, the interface and the form ask the model: `test_a_new_field` sees one go all the way."""
    listed = re.compile(r"[\"']unit[\"'], *[\"']low[\"']")
    assert not [path.name for path in SOURCE.rglob("*.py") if listed.search(path.read_text())]
    form = (CONSOLE / "templates" / "question.html").read_text()
    assert re.findall(r'name="(\w+)-\{\{ n \}\}"', form) == ["id"]
