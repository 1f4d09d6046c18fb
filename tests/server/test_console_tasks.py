"""The wizard's first step: tables are shown before they are saved, and all mistakes come at once, each at its field."""

import html
import io
import re

import openpyxl
import pytest

from console_client import Console

pytestmark = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)
ABOUT = {"title": "How long?", "asked_by": "Facility"}
TABLE = (
    "Task;Unit;Lowest;Highest;Step;Choices;Quota;Known\nMain hall;m;0;2,5;0,1;;40;1,2\nBird?;;;;;finch|robin;;robin\n"
)


def upload(console, path, name, content, **fields):
    fields = {"form_token": console.form_token(), **ABOUT, **fields}
    return console.request("POST", path, data=fields, files={"file": (name, content)})


def mistakes_of(page):
    """Where the summary points, with its words."""
    summary = re.search(r'role="alert".*?</div>', page, re.DOTALL)[0]
    return {target: html.unescape(words) for target, words in re.findall(r'href="#([^"]+)">(.*?)</a>', summary)}


def test_all_mistakes_come_at_once_each_at_its_field(server, console):
    fields = {
        **ABOUT, "title": "", "deadline": "tomorrow",
        "title-0": "Main hall", "low-0": "5", "high-0": "1", "grid-0": "0,1", "quota-0": "few",
        "title-1": "Bird", "choices-1": "finch", "instrument-1": "typed",
        "low-2": "0", "high-2": "many", "grid-2": "1",
    }  # fmt: skip
    answer = console.post("/campaigns/new", **fields)
    assert answer.status_code == 422
    found = mistakes_of(answer.text)
    assert list(found) == ["title", "deadline", "high-0", "quota-0", "choices-1", "title-2", "high-2"]
    assert found["high-0"] == (
        "Task 1, “Main hall”, highest value: '1': it must be above the lowest value, 5; correct it."
    )
    for field in found:
        assert re.search(rf'<(input|textarea) id="{field}"[^>]*aria-invalid="true" aria-describedby="wrong-{field}',
                         answer.text), field  # fmt: skip
        assert f'<p class="wrong-field" id="wrong-{field}">' in answer.text
    assert 'id="low-0" name="low-0" inputmode="decimal" value="5"' in answer.text
    assert server.rows("campaigns") == 0


def test_a_table_is_shown_before_it_is_saved(server, console):
    shown = console.post("/campaigns/new", **ABOUT, table=TABLE)
    assert shown.status_code == 200
    page = html.unescape(shown.text)
    assert "2 tasks read from the table, not saved yet" in page
    assert "<td>0 to 2.5 m, in steps of 0.1</td><td>40</td><td>1.2</td>" in page
    assert "<td>finch | robin</td><td></td><td>robin</td>" in page
    assert server.rows("campaigns") == 0
    table = Console.shown_table(shown.text)
    changed = console.post("/campaigns/new", **ABOUT, **table | {"table": table["table"].replace("2.5", "9.5")})
    assert "0 to 9.5 m" in changed.text  # another table, so it is shown again
    assert server.rows("campaigns") == 0
    saved = console.post("/campaigns/new", **ABOUT, **table)
    assert saved.status_code == 303
    made = server.status(saved.headers["location"].split("/")[2])
    assert [(task["id"], task["quota"]) for task in made["tasks"]] == [("main-hall", 40), ("bird", None)]
    assert made["known"] == {"main-hall": "1.2", "bird": "robin"}


@pytest.mark.parametrize("kind", ["xlsx", "csv"])
def test_a_file_is_shown_and_then_saved(server, console, kind):
    content = TABLE.encode("windows-1252")
    if kind == "xlsx":
        book, packed = openpyxl.Workbook(), io.BytesIO()
        for line in TABLE.splitlines():
            book.active.append([cell or None for cell in line.split(";")])
        book.save(packed)
        content = packed.getvalue()
    shown = upload(console, "/campaigns/new", f"halls.{kind}", content, title="", read="yes")
    assert shown.status_code == 200, shown.text
    assert f"2 tasks read from halls.{kind}, not saved yet" in shown.text
    saved = console.post("/campaigns/new", **ABOUT, **Console.shown_table(shown.text))
    made = server.status(saved.headers["location"].split("/")[2])
    assert [task["title"] for task in made["tasks"]] == ["Main hall", "Bird?"]
    assert made["known"] == {"main-hall": "1.2", "bird": "robin"}


def test_mistakes_in_a_file_are_shown_at_their_cells(server, console):
    bad = TABLE.replace("2,5", "wide").replace("finch|robin", "finch")
    answer = upload(console, "/campaigns/new", "halls.csv", bad.encode())
    assert answer.status_code == 422
    found = mistakes_of(answer.text)
    assert found == {
        "cell-high-0": "Line 2, “Main hall”, Highest: 'wide': it must be a decimal number; correct it.",
        "cell-choices-1": "Line 3, “Bird?”, Choices: 'finch': a question has 2 to 100 choices; separate them with |.",
    }
    for target in found:
        assert f'<td id="{target}" class="bad" tabindex="-1">' in answer.text
    assert server.rows("campaigns") == 0


