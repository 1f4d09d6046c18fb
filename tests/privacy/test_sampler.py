"""The exact sampler: its probabilities, its rounding, and that it needs nothing but bytes.

Draws come from seeded byte streams, so each outcome is fixed. A chi-square test fails below a p-value of 1e-4: of the
few dozen tests here, a correct sampler would fail one for one choice of seeds in several hundred, while a probability
that is wrong by a twentieth gives p-values far below at 20,000 draws.
"""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from byte_streams import seeded_bytes, seeded_stream
from noise_reference import (
    chance_of_counts,
    chance_of_draws,
    chance_of_two_samples,
    gaussian_mass,
    geometric_mass,
    laplace_mass,
    mixed_mass,
)
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import FreshVariance, parse_law
from sottovoce.privacy.sampler import (
    SCALE_DENOMINATOR,
    VARIANCE_STEPS,
    ByteStream,
    Sampler,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    exact_number,
    geometric,
    uniform,
)

SMALLEST = 1e-4
DRAWS = 20_000


def drawn(seed, draw, *parameters, count=DRAWS):
    stream = seeded_stream(seed)
    return np.array([draw(stream, *parameters) for _ in range(count)])


@pytest.mark.parametrize("bound", [2, 6, 100, 257])
def test_uniform_numbers_are_equally_likely(bound):
    counts = np.bincount(drawn("uniform", uniform, bound), minlength=bound)
    assert chance_of_counts(counts, np.full(bound, 1 / bound)) > SMALLEST


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 1), (1, 5), (1, 1), (9, 4)])
def test_coin_falls_with_probability_exp(numerator, denominator):
    chance = math.exp(-numerator / denominator)
    heads = drawn("coin", bernoulli_exp, numerator, denominator).sum()
    assert abs(heads - DRAWS * chance) <= 5 * math.sqrt(DRAWS * chance * (1 - chance))  # five standard deviations


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (7, 3), (40, 1), (3, 7)])
def test_geometric_numbers_have_their_probabilities(numerator, denominator):
    counts = np.bincount(drawn("geometric", geometric, numerator, denominator), minlength=1000)
    assert chance_of_counts(counts, geometric_mass(denominator / numerator, len(counts))) > SMALLEST


@pytest.mark.alike
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(5, 2), Fraction(1, 2), Fraction(30), Fraction(65_537, 4096)])
def test_laplace_noise_has_its_probabilities(scale):
    noise = drawn("laplace", discrete_laplace, *scale.as_integer_ratio())
    assert chance_of_draws(noise, laplace_mass(float(scale), 2000)) > SMALLEST


@pytest.mark.alike
@pytest.mark.parametrize(
    "variance", [Fraction(1), Fraction(1, 3), Fraction(1369, 100), Fraction(99), Fraction(2500, 7)]
)
def test_gaussian_noise_has_its_probabilities(variance):
    noise = drawn("gaussian", discrete_gaussian, *variance.as_integer_ratio())
    assert chance_of_draws(noise, gaussian_mass(float(variance), 2000)) > SMALLEST


def test_a_wrong_scale_would_be_noticed():
    noise = drawn("laplace", discrete_laplace, 5, 2)
    assert chance_of_draws(noise, laplace_mass(2.5 * 1.1, 2000)) < 1e-12


