"""The page and the installed client agree on manifests of the second format: what is refused, promised and sent."""

import json
import random
from base64 import b64encode

import pytest

from byte_streams import seeded_stream
from page_modules import sent
from protocol_cases import WHOLE, WRONG
from questions import BIRD, PATH, WIDTH, only, second
from sottovoce.device.release import drawn_order, noisy_readings
from sottovoce.protocol import Manifest, Problem, promise_of
from sottovoce.protocol.format_2 import TASK_FIELDS, TASK_MODELS


def read_by_python(data):
    try:
        return Manifest.parse(data).bytes().decode()
    except Problem:
        return "bad_manifest"


def canonical(document):
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def test_both_refuse_the_same_manifests(ask):
    documents = []
    for change, _ in WRONG.values():
        tasks = [{"help": "", **task, **({"instrument": "typed"} if "low" in task else {})} for task in
                 json.loads(json.dumps(change.get("tasks", [PATH, BIRD, WIDTH])))]  # fmt: skip
        numbers = [{**task, **{name: str(task[name]) for name in ("low", "high", "grid", "distance") if name in task}}
                   for task in tasks]  # fmt: skip
        documents.append(canonical({**json.loads(second().bytes()), **change, "tasks": numbers}))
    assert {read_by_python(data) for data in documents} == {"bad_manifest"}
    assert set(ask("parsed", [b64encode(data).decode() for data in documents])) == {"bad_manifest"}


def test_both_accept_the_same_manifests(ask):
    wanted = [second(**change) for change in WHOLE.values()]
    assert ask("parsed", [sent(one) for one in wanted]) == [one.bytes().decode() for one in wanted]


def test_a_task_has_the_same_fields_on_the_page(ask):
    """Tasks of each kind have the same fields, the same of them are optional, and the same are texts in a language."""
    for kind, listed in zip(TASK_MODELS, ask("task_fields", [*TASK_MODELS]), strict=True):
        fields = [field for field in TASK_FIELDS.values() if kind in field.kinds]
        optional = {field.name for field in fields if field.default is None}
        assert sorted(listed) == sorted(field.name + "?" * (field.name in optional) for field in fields)
        texts = {"en": "word", "de": "Wort"}
        task = {field.name: [texts] if field.shape == "list" else texts for field in fields}
        read = {field.name: ["Wort"] if field.shape == "list" else "Wort" for field in fields if field.is_text}
        (spoken,) = ask("spoken", [task])
        assert spoken == task | read


MORE = ["levels", "distance", "choices", "place", "quota", "plan", "retention", "answer"]
ODD = [None, True, 0, -1, 1, 2, 100, 10**6, "", "x", "1", "0.1", "en", "choice", "number", "response:1.0",
       "fresh:0.5", [], {}, ["yes"], ["yes", "no"], ["Yes", "yes "], {"en": "a"}, {"en": "a", "de": "b"},
       {"number": "fresh:0.5"},
       {"choice": "response:1.0", "number": "fresh:0.5"}, [[0, 0]], [[0, 0], [1]], "response:1.0:3", "response:1.0:2",
       {"sha256": "ab" * 32, "type": "image/png"}, "ab" * 32, "İ", "ﬁ", "ß"]  # fmt: skip


def test_hostile_documents_are_judged_alike(ask):
    """Fields of good manifests replaced, removed and added at random; both must accept and refuse the same."""
    draw = random.Random(2)
    seeds = [json.loads(second(**change).bytes()) for change in WHOLE.values() if len(change.get("tasks", ())) < 5]
    documents = []
    for _ in range(1500):
        document = json.loads(json.dumps(draw.choice(seeds)))
        for _ in range(draw.choice([1, 1, 1, 2])):
            entry = draw.choice([document, *document["tasks"]]) if isinstance(document["tasks"], list) else document
            name = draw.choice(
                [*entry, "levels", "distance", "choices", "place", "quota", "plan", "retention", "answer"]
            )
            if draw.random() < 0.25 and len(entry) > 1 and name != "tasks":
                entry.pop(name, None)
            else:
                entry[name] = draw.choice(ODD)
            if not isinstance(document.get("tasks"), list) or not all(
                isinstance(one, dict) for one in document["tasks"]
            ):
                break
        documents.append(canonical(document))
    expected = [read_by_python(data) for data in documents]
    answers = ask("parsed", [b64encode(data).decode() for data in documents])
    wrong = [
        (data.decode(), one[:20]) for data, one, other in zip(documents, expected, answers, strict=True) if one != other
    ]
    assert wrong == []
    assert 50 < sum(one != "bad_manifest" for one in expected) < 1000


def test_same_bytes_give_the_same_report(ask):
    asked = second()
    readings = {"path": "no", "bird": "Robin", "width": "3.21"}
    numbers = {"path": 1, "bird": 1, "width": "3.21"}
    seeds = [f"mixed {place}" for place in range(20)]
    answers = ask("noisy", [{"manifest": sent(asked), "readings": numbers, "seed": seed} for seed in seeds])
    assert answers == [noisy_readings(asked, readings, seeded_stream(seed)) for seed in seeds]
    assert len({json.dumps(answer) for answer in answers}) > 5
    sets = only(BIRD, noise="response:0.5:2")
    answers = ask("noisy", [{"manifest": sent(sets), "readings": {"bird": 3}, "seed": seed} for seed in seeds])
    assert answers == [noisy_readings(sets, {"bird": "tit"}, seeded_stream(seed)) for seed in seeds]


def test_tasks_are_drawn_in_the_same_order(ask):
    asked = second(tasks=[PATH | {"id": f"q{n}"} for n in range(30)], noise="response:1", readings=30, answer=3)
    seeds = [f"order {place}" for place in range(10)]
    orders = ask("order", [{"count": 30, "seed": seed} for seed in seeds])
    assert orders == [drawn_order(asked, seeded_stream(seed)) for seed in seeds]
    assert all(sorted(order) == list(range(30)) for order in orders)


@pytest.mark.parametrize("unit", ["reading", "participant"])
def test_promises_are_the_same(ask, unit):
    """Pure laws to the last digits; with exceptions both are upper bounds, computed separately."""
    laws = [("fresh:0.5", "response:1"), ("fresh:7", "response:0.1"), ("gaussian:5", "response:1")]
    cases = [
        second(unit=unit, noise={"number": one, "choice": other}, answer=m) for one, other in laws for m in (1, 2, 3)
    ]
    cases += [only(PATH, BIRD, unit=unit, readings=2), only(BIRD, unit=unit, noise="response:2:2", readings=1)]
    answers = ask("promise", [{"manifest": sent(one), "delta": 1e-5} for one in cases])
    for one, answer in zip(cases, answers, strict=True):
        promise = promise_of(one)
        assert float(answer) == pytest.approx(promise.epsilon, rel=1e-2 if promise.delta else 1e-12), one.noise
    checked = [
        {"manifest": sent(one), "epsilon": promise_of(one).epsilon, "delta": promise_of(one).delta} for one in cases
    ]
    assert set(ask("checked", checked)) == {"possible"}
    doubted = [{**one, "epsilon": one["epsilon"] / 4} for one in checked]
    assert set(ask("checked", doubted)) == {"promise_in_doubt"}