def test_a_draft_keeps_ids_texts_and_truths_when_its_table_comes_again(server, console):
    tasks = [
        {"id": "h-17", "title": {"en": "Main hall", "de": "Halle"}, "unit": "m", "low": 0, "high": 5, "grid": 0.1,
         "help": "Walk it.", "distance": 1},
        {"id": "gone", "title": "Gone", "low": 0, "high": 5, "grid": 0.1, "distance": 1},
    ]  # fmt: skip
    campaign = server.create(tasks=tasks, language="en", known={"h-17": 2})
    table = "title,unit,low,high,grid\nNew one,m,0,5,0.1\nMain hall,m,0,6,0.1\n"
    answer = console.save_tasks(f"/campaigns/{campaign}/tasks", **ABOUT, table=table)
    assert answer.status_code == 303, answer.text
    made = server.status(campaign)
    assert [task["id"] for task in made["tasks"]] == ["new-one", "h-17"]
    assert made["tasks"][1]["title"] == {"en": "Main hall", "de": "Halle"}
    assert made["tasks"][1]["help"] == "Walk it."
    assert made["known"] == {"h-17": "2"}
    cleared = console.save_tasks(
        f"/campaigns/{campaign}/tasks", **ABOUT, table=table.replace("grid", "grid,known").replace("0.1\n", "0.1,\n")
    )
    assert cleared.status_code == 303
    assert server.status(campaign)["known"] == {}


@pytest.mark.parametrize("texts", ["Main hall", {"en": "Main hall", "de": "Halle"}], ids=["first", "second"])
def test_a_table_without_quotas_leaves_them_in_both_formats(server, console, texts):
    task = {"id": "h-17", "title": texts, "unit": "m", "low": 0, "high": 5, "grid": 0.1, "quota": 40}
    campaign = server.create(tasks=[task])
    address = f"/campaigns/{campaign}/tasks"
    for table, quota in (
        ("title,low,high,grid\nMain hall,0,6,0.1\n", 40),
        ("id,low,high,grid,quota\nh-17,0,6,1,\n", None),
    ):
        assert console.save_tasks(address, **ABOUT, table=table).status_code == 303
        (kept,) = server.status(campaign)["tasks"]
        assert (kept["title"], kept["unit"], kept["quota"]) == (texts, "m", quota)


def test_the_help_of_a_task_can_be_typed_translated_cleared_and_put_in_a_table(server, console):
    row = {"title-0": "Main hall", "low-0": "0", "high-0": "5", "grid-0": "0,1", "help-0": "Walk it.\r\nSlowly."}
    campaign = console.create(**row)
    address, said = f"/campaigns/{campaign}/tasks", "Walk it.\nSlowly."
    assert server.status(campaign)["tasks"][0]["help"] == said
    assert re.search(r"<textarea id=\"help-0\"[^>]*>Walk it.\nSlowly.</textarea>", console.get(address).text)
    translated = [{**server.status(campaign)["tasks"][0], "help": {"en": said, "de": "Langsam gehen."}}]
    translated = [{name: entry for name, entry in task.items() if entry is not None} for task in translated]
    changed = server.client.patch(
        f"/api/campaigns/{campaign}", json={"tasks": translated, "language": "en"}, headers=server.operator
    )
    assert changed.status_code == 200, changed.text
    again = {**ABOUT, **row, "id-0": "main-hall"}
    assert console.post(address, **again | {"high-0": "6"}).status_code == 303
    assert server.status(campaign)["tasks"][0]["help"] == {"en": said, "de": "Langsam gehen."}
    assert console.post(address, **again | {"help-0": ""}).status_code == 303
    assert not server.status(campaign)["tasks"][0].get("help")
    table = "title,low,high,grid,help\nMain hall,0,5,0.1,Run.\n"
    shown = console.post(address, **ABOUT, table=table)
    assert "<td>Run.</td>" in shown.text
    assert console.post(address, **ABOUT, **Console.shown_table(shown.text)).status_code == 303
    assert server.status(campaign)["tasks"][0]["help"] == "Run."
    assert console.save_tasks(address, **ABOUT, table=table.replace("Run.", "")).status_code == 303
    assert not server.status(campaign)["tasks"][0].get("help")


@pytest.mark.slow
def test_many_tasks_go_and_come_back(server, console):
    rows = "".join(f"Hall {n};0;100;0,5;{n}\n" for n in range(2000))
    campaign = console.create(table=f"title;low;high;grid;quota\n{rows}".replace(";0\n", ";\n"))
    page = console.get(f"/campaigns/{campaign}/tasks").text
    again = console.post(f"/campaigns/{campaign}/tasks", **ABOUT, **Console.shown_table(page))
    assert again.status_code == 303  # it was shown as it is
    assert len(server.status(campaign)["tasks"]) == 2000


@pytest.mark.parametrize("content", [b"PK\3\4broken", b"\xd0\xcf\x11\xe0", b"\0\1\2", b"", b"\xff\xfe", b"a,b\n1,2"])
def test_a_file_that_is_not_a_table_is_refused_at_its_field(server, console, content):
    answer = upload(console, "/campaigns/new", "x.xlsx", content)
    assert answer.status_code == 422
    assert list(mistakes_of(answer.text)) in (["table"], ["title-0"])
    assert server.rows("campaigns") == 0