def test_variance_is_exponential_rounded_up():
    """K is the exponential law cut into steps: P(K ≥ k) = exp(-k/VARIANCE_STEPS); a cell is 64 steps wide."""
    counts = np.bincount(drawn("variance", geometric, VARIANCE_STEPS, 1) // 64)
    assert chance_of_counts(counts, geometric_mass(64 / VARIANCE_STEPS, len(counts))) > SMALLEST


GRID_LAWS = {
    "fresh:0.5": lambda grid: laplace_mass(1 / grid, 400),
    "gaussian:1.5": lambda grid: gaussian_mass((1.5 / grid) ** 2, 400),
    "shared:0.5": lambda grid: mixed_mass(0.0, 2 / grid**2 / VARIANCE_STEPS, 400),
    "floored:0.5:1.0": lambda grid: mixed_mass(0.5 / grid**2, 1 / grid**2 / VARIANCE_STEPS, 400),
}


@pytest.mark.alike
@pytest.mark.parametrize("grid", ["1", "0.25"])
@pytest.mark.parametrize("text", GRID_LAWS)
def test_every_law_has_its_probabilities_on_the_grid(text, grid):
    law, stream = parse_law(text).on_grid(Fraction(grid)), seeded_stream(f"{text} {grid}")
    noise = [law.draw(2, stream) for _ in range(DRAWS // 2)]
    mass = GRID_LAWS[text](float(grid))
    for reading in zip(*noise, strict=True):
        assert chance_of_draws(reading, mass) > SMALLEST


def test_a_variance_is_shared_by_the_readings_of_a_release_only():
    """Sizes go together within a release of the shared law and of no other, and never between releases.

    The rank correlation of unrelated sizes has a standard error of 1/√4000; the bound is five of these.
    """
    bound = 5 / math.sqrt(4000)
    for text, together in (("shared:0.5", True), ("fresh:0.5", False), ("gaussian:1.0", False)):
        law, stream = parse_law(text).on_grid(Fraction("0.01")), seeded_stream(text)
        sizes = np.abs([law.draw(2, stream) for _ in range(4001)])
        assert bool(abs(spearmanr(sizes[:, 0], sizes[:, 1]).statistic) > bound) is together
        assert abs(spearmanr(sizes[1:, 0], sizes[:-1, 1]).statistic) < bound


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2.5, 20.0])
def test_laplace_noise_is_that_of_opendp(scale):
    """OpenDP draws from the operating system; a correct sampler fails here once in a million runs."""
    theirs = opendp_noise("laplace", "l1_distance", scale)
    ours = drawn("laplace", discrete_laplace, *exact_number(scale).as_integer_ratio())
    assert chance_of_two_samples(ours, theirs) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [1.5, 12.0])
def test_gaussian_noise_is_that_of_opendp(deviation):
    theirs = opendp_noise("gaussian", "l2_distance", deviation)
    ours = drawn("gaussian", discrete_gaussian, *(exact_number(deviation) ** 2).as_integer_ratio())
    assert chance_of_two_samples(ours, theirs) > 1e-6


def opendp_noise(kind, metric, scale):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), getattr(dp, metric)(T=int)
    return np.array(getattr(dp.m, f"make_{kind}")(*space, scale=scale)([0] * DRAWS))


def test_outputs_are_never_clamped():
    device = Sampler(parse_law("fresh:0.5"), Fraction("0.1"), low=Fraction(0), high=Fraction(1))
    stream = seeded_stream("ends")
    outputs = np.array([device.perturb(["0", "1"], stream) for _ in range(2000)])
    assert (outputs < 0).any(axis=0).all()
    assert (outputs > 10).any(axis=0).all()
    mass = laplace_mass(10.0, 400)
    assert chance_of_draws(outputs[:, 0], mass) > SMALLEST
    assert chance_of_draws(outputs[:, 1] - 10, mass) > SMALLEST


@pytest.mark.parametrize(
    ("reading", "steps"),
    [
        ("0.5", 1),
        ("1.5", 2),
        ("2.5", 3),
        ("-0.5", 0),
        ("-1.5", -1),
        ("-2.5", -2),
        ("-0.51", -1),
        ("0.49", 0),
        (-1.5, -1),
    ],
)
def test_halves_are_rounded_up_also_below_zero(reading, steps):
    assert Sampler(parse_law("fresh:0.5"), Fraction(1)).steps(reading) == steps


def test_readings_are_clipped_before_they_are_rounded():
    device = Sampler(parse_law("fresh:0.5"), Fraction(1), low=Fraction("0.4"), high=Fraction("2.4"))
    assert [device.steps(reading) for reading in ("-7", "0.4", "2.4", "2.6")] == [0, 0, 2, 2]


