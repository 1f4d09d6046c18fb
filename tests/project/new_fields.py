"""Three fields that no other file knows, followed all the way: run with a copy of the package whose tasks have them."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from console_client import Console
from questions import second
from server_under_test import local_server
from sottovoce.operators.drafts import read_draft, read_task_file, spoken_task, write_task_file
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.task_rows import BadTasks
from sottovoce.protocol.task_table import changed_tasks, overview, read_tasks

NEW = {
    "hall": {"floor": 3, "landmark": {"en": "the old clock", "de": "die alte Uhr"}, "tolerance": "0.25"},
    "bird": {"floor": 0, "landmark": "the pond"},
}
TASKS = [
    {"id": "hall", "title": "How long?", "unit": "m", "low": 0, "high": 9, "grid": "0.1", **NEW["hall"]},
    {"id": "bird", "title": "Which bird?", "choices": ["finch", "robin"], **NEW["bird"]},
]
IN_ENGLISH = {**NEW, "hall": NEW["hall"] | {"landmark": "the old clock"}}
ABOUT = {"title": "T", "noise": {"number": "fresh:0.5", "choice": "response:1"}, "distance": 1, "language": "en"}


class Fields(HTMLParser):
    """What a browser would send of a page's largest form."""

    def __init__(self, page):
        super().__init__()
        self.sent, self._name = {}, None
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        entry = dict(attributes)
        if tag == "textarea":
            self._name = entry["name"]
            self.sent[self._name] = ""
        elif tag == "select":
            self._choosing = entry["name"]
        elif tag == "option" and ("selected" in entry or self._choosing not in self.sent):
            self.sent[self._choosing] = entry.get("value", "")
        elif tag == "input" and "name" in entry and (entry.get("type") != "radio" or "checked" in entry):
            self.sent[entry["name"]] = entry.get("value", "")

    def handle_data(self, words):
        if self._name:
            self.sent[self._name] += words

    def handle_endtag(self, tag):
        if tag == "textarea":
            self._name = None


def new_fields(tasks):
    return {task["id"]: {name: task[name] for name in NEW[task["id"]] if name in task} for task in tasks}


def through_the_interface(server):
    campaign = server.create(**ABOUT, tasks=TASKS)
    assert new_fields(server.status(campaign)["tasks"]) == NEW
    wrong = [{**TASKS[0], "floor": 201}, {**TASKS[0], "tolerance": "wide"}, {**TASKS[1], "tolerance": "1"}]
    for task in wrong:
        answer = server.client.patch(f"/api/campaigns/{campaign}", json={"tasks": [task]}, headers=server.operator)
        assert answer.status_code == 422, answer.text
    schemas = server.client.get("/api/openapi.json").json()["components"]["schemas"]
    for name in ("TaskDraft", "TaskEntry", "SecondNumberTask"):
        assert {*NEW["hall"]} <= {*schemas[name]["properties"]}, name
    assert {*NEW["hall"]} & {*schemas["SecondChoiceTask"]["properties"]} == {*NEW["bird"]}
    texts = server.client.get(f"/api/campaigns/{campaign}/texts", headers=server.operator).json()["texts"]
    assert {one["text"]: one["translations"] for one in texts}["the old clock"] == {"de": "die alte Uhr"}
    return campaign


def through_a_table(server, campaign, folder):
    path, entry = folder / "tasks.csv", server.status(campaign)
    write_task_file(entry, path)
    draft, _ = read_draft(path)
    assert new_fields(draft["tasks"]) == IN_ENGLISH
    imported = server.create(**ABOUT, **draft)
    assert new_fields(server.status(imported)["tasks"]) == IN_ENGLISH
    again = changed_tasks(entry, read_task_file(path))
    assert new_fields(again["tasks"]) == NEW
    path.write_text("id,title,low,high,grid,choices\nhall,How long?,0,9,0.1,\nbird,Which bird?,,,,finch|robin\n")
    without = changed_tasks(entry, read_task_file(path))
    assert new_fields(without["tasks"]) == NEW
    columns, rows = overview([spoken_task(task, "en") for task in entry["tasks"]], {})
    assert (columns["floor"], [row["floor"] for row in rows]) == ("storey", ["3", "0"])
    with pytest.raises(BadTasks) as refusal:
        read_tasks("t.csv", "title,low,high,grid,choices,Level,tolerance\nA,0,9,1,,high,\nB,,,,x|y,,1\nC,0,9,1,,,?\n")
    assert str(refusal.value).splitlines() == [
        "t.csv, line 2, “A”, Level: 'high': it must be a whole number from 0 to 200; correct it",
        "t.csv, line 3, “B”, tolerance: '1': a question with choices has no tolerance; leave it empty",
        "t.csv, line 4, “C”, tolerance: '?': it must be a decimal number; correct it",
    ]


def through_the_wizard(server, campaign):
    console = Console(server)
    address = f"/campaigns/{campaign}/tasks"
    page = console.get(address).text
    assert re.search(r'<input id="floor-0" name="floor-0" inputmode="numeric" value="3" data-repeated', page)
    assert "<code>floor</code> is where it is." in page
    form = Fields(page).sent
    assert console.post(address, **form).status_code == 303
    assert new_fields(server.status(campaign)["tasks"]) == NEW
    refused = console.post(address, **form | {"floor-0": "201"})
    assert '<p class="wrong-field" id="wrong-floor-0">' in refused.text
    assert console.post(address, **form | {"floor-0": "7", "landmark-1": ""}).status_code == 303
    changed = new_fields(server.status(campaign)["tasks"])
    assert changed == {"hall": NEW["hall"] | {"floor": 7}, "bird": {"floor": 0, "landmark": ""}}
    assert console.post(address, **form).status_code == 303


def into_the_manifest(server, campaign):
    copy = server.client.post(f"/api/campaigns/{campaign}/duplicate", headers=server.operator).json()["id"]
    assert new_fields(server.status(copy)["tasks"]) == NEW
    server.open(copy)
    content = server.client.get(f"/api/campaigns/{copy}/manifest").content
    assert new_fields(json.loads(content)["tasks"]) == NEW
    assert Manifest.parse(content).bytes() == content


def main(folder):
    print(second().sha256)  # of a campaign that has none of these fields: its bytes are the same as ever
    with local_server(folder) as server:
        campaign = through_the_interface(server)
        through_a_table(server, campaign, folder)
        through_the_wizard(server, campaign)
        into_the_manifest(server, campaign)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
