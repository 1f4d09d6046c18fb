"""Manifests of the second format: choices beside numbers, a law per kind, several languages; one form for each."""

import json
import math

import pytest

from hallways import manifest
from protocol_cases import COMPARED, WHOLE, WRONG
from questions import BIRD, PATH, WIDTH, only, second
from sottovoce.privacy.guarantee import Guarantee
from sottovoce.protocol import Manifest, Problem, Report, promise_of
from sottovoce.protocol.drafting import drafted, replaced
from sottovoce.protocol.promise import distance_words, pure_epsilon, sentence, terms


def refusal(call, *arguments, **options):
    with pytest.raises(Problem) as caught:
        call(*arguments, **options)
    return caught.value


def test_a_field_that_does_not_apply_is_left_out_and_never_null():
    content = json.loads(second().bytes())
    assert Manifest.parse(second().bytes()) == second()
    assert not {"deadline", "levels", "plan", "logo", "retention"} & content.keys()
    assert content["answer"] == 3
    assert set(content["tasks"][0]) == {"id", "kind", "title", "help", "choices"}
    with_null = json.dumps(content | {"deadline": None}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert refusal(Manifest.parse, with_null.encode()).code == "bad_manifest"


def test_the_first_format_is_unchanged():
    """Bytes and hash of a manifest that was published before there was a second format."""
    assert manifest().sha256 == "59a82ed8f5c3e8181e3768944a48338b860c956bc6171ea86819f18b95010a88"
    for field in ("language", "answer", "levels"):
        assert refusal(manifest, **{field: 2}).code == "bad_manifest"


_COMPARED = replaced(manifest().content(), {"noise": "response:1", "levels": 2, "answer": 2})


def test_a_draft_that_no_longer_compares_returns_to_the_first_format():
    compared = drafted(_COMPARED)
    assert compared.format == "sottovoce-manifest/2"
    back = {"noise": manifest().noise, "distance": manifest().distance, "levels": None, "answer": None}
    assert drafted(replaced(compared.content(), back)).bytes() == manifest().bytes()


@pytest.mark.parametrize(
    "more",
    [
        {"language": "de"}, {"contact": "a@example.org"}, {"public_results": False}, {"retention": 0}, {"answer": 1},
        {"title": {"en": "Hallways", "de": "Flure"}}, {"logo": "0" * 64},
    ],
    ids=repr,
)  # fmt: skip
def test_what_only_the_second_format_can_express_keeps_a_draft_in_it(more):
    back = {"noise": manifest().noise, "distance": manifest().distance, "levels": None, "answer": None}
    kept = drafted(replaced(drafted(_COMPARED).content(), back | more))
    assert kept.format == "sottovoce-manifest/2"
    assert more.items() <= kept.content().items()
    assert drafted(kept.content()) == kept


@pytest.mark.parametrize(
    ("days", "words"),
    [(30, "no later than 30 days after"), (1, "no later than 1 day after"), (0, "erased when the campaign closes")],
    ids=str,
)
def test_the_terms_say_by_when_values_are_erased(days, words):
    assert words in " ".join(terms(second(retention=days)))


@pytest.mark.parametrize("name", WHOLE)
def test_what_the_second_format_can_express_is_read_again(name):
    asked = second(**WHOLE[name])
    assert Manifest.parse(asked.bytes()) == asked
    assert promise_of(Manifest.trusted(json.loads(asked.bytes()))) == promise_of(asked)


@pytest.mark.parametrize("name", WRONG)
def test_an_invalid_manifest_is_refused(name):
    change, words = WRONG[name]
    problem = refusal(second, **change)
    assert problem.code == "bad_manifest"
    assert words in str(problem)


def mixed(answer, numbers=4, choices=6):
    """Numbers and choices, of which a device answers a few."""
    tasks = [WIDTH | {"id": f"w{place}"} for place in range(numbers)]
    tasks += [PATH | {"id": f"p{place}"} for place in range(choices)]
    noise = {"number": "gaussian:5", "choice": "response:0.7"}
    return second(tasks=tasks, noise=noise, unit="participant", readings=len(tasks), answer=answer)


def test_one_answer_of_a_participant_costs_what_one_of_the_worst_kind_costs():
    number, choice = (only(task, noise=law) for task, law in ((WIDTH, "gaussian:5"), (PATH, "response:0.7")))
    alone = [promise_of(one, 1e-5, enough=0).epsilon for one in (number, choice)]
    assert promise_of(mixed(answer=1)).epsilon == max(alone)
    # Two numbers, one of each, or two choices, whatever is worst.
    twice = [
        promise_of(only(*(task | {"id": name} for name in "ab"), noise=law, unit="participant"), 1e-5, enough=0).epsilon
        for task, law in ((WIDTH, "gaussian:5"), (PATH, "response:0.7"))
    ]
    assert max(twice) <= promise_of(mixed(answer=2)).epsilon <= max(*twice, sum(alone) * 1.05)


@pytest.mark.slow
def test_more_answers_never_cost_less():
    """Ways to choose them are looked at one by one where they are few, and bounded where they are many."""
    figures = [promise_of(mixed(answer)).epsilon for answer in range(1, 11)]
    assert figures == sorted(figures)
    many = [promise_of(mixed(answer, 20, 30)).epsilon for answer in (8, 11, 12, 20, 50)]
    assert many == sorted(many)


@pytest.mark.slow
def test_many_ways_to_choose_tasks_cost_hardly_more_than_the_worst_of_them():
    ways = [mixed(20, numbers, 20 - numbers) for numbers in range(1, 20, 2)]
    ways += [
        only(*(task | {"id": f"{place}"} for place in range(20)), noise=law, unit="participant", readings=20)
        for task, law in ((WIDTH, "gaussian:5"), (PATH, "response:0.7"))
    ]
    worst = max(promise_of(way, 1e-5, enough=0).epsilon for way in ways)
    assert worst <= promise_of(mixed(20, 20, 30)).epsilon <= 1.005 * worst


@pytest.mark.alike
@pytest.mark.parametrize("numbers", ["gaussian:5", "shared:0.002", "floored:30:0.02"])
def test_no_choice_of_tasks_takes_long_to_judge(monkeypatch, numbers):
    """The figures that the sums are made of are counted: no server can ask for more of them."""
    looked = []
    delta = Guarantee.delta
    monkeypatch.setattr(Guarantee, "delta", lambda self, epsilon: looked.append(epsilon) or delta(self, epsilon))
    tasks = mixed(900, 1000, 1000).tasks
    noise = {"number": numbers, "choice": "response:0.05"}
    asked = second(tasks=[task.model_dump() for task in tasks], noise=noise, unit="participant", readings=900)
    assert 0 < promise_of(asked, 1e-5, enough=0).epsilon < math.inf
    assert len(looked) < 1000


@pytest.mark.slow
def test_as_many_parts_as_tasks_are_judged():
    tasks = [WIDTH | {"id": f"{place}", "grid": f"0.{place + 1:04d}1"} for place in range(3000)]
    whole = second(tasks=tasks, noise="fresh:0.5", unit="participant", readings=2000)
    assert promise_of(whole, 1e-5, enough=0).epsilon >= 2000


def test_a_reading_has_the_promise_of_the_weakest_kind():
    assert promise_of(second()).epsilon == 1.0
    assert promise_of(second(noise={"number": "fresh:0.5", "choice": "response:2.5"})).epsilon == 2.5
    assert promise_of(second(noise={"number": "fresh:8", "choice": "response:2.5"})).epsilon == 4.0


def test_a_participant_has_the_sum_of_the_worst_tasks_that_can_be_answered():
    whole = {"unit": "participant", "noise": {"number": "fresh:0.5", "choice": "response:2"}}
    assert [pure_epsilon(second(answer=m, **whole)) for m in (1, 2, 3)] == [2.0, 4.0, 5.0]
    steep = whole | {"noise": {"number": "fresh:8", "choice": "response:2"}}
    assert [pure_epsilon(second(answer=m, **steep)) for m in (1, 2, 3)] == [4.0, 6.0, 8.0]


def test_many_answers_with_an_exception_are_those_of_the_theory():
    """The largest ε per answer for 30 answers out of two at δ = 1e-5 and ε = 1 is 0.050807; more choices allow more."""
    for noise, sizes, keeps in (
        ("response:0.050806", (2,), True), ("response:0.050808", (2,), False), ("response:0.050808", (2, 3), True),
    ):  # fmt: skip
        tasks = [PATH | {"id": f"q{n}", "choices": ["a", "b", "c"][: sizes[n % len(sizes)]]} for n in range(30)]
        asked = second(tasks=tasks, noise=noise, readings=30, unit="participant")
        assert (promise_of(asked, 1e-5, enough=1.0).epsilon <= 1.0) is keeps
        assert pure_epsilon(asked) == pytest.approx(30 * float(noise[9:]))


def test_kinds_together_promise_less_than_each_and_more_than_their_sum():
    asked = second(noise={"number": "gaussian:5", "choice": "response:1"}, unit="participant")
    number = promise_of(only(WIDTH, noise="gaussian:5", unit="participant", readings=1))
    promise = promise_of(asked)
    assert pure_epsilon(asked) is None
    assert number.epsilon < 2.0 < promise.epsilon < number.epsilon + 2.0
    assert promise.delta == 1e-5
    assert promise_of(second(noise={"number": "gaussian:1e-5", "choice": "response:1"})).epsilon == math.inf


def test_the_words_say_what_is_protected():
    assert distance_words(second()) == "any value and 1"
    both = sentence(second(), promise_of(second()))
    assert "any one reading or answer" in both
    assert "differed by up to 1 m" in both
    choices = only(PATH, BIRD)
    assert distance_words(choices) == "any value"
    assert "any one answer" in sentence(choices, promise_of(choices))


@pytest.mark.parametrize(
    ("unit", "answer", "words"),
    [
        ("reading", 2, "any one reading: had it been any other value"),
        ("participant", 1, "your reading: had it been any other value"),
        ("participant", 2, "your readings, even all 2 together: had each been any other value"),
    ],
)
def test_a_comparison_promises_any_two_readings(unit, answer, words):
    numbers = [{name: entry for name, entry in WIDTH.items() if name != "distance"} | {"id": f"w{n}"} for n in (1, 2)]
    compared = only(*numbers, noise="response:0.5", levels=2, unit=unit, readings=2, answer=answer)
    assert words in sentence(compared, promise_of(compared))
    assert distance_words(compared) == "any value"
    beside = only(*numbers, PATH, noise="response:0.5", levels=2, unit=unit, readings=2, answer=answer)
    assert "reading" in sentence(beside, promise_of(beside))
    assert "answer" in sentence(beside, promise_of(beside)).partition(":")[0]


ID = "0b8f3c1e-5d52-4b0e-9a53-3a4f5e6d7c8b"


def reported(asked, *readings):
    return Report.of({"report_id": ID, "manifest_sha256": asked.sha256, "readings": list(readings)})


def test_answers_are_reported_by_number_and_sets_as_rising_lists():
    asked = second()
    report = reported(asked, {"task": "path", "value": 1}, {"task": "width", "value": -7}, {"task": "bird", "value": 3})
    report.check(asked)
    assert Report.parse(report.bytes()).bytes() == report.bytes()
    sets = only(BIRD, noise="response:1:2")
    report = reported(sets, {"task": "bird", "value": [0, 3]})
    report.check(sets)
    assert b'{"task":"bird","value":[0,3]}' in report.bytes()
    compared = only(COMPARED, noise="response:4", levels=4)
    report = reported(compared, {"task": "width", "value": 3, "cuts": [-3, 11, 25]})
    report.check(compared)
    assert b'{"cuts":[-3,11,25],"task":"width","value":3}' in report.bytes()
    assert Report.parse(report.bytes()).content_hash == report.content_hash


SETS = only(BIRD, noise="response:1:2")
BITS, LEVELS = (only(COMPARED, noise="response:1", levels=levels) for levels in (2, 4))
BAD = {
    "a choice that there is not": (only(PATH), {"task": "path", "value": 2}, "unknown_choice"),
    "a choice below zero": (only(PATH), {"task": "path", "value": -1}, "unknown_choice"),
    "a set where one answer is asked": (only(BIRD), {"task": "bird", "value": [1]}, "wrong_kind"),
    "one answer where a set is asked": (SETS, {"task": "bird", "value": 1}, "wrong_kind"),
    "a set that is too small": (SETS, {"task": "bird", "value": [1]}, "wrong_kind"),
    "a set that does not rise": (SETS, {"task": "bird", "value": [2, 1]}, "bad_report"),
    "a set with one twice": (SETS, {"task": "bird", "value": [1, 1]}, "bad_report"),
    "a set with an unknown choice": (
        SETS,
        {"task": "bird", "value": [1, 4]},
        "unknown_choice",
    ),
    "a list for a number": (only(WIDTH), {"task": "width", "value": [1]}, "wrong_kind"),
    "cuts for a question": (only(PATH), {"task": "path", "value": 1, "cuts": [1]}, "wrong_kind"),
    "cuts for a noisy number": (only(WIDTH), {"task": "width", "value": 1, "cuts": [1]}, "wrong_kind"),
    "no cuts": (BITS, {"task": "width", "value": 1}, "bad_cuts"),
    "too many cuts": (
        BITS,
        {"task": "width", "value": 1, "cuts": [1, 3]},
        "bad_cuts",
    ),
    "even cuts": (BITS, {"task": "width", "value": 1, "cuts": [2]}, "bad_cuts"),
    "cuts that fall": (
        LEVELS,
        {"task": "width", "value": 1, "cuts": [5, 3, 7]},
        "bad_cuts",
    ),
    "a level too high": (
        BITS,
        {"task": "width", "value": 2, "cuts": [1]},
        "unknown_choice",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_an_answer_that_does_not_fit_its_task_is_refused(name):
    asked, reading, code = BAD[name]
    assert refusal(reported(asked, reading).check, asked).code == code


@pytest.mark.parametrize("value", [1.5, "yes", None, True, [], [1.0], {"a": 1}])
def test_a_value_that_is_not_a_whole_number_is_refused(value):
    assert refusal(reported, second(), {"task": "path", "value": value}).code == "bad_report"


def test_the_advice_on_a_level_speaks_of_levels_and_that_on_a_choice_of_choices():
    with pytest.raises(Problem, match="from 0 to 1; send the number of the level, counted from 0"):
        reported(BITS, {"task": "width", "value": 2, "cuts": [1]}).check(BITS)
    with pytest.raises(Problem, match="from 0 to 1; use one of the choices of the manifest"):
        reported(only(PATH), {"task": "path", "value": 2}).check(only(PATH))
