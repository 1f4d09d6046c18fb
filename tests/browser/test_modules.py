"""The page's modules outside a browser, checked against the test vectors, the Python device and the audit."""

import csv
import json
import math
import random
from base64 import b64encode
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest

from byte_streams import seeded_stream
from command import run
from page_modules import sent
from page_promises import random_answers
from sottovoce.device.release import noisy_readings
from sottovoce.device.sanity import check_promise
from sottovoce.errors import BadParameter
from sottovoce.privacy.comparing import check_cuts
from sottovoce.privacy.laws import LAWS, parse_answer_law, parse_law
from sottovoce.protocol import Manifest, Problem, promise_of

VECTORS = json.loads((files("sottovoce.privacy") / "vectors.json").read_text())
PAGE = Path(str(files("sottovoce"))) / "device" / "page"


def manifest(**changes):
    task = {"title": "Hallway", "unit": "m", "low": "-2.5", "high": "100", "grid": "0.1"}
    parts = {
        "campaign": "hallways", "title": "How long?", "asked_by": "Facility management", "purpose": "Signs.\nMaps.",
        "tasks": [{**task, "id": name} for name in ("b", "a", "ü", "B", "10")],
        "noise": "fresh:0.5", "distance": "1", "readings": 5,
    }  # fmt: skip
    return Manifest.of({**parts, **changes})


def spelled(output):
    """Integers as text: some are too large for a JavaScript number."""
    if isinstance(output, list):
        return list(map(spelled, output))
    return output if isinstance(output, bool) else str(output)


def test_primitives_reproduce_the_vectors(ask):
    vectors = VECTORS["primitives"]
    for vector, answer in zip(vectors, ask("primitive", vectors), strict=True):
        assert list(map(spelled, answer["outputs"])) == list(map(spelled, vector["outputs"])), vector["seed"]
        assert answer["bytes_used"] == vector["bytes_used"], vector["seed"]


def test_samplers_reproduce_the_vectors(ask):
    vectors = VECTORS["samplers"]
    for vector, answer in zip(vectors, ask("sampler", vectors), strict=True):
        for name in ("steps", "outputs"):
            assert answer[name] == list(map(spelled, vector[name])), vector["name"]
        assert answer["bytes_used"] == vector["bytes_used"], vector["name"]


def test_comparisons_reproduce_the_vectors(ask):
    vectors = VECTORS["comparisons"]
    for vector, answer in zip(vectors, ask("comparisons", vectors), strict=True):
        assert answer == {name: vector[name] for name in ("outputs", "bytes_used")}, vector["name"]


def test_cuts_are_refused_as_in_python(ask):
    cases = [
        ([249], 2), ([-1, 1, 3], 4), ([1, 9, 9007199254740991], 4), ([], 2), ([1, 3], 2), ([2], 2), ([1.5], 2),
        (["1"], 2), ([True], 2), ([None], 2), ([9007199254740993], 2), ([[1]], 2), ([1, 1, 3], 4), ([3, 1, 5], 4),
        ([1, 2, 3], 4),
    ]  # fmt: skip

    def accepted(cuts, levels):
        try:
            return bool(check_cuts(cuts, levels))
        except BadParameter:
            return False

    assert ask("are_cuts", cases) == [accepted(*case) for case in cases]


def test_answers_reproduce_the_vectors(ask):
    vectors = VECTORS["answers"]
    for vector, answer in zip(vectors, ask("answers", vectors), strict=True):
        assert answer == {name: vector[name] for name in ("outputs", "bytes_used")}, vector["name"]


def test_figures_for_answers_agree_with_the_installed_client(ask):
    """The exact ε to the last bit where it is one product; where it is a logarithm, slightly above."""
    cases = [
        {"law": law, "cells": cells, "readings": readings, "moved": moved, "delta": delta}
        for law, cells in [
            ("response:1.0", 2), ("response:0.3", 4), ("response:4.0", 100), ("response:1.0:3", 10),
            ("response:1e-300", 7), ("response:1e+300", 7), ("twolayer:uniform", 2), ("twolayer:beta:1.0:3.0", 2),
            ("twolayer:beta:2.5:0.5", 2), ("twolayer:beta:3.0:1e-10", 2), ("twolayer:beta:1e-10:3.0", 2),
            ("twolayer:beta:1e+15:1e+15", 2), ("twolayer:beta:1e-300:1e-300", 2), ("twolayer:beta:1e+300:1e+300", 2),
            ("twolayer:beta:1.7e+308:1.7e+308", 2), ("twolayer:beta:1e-300:1e+300", 2), ("response:5e-324", 2),
            ("response:1.7e+308:99", 100),
        ]
        for readings in (1, 2, 30, 3000)
        for moved in {1, readings}
        for delta in (0.0, 1e-5)
    ]  # fmt: skip
    for case, answer in zip(cases, ask("answer_law", cases), strict=True):
        law = parse_answer_law(case["law"])
        channel = law.channel(case["cells"])
        unit = "reading" if case["moved"] == 1 else "participant"
        hit, miss, pure, least, truth = map(float, answer)
        exact = law.guarantee(case["cells"], case["readings"], unit).pure_epsilon
        assert [hit, miss] == pytest.approx([channel.hit, channel.miss], rel=1e-14), case
        assert exact == pure if law.is_pure else exact <= pure <= exact * (1 + 1e-8) + 2e-11, case
        expected = law.least_epsilon(case["cells"], case["readings"], case["moved"], case["delta"])
        assert least == pytest.approx(expected, rel=1e-12, abs=1e-12), case
        assert truth == pytest.approx(law.chance_of_truth(case["cells"]), rel=1e-14), case


