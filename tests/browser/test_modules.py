"""The page's modules outside a browser: held to the specification's vectors, to the Python device and to the audit."""

import csv
import json
import math
import random
import shutil
import subprocess
from base64 import b64encode
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import pytest

from byte_streams import seeded_stream
from command import run
from sottovoce.device import Limits
from sottovoce.device.release import noisy_readings
from sottovoce.protocol import Manifest, Problem, promise_of

VECTORS = json.loads((files("sottovoce.privacy") / "vectors.json").read_text())
PAGE = Path(str(files("sottovoce"))) / "device" / "page"


@pytest.fixture(scope="session")
def ask(tmp_path_factory):
    """Ask the page's modules, under Node. They lie in a folder that says what kind of modules they are."""
    node = shutil.which("node")
    assert node, "there is no Node: install it with 'apt-get install nodejs' (make test does, where it may)"
    folder = tmp_path_factory.mktemp("modules")
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    (folder / "package.json").write_text('{"type": "module"}')
    driver = Path(__file__).with_name("modules_driver.mjs")

    def ask(name, asked):
        questions = {"folder": str(folder), "questions": [[name, one] for one in asked]}
        done = subprocess.run([node, driver], input=json.dumps(questions), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ask


def manifest(**changes):
    task = {"title": "Hallway", "unit": "m", "low": "-2.5", "high": "100", "grid": "0.1"}
    parts = {
        "campaign": "hallways", "title": "How long?", "asked_by": "Facility management", "purpose": "Signs.\nMaps.",
        "tasks": [{**task, "id": name} for name in ("b", "a", "ü", "B", "10")],
        "noise": "fresh:0.5", "distance": "1", "readings": 5,
    }  # fmt: skip
    return Manifest.of({**parts, **changes})


def sent(manifest):
    return b64encode(manifest.bytes()).decode()


def spelled(output):
    """Integers as text: some are larger than a number of JavaScript."""
    return output if isinstance(output, bool) else str(output)


def test_primitives_give_the_vectors(ask):
    vectors = VECTORS["primitives"]
    for vector, answer in zip(vectors, ask("primitive", vectors), strict=True):
        assert list(map(spelled, answer["outputs"])) == list(map(spelled, vector["outputs"])), vector["seed"]
        assert answer["bytes_used"] == vector["bytes_used"], vector["seed"]


def test_samplers_give_the_vectors(ask):
    vectors = VECTORS["samplers"]
    for vector, answer in zip(vectors, ask("sampler", vectors), strict=True):
        for name in ("steps", "outputs"):
            assert answer[name] == list(map(spelled, vector[name])), vector["name"]
        assert answer["bytes_used"] == vector["bytes_used"], vector["name"]


NOISES = ["fresh:0.5", "fresh:0.003", "gaussian:3.7", "shared:0.5", "floored:10.2:0.07"]


@pytest.mark.parametrize("noise", NOISES)
def test_same_bytes_give_the_same_report_as_the_installed_client(ask, noise):
    described = manifest(noise=noise)
    readings = {"b": "12.34", "B": "-7", "a": "1e2", "10": "250.05", "ü": "0.05"}
    seeds = [f"{noise} {place}" for place in range(20)]
    answers = ask("noisy", [{"manifest": sent(described), "readings": readings, "seed": seed} for seed in seeds])
    assert answers == [noisy_readings(described, readings, seeded_stream(seed)) for seed in seeds]


def test_tasks_with_grids_of_their_own_are_noised_grid_by_grid(ask):
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
    """As `sottovoce audit --input` sees them: two inputs one distance apart. It fails a right sampler less often than
    once in ten thousand audits; here the bytes are the system's own."""
    samples = 4000
    (draws,) = ask("draws", [{"noise": noise, "grid": "0.1", "readings": 2, "samples": 2 * samples}])
    path = tmp_path / "draws.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["side", "release", "reading", "value"])
        for place, (first, second) in enumerate(draws):
            side = place % 2
            table.writerows([[side, place // 2, 0, first + 10 * side], [side, place // 2, 1, second]])
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
    "two grids under one variance": spoilt(
        noise="shared:0.5",
        tasks=[{**task, "grid": grid} for task, grid in zip(json.loads(good)["tasks"], ["0.1", "0.5"], strict=False)],
    ),
}


def test_manifests_that_are_not_in_order_are_refused_as_by_the_installed_client(ask):
    for data in REFUSED.values():
        with pytest.raises(Problem):
            Manifest.parse(data)
    answers = ask("parsed", [b64encode(data).decode() for data in REFUSED.values()])
    assert dict(zip(REFUSED, answers, strict=True)) == dict.fromkeys(REFUSED, "bad_manifest")


def test_manifests_in_order_are_read(ask):
    wanted = [
        manifest(),
        manifest(noise="floored:1e-05:3.0", unit="participant", deadline="2030-01-31T12:00:00Z", version=7),
        manifest(title='"Quoted" \\ “und” 🎼', purpose="", noise="gaussian:100000.0"),
    ]
    assert ask("parsed", [sent(one) for one in wanted]) == [one.bytes().decode() for one in wanted]


PROMISED = [
    {"noise": "fresh:0.5"},
    {"noise": "fresh:0.5", "unit": "participant"},
    {"noise": "fresh:0.5", "unit": "participant", "readings": 3, "distance": "0.25"},
    {"noise": "gaussian:3.7"},
    {"noise": "gaussian:12.5", "unit": "participant"},
    {"noise": "gaussian:0.3"},
    {"noise": "gaussian:0.05"},
    {"noise": "shared:0.02"},
    {"noise": "shared:0.001", "unit": "participant"},
    {"noise": "floored:10.2:0.07"},
    {"noise": "floored:4.0:0.1", "unit": "participant", "readings": 2},
    {"noise": "floored:0.5:1.0", "distance": "0.3"},
]


@pytest.mark.parametrize("delta", [1e-5, 1e-3])
def test_promises_are_the_exact_ones(ask, delta):
    """The Python figures are sums of their own, with other cuts and corrections. The page's are rounded up by a
    ten-thousandth; below ε = 1/64 it does not look."""
    described = [manifest(**changes) for changes in PROMISED]
    answers = ask("promise", [{"manifest": sent(one), "delta": delta} for one in described])
    for one, answer in zip(described, answers, strict=True):
        exact = promise_of(one, delta, enough=math.inf).epsilon
        assert float(answer) == pytest.approx(max(exact, 1 / 64), rel=1.1e-4), one.noise
        assert float(answer) >= exact * (1 - 1e-7), one.noise


def test_what_takes_long_to_add_up_is_rounded_up_further(ask):
    described = manifest(noise="floored:40.0:0.01", unit="participant")
    (answer,) = ask("promise", [{"manifest": sent(described), "delta": 1e-3}])
    exact = promise_of(described, 1e-3, enough=math.inf).epsilon
    assert exact <= float(answer) <= 2 * exact


def test_what_takes_too_long_to_add_up_is_left_to_the_installed_client(ask):
    heavy = manifest(
        noise="gaussian:100000.0",
        distance="100000",
        tasks=[{"id": "a", "low": "0", "high": "1000000", "grid": "0.001"}],
        readings=1,
    )
    assert ask("promise", [{"manifest": sent(heavy), "delta": 1e-5}]) == ["too_heavy"]


def test_limits_are_those_of_the_installed_client(ask):
    (usual,) = ask("limits", [None])
    assert Limits(**usual) == Limits()


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        ({}, {}),
        ({}, {"epsilon": 1.0}),
        ({}, {"epsilon": 0.99}),
        ({"noise": "fresh:4.6"}, {}),
        ({"noise": "gaussian:0.3"}, {}),
        ({"noise": "gaussian:3.0"}, {"delta": 0.0}),
        ({"distance": "0.1025"}, {}),
        ({"distance": "0.1024"}, {}),
    ],
    ids=str,
)
def test_campaigns_are_judged_as_by_the_installed_client(ask, changes, limits):
    described = manifest(**changes)
    try:
        expected = Limits(**limits).judge(described)
        expected = {"epsilon": pytest.approx(expected.epsilon, rel=1.1e-4), "delta": expected.delta}
    except Problem as problem:
        expected = problem.code
    assert ask("judgement", [{"manifest": sent(described), "limits": limits}]) == [expected]


def test_pure_promises_are_rounded_up_like_doubles(ask):
    draw = random.Random(5)
    pairs = [
        (draw.getrandbits(draw.randrange(1, 200)) + 1, draw.getrandbits(draw.randrange(1, 200)) + 1) for _ in range(300)
    ]
    pairs += [(1, 1), (2**53, 1), (2**53 + 1, 1), (2**54 - 1, 1), (1, 3), (2**60 - 1, 2**60)]
    for (n, d), answer in zip(pairs, ask("rounded", [[str(n), str(d)] for n, d in pairs]), strict=True):
        nearest = n / d
        expected = nearest if Fraction(nearest) >= Fraction(n, d) else math.nextafter(nearest, math.inf)
        assert float(answer) == expected


def test_readings_are_read_as_the_decimals_that_they_say(ask):
    texts = ["12.3", "-0.5", "+7", ".5", "5.", "1e-05", "1E3", "0", "1e400"]
    answers = ask("number", texts)
    assert [Fraction(int(n), int(d)) for n, d in answers] == [Fraction(text) for text in texts]
    assert ask("number", ["", "1,5", "1e401", "nan", "inf", "0x10", "1_000", "1/3", " 1", "--1"]) == [None] * 10


def test_steps_are_shown_as_exact_decimals(ask):
    pairs = [["123", "0.1"], ["-5", "0.25"], ["0", "0.5"], ["7", "10"], [str(2**60), "0.001"], ["-1", "0.1"]]
    expected = ["12.3", "−1.25", "0.0", "70", "1152921504606846.976", "−0.1"]
    assert ask("shown", pairs) == expected