@given(st.fractions(-1000, 1000), st.fractions(0, 10), st.sampled_from(["0.1", "0.3", "7"]))
def test_rounding_never_widens_a_distance_beyond_its_whole_steps(reading, distance, grid):
    device = Sampler(parse_law("fresh:0.5"), Fraction(grid))
    assert 0 <= device.steps(reading + distance) - device.steps(reading) <= math.ceil(distance / Fraction(grid))


@given(st.floats(1e-6, 1e6), st.sampled_from(["1", "0.1", "0.003", "25"]))
def test_scale_is_rounded_up_never_down_and_by_less_than_a_step(rate, grid):
    law = FreshVariance(rate)
    scale = law.on_grid(Fraction(grid)).scale
    wanted_square = 1 / (2 * law.exact("rate") * Fraction(grid) ** 2)
    assert scale**2 >= wanted_square
    assert (scale - Fraction(1, SCALE_DENOMINATOR)) ** 2 < wanted_square


def test_numpy_numbers_are_the_same_decimals():
    assert exact_number(np.float64(0.1)) == exact_number("0.1") == exact_number(0.1) == Fraction(1, 10)


def test_parameters_are_the_decimals_that_a_person_reads():
    assert parse_law("gaussian:0.1").on_grid(Fraction("0.1")).floor == 1
    assert parse_law("floored:0.3:0.7").on_grid(Fraction("0.1")).floor == 30
    assert parse_law("shared:0.7").on_grid(Fraction(1)).quantum == Fraction(10, 7 * VARIANCE_STEPS)


@pytest.mark.parametrize("grid", ["10", "0.1", "1e-9"])
@pytest.mark.parametrize("text", ["fresh:0.5", "shared:0.5", "floored:10.2:0.07", "gaussian:3.7"])
def test_thirty_readings_take_few_draws_however_large_the_noise(text, grid):
    """About 20 to 32 uniform numbers per reading on average; 3,000 for thirty leave room for every seed."""
    taken = 0

    class Counting(ByteStream):
        def take(self, count):
            nonlocal taken
            taken += 1
            return super().take(count)

    parse_law(text).on_grid(Fraction(grid)).draw(30, Counting())
    assert taken < 3000


@settings(max_examples=50)
@given(
    st.binary(min_size=1, max_size=20), st.sampled_from(sorted(GRID_LAWS)), st.lists(st.integers(-50, 50), max_size=5)
)
def test_outputs_depend_on_the_bytes_only(key, text, readings):
    """The same bytes give the same integers, however they are cut into reads; no more are used than counted."""
    source = seeded_bytes(key.hex())(1 << 16)
    device = Sampler(parse_law(text), Fraction("0.5"))
    whole = ByteStream(lambda count: source)
    outputs = device.perturb(readings, whole)
    exact = iter(source[: whole.used])
    in_pieces = ByteStream(lambda count: bytes(next(exact, 0) for _ in range(count)))
    assert device.perturb(readings, in_pieces) == outputs
    assert in_pieces.used == whole.used


def test_without_a_stream_every_release_is_new():
    device = Sampler(parse_law("gaussian:1.0"), Fraction("1e-6"))
    assert device.perturb(["1"] * 5) != device.perturb(["1"] * 5)  # equal with a probability far below 1e-20


@pytest.mark.parametrize(
    "text", ["nan", "inf", "twelve", "", "1/0", "1e999999999", "1e-999999999", "1e", float("nan"), float("inf")]
)
def test_a_reading_that_is_not_a_number_is_refused(text):
    with pytest.raises(BadParameter, match="finite number"):
        Sampler(parse_law("fresh:0.5"), Fraction(1)).perturb([text])


def test_the_sampler_needs_no_numpy():
    code = (
        "import sys; from fractions import Fraction; from sottovoce.privacy.laws import parse_law;"
        "from sottovoce.privacy.sampler import Sampler;"
        "print(len(Sampler(parse_law('shared:0.5'), Fraction(1)).perturb(['1', '2'])));"
        "print(*sorted({name.split('.')[0] for name in sys.modules} & {'numpy', 'scipy', 'numba', 'random'}))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["2"]