def test_promises_about_answers_hold_at_the_limits_of_the_second_format(ask):
    """The page searches for its ε in steps of a ten-thousandth, upwards; a device in Python may find a smaller one."""
    draw = random.Random(8)
    drawn = [(random_answers(draw), draw.choice([0.0, 1e-300, 1e-12, 1e-5, 0.3])) for _ in range(60)]
    answers = ask("timed_promise", [{"manifest": sent(manifest), "delta": delta} for manifest, delta in drawn])
    for (manifest, delta), (page, _) in zip(drawn, answers, strict=True):
        promise = promise_of(manifest, delta)
        asked = (manifest.noise, len(manifest.tasks), manifest.unit, delta)
        assert 0 <= promise.epsilon <= float(page) * (1 + 1e-12), asked
        if promise.epsilon < math.inf:
            check_promise(manifest, promise)


def test_laws_of_answers_are_spelled_as_by_the_installed_client(ask):
    texts = [
        "response:1.0", "response:1", "response:1.0:3", "response:1.0:1", "response:1.0:3.0", "response:1.0:03",
        "response:0.0", "response:1e-05", "response:1.0:65535", "response:1.0:3:4", "response", "response:",
        "twolayer:uniform", "twolayer", "twolayer:beta:1.0:3.0", "twolayer:beta:1.0", "twolayer:uniform:1.0",
        "twolayer:beta:1:3", "twolayer:beta:0.0:3.0",
    ]  # fmt: skip

    def is_canonical(text):
        try:
            return str(parse_law(text)) == text
        except BadParameter:
            return False

    assert ask("is_law", texts) == list(map(is_canonical, texts))


NOISES = ["fresh:0.5", "fresh:0.003", "gaussian:3.7", "shared:0.5", "floored:10.2:0.07"]


@pytest.mark.parametrize("noise", NOISES)
def test_same_bytes_give_the_same_report_as_the_installed_client(ask, noise):
    described = manifest(noise=noise)
    readings = {"b": "12.34", "B": "-7", "a": "1e2", "10": "250.05", "ü": "0.05"}
    seeds = [f"{noise} {place}" for place in range(20)]
    answers = ask("noisy", [{"manifest": sent(described), "readings": readings, "seed": seed} for seed in seeds])
    assert answers == [noisy_readings(described, readings, seeded_stream(seed)) for seed in seeds]


def test_laws_are_described_as_by_the_installed_client(ask):
    assert ask("words", [law.example for law in LAWS.values()]) == [law.words for law in LAWS.values()]


