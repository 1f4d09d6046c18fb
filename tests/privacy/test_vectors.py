"""The test vectors: what every implementation of the sampler must give from the same bytes.

`vectors.json` is part of the package. After an intended change of the algorithm, ``write_vectors()`` writes it again:

    PYTHONPATH=tests python tests/privacy/test_vectors.py
"""

import json
from fractions import Fraction
from importlib.resources import files

import pytest

from byte_streams import seeded_stream
from sottovoce.privacy import sampler
from sottovoce.privacy.comparing import compare
from sottovoce.privacy.laws import LAWS, parse_law

FILE = files("sottovoce.privacy") / "vectors.json"
DRAWS = 24  # outputs of a primitive, one after the other

# Numbers are decimal text wherever another language might round them.
PRIMITIVES = [
    ("uniform", 1),  # takes no byte
    ("uniform", 2),
    ("uniform", 6),
    ("uniform", 256),
    ("uniform", 257),
    ("uniform", 1_000_003),
    ("uniform", 1 << 48),
    ("uniform", (1 << 52) + 1),  # nearly every other draw is rejected
    ("bernoulli_exp", 0, 1),
    ("bernoulli_exp", 1, 1),
    ("bernoulli_exp", 1, 3),
    ("bernoulli_exp", 7, 2),
    ("bernoulli_exp", 4, 2),
    ("bernoulli_exp", 123_456_789_012_345_678_901, 987_654_321_098_765_432_109),
    ("geometric", 1, 1),
    ("geometric", 1, 3),
    ("geometric", 1024, 1),
    ("geometric", 65_537, 4096),
    ("discrete_laplace", 1, 1),
    ("discrete_laplace", 1, 4),
    ("discrete_laplace", 5, 2),
    ("discrete_laplace", 6_553_601, 65_536),
    ("discrete_gaussian", 1, 100),
    ("discrete_gaussian", 1, 1),
    ("discrete_gaussian", 1369, 100),
    ("discrete_gaussian", 25_000_001, 7),
    ("discrete_gaussian", 1 << 90, (1 << 20) + 7),
    ("subset", 2, 1),
    ("subset", 10, 3),
    ("subset", 7, 6),
    ("response_shifts", 2, 1, 1, 1),
    ("response_shifts", 4, 1, 1, 2),
    ("response_shifts", 20, 5, 5, 2),
    ("response_shifts", 1000, 3, 1, 10),
    ("urn", 1, 1, 1, 6),
    ("urn", 3, 10, 4, 5),
]

HALVES = ["-2.5", "-1.5", "-0.5", "0.5", "1.5", "2.5", "-0.75", "0.25", "-0.25", "0"]
MANY = [f"{number / 8:g}" for number in range(-60, 60, 4)]
KEYS = ("name", "law", "grid", "low", "high", "readings")
SAMPLERS = [
    ("fresh, one reading", "fresh:0.5", "0.1", None, None, ["3.14"]),
    ("fresh, thirty readings", "fresh:0.5", "0.1", "-10", "10", MANY),
    ("fresh, small noise: halves go up, also below zero", "fresh:200.0", "1", None, None, HALVES),
    ("fresh, scale rounded up from an irrational number", "fresh:0.3", "0.25", None, None, ["1", "2", "3"]),
    ("fresh, large noise", "fresh:1e-08", "0.01", "0", "100", ["12.345", "99.995", "100.005"]),
    ("fresh, clipped at both ends", "fresh:2.0", "0.5", "-3", "4", ["-3.01", "-3", "-1e3", "4", "4.2", "1000000"]),
    ("fresh, low end only, between grid steps", "fresh:2.0", "1", "0.3", None, ["-5", "0.3", "0.6", "7"]),
    ("shared, one reading", "shared:0.5", "0.1", None, None, ["-1.05"]),
    ("shared, thirty readings", "shared:0.5", "0.1", "-10", "10", MANY),
    ("shared, small noise", "shared:1000.0", "1", None, None, HALVES),
    ("shared, large noise", "shared:1e-09", "0.001", None, None, ["1.0005", "-1.0005"]),
    ("shared, high end only", "shared:0.02", "0.5", None, "9.75", ["10", "9.75", "9.74", "-40"]),
    ("floored, one reading", "floored:10.2:0.07", "0.1", None, None, ["20.55"]),
    ("floored, thirty readings", "floored:10.2:0.07", "0.1", "-10", "10", MANY),
    ("floored, small noise", "floored:0.01:500.0", "1", None, None, HALVES),
    ("gaussian, one reading", "gaussian:3.7", "0.1", None, None, ["7"]),
    ("gaussian, thirty readings", "gaussian:3.7", "0.1", "-10", "10", MANY),
    ("gaussian, small noise", "gaussian:0.1", "1", None, None, HALVES),
    ("gaussian, large noise", "gaussian:123456.789", "0.001", "0", "1", ["0.5", "0.0005", "0.9995"]),
    ("gaussian, exponents in the text", "gaussian:2.5e-05", "1e-05", None, None, ["1.5e-05", "-1.5e-05", "1E-4"]),
    ("gaussian, grid that is no decimal fraction of the range", "gaussian:1.0", "0.3", "0", "1", ["0", "0.45", "1"]),
    ("no readings", "shared:0.5", "1", None, None, []),
]  # fmt: skip