def test_tasks_with_different_grids_get_noise_grid_by_grid(ask):
    tasks = [
        {"id": f"t{place}", "title": "", "unit": "", "low": "0", "high": "100", "grid": grid}
        for place, grid in enumerate(["0.5", "0.1", "10", "0.1", "0.25"])
    ]
    described = manifest(tasks=tasks)
    readings = {f"t{place}": "33.3" for place in (4, 1, 0, 3, 2)}
    (answer,) = ask("noisy", [{"manifest": sent(described), "readings": readings, "seed": "grids"}])
    assert answer == noisy_readings(described, readings, seeded_stream("grids"))


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["fresh:0.5", "gaussian:1.0", "floored:0.5:1.0", "shared:0.5"])
def test_draws_of_the_page_pass_the_audit(ask, noise, tmp_path):
    """As `sottovoce audit --input` sees them: two inputs one distance apart. It fails a correct sampler less often than
    once in ten thousand audits; here the bytes are the system's own.
    """
    samples = 4000
    # Readings lie outside the range, which spans the two inputs: a page that does not clip fails.
    sides = {"low": "0", "high": "1", "readings": [["-1", "-1"], ["2", "-1"]]}
    (draws,) = ask("draws", [{"noise": noise, "grid": "0.1", "samples": 2 * samples, **sides}])
    path = tmp_path / "draws.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["side", "release", "reading", "value"])
        for place, (first, second) in enumerate(draws):
            side = place % 2
            table.writerows([[side, place // 2, 0, first], [side, place // 2, 1, second]])
    outcome = run("audit", "--noise", noise, "--input", str(path), "--grid", "0.1", "--json")
    assert outcome.returncode == 0, outcome.stdout


def spoilt(**changes):
    document = json.loads(manifest().bytes())
    document.update(changes)
    return json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def spoilt_task(**changes):
    return spoilt(tasks=[{**json.loads(manifest().bytes())["tasks"][0], **changes}])


good = manifest().bytes()
REFUSED = {
    "a space": good.replace(b",", b", ", 1),
    "a byte order mark": b"\xef\xbb\xbf" + good,
    "a key twice": good.replace(b'"version":1', b'"version":1,"version":1'),
    "keys out of order": good[:-1].replace(b'"version":1', b"").rstrip(b",") + b',"a":1}',
    "a needless escape": good.replace(b"How long?", b"How long\\u003f"),
    "half a character": spoilt(title="x").replace(b'"title":"x"', b'"title":"\\ud800"'),
    "no UTF-8": good.replace(b"How long?", b"\xff"),
    "a fraction": spoilt(version=1.5),
    "an exponent": good.replace(b'"version":1', b'"version":1e0'),
    "minus zero": good.replace(b'"version":1', b'"version":-0'),
    "a large number": spoilt(version=2**60),
    "another format": spoilt(format="sottovoce-manifest/2"),
    "another field": spoilt(more=1),
    "no field": spoilt(tasks=[]),
    "no title": spoilt(title=""),
    "text that turns round": spoilt(title="m\u202e"),
    "no document": b"[]",
    "nothing": b"",
    "a deep one": spoilt(tasks=[[[[[[[[[[]]]]]]]]]]),
    "a strange law": spoilt(noise="fresh:-1"),
    "no law": spoilt(noise="none:1"),
    "a law without end": spoilt(noise="fresh:1e+999"),
    "too few numbers": spoilt(noise="floored:1.0"),
    "too many numbers": spoilt(noise="fresh:1.0:1.0"),
    "no distance": spoilt(distance="0"),
    "another unit": spoilt(unit="household"),
    "no readings": spoilt(readings=0),
    "a strange deadline": spoilt(deadline="soon"),
    "a campaign with a slash": spoilt(campaign="a/b"),
    "a task twice": spoilt(tasks=2 * json.loads(good)["tasks"][:1]),
    "a range upside down": spoilt_task(low="5", high="1"),
    "no grid": spoilt_task(grid="0"),
    "a grid wider than the range": spoilt_task(grid="1000"),
    "a decimal spelled otherwise": spoilt_task(low="0.50"),
    "a number for a decimal": spoilt_task(low=1),
    "a number for a campaign": spoilt(campaign=5),
    "a list for a campaign": spoilt(campaign=["hallways"]),
    "a number for a purpose": spoilt(purpose=5),
    "a purpose that ends with a line": spoilt(purpose="Signs.\n"),
    "a title of 201 characters": spoilt(title="🎼" * 201),
    "a purpose of 2,001 characters": spoilt(purpose="x" * 2001),
    "a space before a title": spoilt(title=" x"),
    "a space that looks like another": spoilt(title="a\u00a0b"),
    "a character that is none": spoilt(title="a\uffff"),
    "10,001 readings": spoilt(readings=10_001),
    "10,001 tasks": spoilt(tasks=[{**json.loads(good)["tasks"][0], "id": str(n)} for n in range(10_001)]),
    "no version": spoilt(version=0),
    "a text for a version": spoilt(version="1"),
    "true for a version": spoilt(version=True),
    "a version too large": spoilt(version=10**9 + 1),
    "a deadline that is a day": spoilt(deadline="2030-01-31"),
    "a deadline in another zone": spoilt(deadline="2030-01-31T12:00:00+01:00"),
    "a deadline with thousandths": spoilt(deadline="2030-01-31T12:00:00.000Z"),
    "a deadline on a day that there is not": spoilt(deadline="2030-02-30T12:00:00Z"),
    "a deadline at 24 o'clock": spoilt(deadline="2030-01-31T24:00:00Z"),
    "a number for a deadline": spoilt(deadline=2030),
    "a law with a spelling of its own": spoilt(noise="fresh:0.50"),
    "a law without a point": spoilt(noise="fresh:1"),
    "a law with a short exponent": spoilt(noise="gaussian:1e-5"),
    "a law without an exponent": spoilt(noise="fresh:0.00001"),
    "a law with two points": spoilt(noise="fresh:1.2.3"),
    "a law with a space": spoilt(noise="fresh:1.0 "),
    "a list for a law": spoilt(noise=["fresh:1.0"]),
    "noise over 2^50 steps": spoilt(noise="gaussian:112589990684263.0"),
    "noise beyond all bounds": spoilt(noise="gaussian:1e+300"),
    "fresh noise beyond all bounds": spoilt(noise="fresh:1e-300"),
    "floored noise beyond all bounds": spoilt(noise="floored:1e+300:1.0"),
    "over 2^53 steps": spoilt_task(high="900719925474100"),
    "over 2^53 steps below zero": spoilt_task(low="-900719925474100"),
    "16 digits": spoilt_task(high="100.0000000000001"),
    "a distance of 16 digits": spoilt(distance="1.000000000000001"),
    "a task without an id": spoilt_task(id=""),
    "an id of 101 characters": spoilt_task(id="x" * 101),
    "a title of a task of 201 characters": spoilt_task(title="x" * 201),
    "a unit of 41 characters": spoilt_task(unit="x" * 41),
    "two lines in a unit": spoilt_task(unit="a\nb"),
    "a task that is a list": spoilt(tasks=[["a"]]),
    "tasks that are none": spoilt(tasks={}),
    "two grids under one variance": spoilt(
        noise="shared:0.5",
        tasks=[{**task, "grid": grid} for task, grid in zip(json.loads(good)["tasks"], ["0.1", "0.5"], strict=False)],
    ),
}


def test_invalid_manifests_are_refused_as_by_the_installed_client(ask):
    for data in REFUSED.values():
        with pytest.raises(Problem):
            Manifest.parse(data)
    answers = ask("parsed", [b64encode(data).decode() for data in REFUSED.values()])
    assert dict(zip(REFUSED, answers, strict=True)) == dict.fromkeys(REFUSED, "bad_manifest")


def test_laws_are_spelled_as_by_the_installed_client(ask):
    """Doubles of all sizes, and their neighbours in spelling."""
    draw = random.Random(9)
    numbers = [10 ** draw.uniform(-300, 13) for _ in range(120)] + [float(f"1e{power}") for power in range(-8, 14)]
    numbers += [float(f"{draw.randrange(1, 1000)}e{draw.randrange(-9, 11)}") for _ in range(60)]
    texts = (
        [f"{number!r}" for number in numbers] + [f"{number:.17g}" for number in numbers] + [f"{n:g}" for n in numbers]
    )
    documents = [spoilt(noise=f"gaussian:{text}") for text in texts]
    expected = []
    for data in documents:
        try:
            expected.append(Manifest.parse(data).bytes().decode())
        except Problem:
            expected.append("bad_manifest")
    assert len(set(expected)) > 100
    assert ask("parsed", [b64encode(data).decode() for data in documents]) == expected


def test_valid_manifests_are_read(ask):
    widest = {"low": "-900719925474099", "high": "900719925474099", "grid": "0.1"}
    wanted = [
        manifest(),
        manifest(noise="floored:1e-05:3.0", unit="participant", deadline="2030-01-31T12:00:00Z", version=7),
        manifest(title='"Quoted" \\ “und” 🎼', purpose="", noise="gaussian:100000.0"),
        manifest(title="🎼" * 200, purpose="a\n\nb", version=10**9, readings=10_000, deadline="9999-12-31T23:59:59Z"),
        manifest(noise="gaussian:112589990684262.0", distance="999999999999999"),
        manifest(noise="fresh:1e+300", distance="0.000000000000001"),
        manifest(noise="shared:123456789012345.6"),
        manifest(noise="gaussian:1e-323"),
        manifest(tasks=[{"id": "x" * 100, "title": "x" * 200, "unit": "x" * 40, **widest}]),
        manifest(tasks=[{"id": str(n), "low": "0", "high": "1", "grid": "0.1"} for n in range(10_000)]),
    ]
    assert ask("parsed", [sent(one) for one in wanted]) == [one.bytes().decode() for one in wanted]


def test_readings_are_read_as_exact_decimals(ask):
    texts = ["12.3", "-0.5", "+7", ".5", "5.", "1e-05", "1E3", "0", "1e400"]
    answers = ask("number", texts)
    assert [Fraction(int(n), int(d)) for n, d in answers] == [Fraction(text) for text in texts]
    assert ask("number", ["", "1,5", "1e401", "nan", "inf", "0x10", "1_000", "1/3", " 1", "--1"]) == [None] * 10


def test_steps_are_shown_as_exact_decimals(ask):
    pairs = [["123", "0.1"], ["-5", "0.25"], ["0", "0.5"], ["7", "10"], [str(2**60), "0.001"], ["-1", "0.1"]]
    expected = ["12.3", "−1.25", "0.0", "70", "1152921504606846.976", "−0.1"]
    assert ask("shown", pairs) == expected