ANSWERS = [
    ("two choices", "response:1.0", [(0, 2), (1, 2)] * 10),
    ("four choices, little said", "response:0.05", [(cell % 4, 4) for cell in range(20)]),
    ("tasks with choices of their own", "response:2.5", [(0, 2), (2, 3), (6, 7), (99, 100), (3, 4)]),
    ("sets of choices", "response:1.0:3", [(0, 10), (9, 10), (4, 5), (3, 10)]),
    ("next to no promise", "response:1e+300", [(5, 9), (0, 300)]),
    ("next to no answer", "response:1e-300", [(5, 9), (0, 65_535)]),
    ("no answers", "response:1.0", []),
    ("one probability for all, uniform", "twolayer:uniform", [(place % 2, 2) for place in range(12)]),
    ("one probability for all, beta", "twolayer:beta:0.5:1.25", [(place % 2, 2) for place in range(12)]),
]


BIT, FOUR_LEVELS = (249,), (-7, 249, 255)
COMPARISONS = [
    ("bits", "response:1.0", [(steps, BIT) for steps in (0, 124, 125, 1000)] * 4),
    ("four levels", "response:2.5", [(steps, FOUR_LEVELS) for steps in (-4, -3, 124, 125, 127, 128)] * 3),
    ("far from the cuts", "response:1.0", [(-(1 << 52), BIT), (1 << 52, FOUR_LEVELS)]),
]


def play_primitive(vector):
    stream = seeded_stream(vector["seed"])
    draw = getattr(sampler, vector["primitive"])
    outputs = [draw(stream, *map(int, vector["parameters"])) for _ in range(DRAWS)]
    return {"outputs": as_lists(outputs), "bytes_used": stream.used}


def as_lists(outputs):
    return [list(output) if isinstance(output, tuple | list) else output for output in outputs]


def play_sampler(vector):
    stream = seeded_stream(vector["seed"])
    low, high = (None if end is None else Fraction(end) for end in (vector["low"], vector["high"]))
    device = sampler.Sampler(parse_law(vector["law"]), Fraction(vector["grid"]), low, high)
    steps = [device.steps(reading) for reading in vector["readings"]]
    return {"steps": steps, "outputs": device.perturb(vector["readings"], stream), "bytes_used": stream.used}


def play_answers(vector):
    stream = seeded_stream(vector["seed"])
    outputs = sampler.reported_cells(parse_law(vector["law"]), vector["answers"], stream)
    return {"outputs": as_lists(outputs), "bytes_used": stream.used}


def play_comparisons(vector):
    stream = seeded_stream(vector["seed"])
    return {"outputs": compare(parse_law(vector["law"]), vector["readings"], stream), "bytes_used": stream.used}


def make_vectors():
    primitives = [
        {"primitive": name, "parameters": list(map(str, parameters)), "seed": f"{name} {number}"}
        for number, (name, *parameters) in enumerate(PRIMITIVES)
    ]
    samplers = [
        dict(zip(KEYS, case, strict=True)) | {"seed": f"{case[0]} {run}"} for case in SAMPLERS for run in (1, 2)
    ]
    answers = [
        {"name": name, "law": law, "answers": as_lists(cells), "seed": f"{name} {run}"}
        for name, law, cells in ANSWERS
        for run in (1, 2)
    ]
    comparisons = [
        {
            "name": name,
            "law": law,
            "readings": [[steps, list(cuts)] for steps, cuts in readings],
            "seed": f"{name} {run}",
        }
        for name, law, readings in COMPARISONS
        for run in (1, 2)
    ]
    return {
        "primitives": [vector | play_primitive(vector) for vector in primitives],
        "samplers": [vector | play_sampler(vector) for vector in samplers],
        "answers": [vector | play_answers(vector) for vector in answers],
        "comparisons": [vector | play_comparisons(vector) for vector in comparisons],
    }


def write_vectors():
    """One vector per line: a change shows as the lines that it changes."""
    groups = [
        f'"{name}": [\n' + ",\n".join(json.dumps(vector) for vector in vectors) + "\n]"
        for name, vectors in make_vectors().items()
    ]
    FILE.write_text("{\n" + ",\n".join(groups) + "\n}\n")


VECTORS = json.loads(FILE.read_text()) if FILE.is_file() else {"primitives": [], "samplers": [], "answers": []}


@pytest.mark.parametrize("vector", VECTORS["primitives"], ids=lambda vector: vector["seed"])
def test_primitives_give_the_recorded_integers(vector):
    assert vector | play_primitive(vector) == vector


@pytest.mark.parametrize("vector", VECTORS["samplers"], ids=lambda vector: vector["seed"])
def test_devices_give_the_recorded_integers(vector):
    assert vector | play_sampler(vector) == vector


@pytest.mark.parametrize("vector", VECTORS.get("answers", []), ids=lambda vector: vector["seed"])
def test_answers_give_the_recorded_cells(vector):
    assert vector | play_answers(vector) == vector


@pytest.mark.parametrize("vector", VECTORS.get("comparisons", []), ids=lambda vector: vector["seed"])
def test_comparisons_give_the_recorded_levels(vector):
    assert vector | play_comparisons(vector) == vector


def test_the_file_holds_every_case_and_no_other():
    assert make_vectors() == VECTORS


def test_every_law_and_primitive_has_vectors():
    assert {vector["law"].split(":")[0] for vector in [*VECTORS["samplers"], *VECTORS["answers"]]} == set(LAWS)
    drawn = {"uniform", "bernoulli_exp", "geometric", "discrete_laplace", "discrete_gaussian"}
    drawn |= {"subset", "response_shifts", "urn"}
    assert {vector["primitive"] for vector in VECTORS["primitives"]} == drawn


def test_no_number_is_too_large_for_a_double():
    def numbers(content):
        if isinstance(content, dict | list):
            for entry in content.values() if isinstance(content, dict) else content:
                yield from numbers(entry)
        elif not isinstance(content, str | bool | None):
            yield content

    assert all(isinstance(number, int) and abs(number) < 1 << 53 for number in numbers(VECTORS))


if __name__ == "__main__":
    write_vectors()
