"""The privacy commands where answers are perturbed."""

import json

import pytest
from typer.testing import CliRunner

from sottovoce.cli.app import app
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import parse_answer_law


def run(*arguments):
    ran = CliRunner().invoke(app, list(map(str, arguments)))
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_guarantee_of_choices():
    shown = json.loads(run("guarantee", "--noise", "response:1", "--choices", 4, "--readings", 30, "--json"))
    assert shown["pure_epsilon"] == shown["epsilon"] == 1.0
    assert shown["delta"] == 0.0
    assert shown["chance_of_truth"] == pytest.approx(0.475367, abs=5e-7)
    assert "any one answer: had it been any other" in shown["sentence"]


def test_guarantee_of_a_participant_at_a_delta():
    arguments = ("guarantee", "--noise", "response:0.2", "--choices", 2, "--unit", "participant", "--json")
    assert json.loads(run(*arguments))["pure_epsilon"] == 6.0
    assert json.loads(run(*arguments, "--epsilon", 4))["delta"] == pytest.approx(8.874968e-05, rel=1e-7)
    at_delta = json.loads(run(*arguments, "--delta", "8.874968e-05"))
    assert at_delta["epsilon"] == pytest.approx(4.0, rel=1e-6)
    assert "even all 30 together" in at_delta["sentence"]


def test_guarantee_in_words():
    shown = " ".join(run("guarantee", "--noise", "response:1", "--choices", 2).split())
    assert "In 27 of 100 cases your phone sends the other answer on purpose, so nobody can be sure of yours." in shown
    assert "any two answers" in shown


def test_guarantee_of_levels():
    shown = json.loads(run("guarantee", "--noise", "response:4", "--levels", 4, "--json"))
    assert (shown["levels"], shown["pure_epsilon"]) == (4, 4.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["response:1"], "it is for answers"),
        (["fresh:0.5", "--choices", "2"], "it adds noise to numbers"),
        (["response:1", "--choices", "1"], "at least 2"),
        (["response:1", "--choices", "2", "--levels", "2"], "leave one out"),
        (["response:1:2", "--levels", "4"], "reports one level"),
        (["twolayer:uniform", "--levels", "2"], "reports one level"),
        (["response:1:3", "--choices", "3"], "smaller SIZE"),
        (["response:1", "--choices", "2", "--readings", "10001"], "up to 10,000"),
        (["response:1", "--choices", "2", "--epsilon", "1", "--delta", "0"], "one follows from the other"),
        (["response:1", "--choices", "2", "--delta", "2"], "below 1"),
    ],
)
def test_guarantees_that_make_no_sense_are_refused(options, words):
    ran = CliRunner().invoke(app, ["guarantee", "--noise", *options])
    assert isinstance(ran.exception, BadParameter)  # printed, with exit code 2, by the entry point
    assert words in str(ran.exception)


WORDS = [
    ("response:1.0", 2, "In 27 of 100 cases", "the other answer", "nobody can be sure"),
    ("response:0.1", 2, "In 48 of 100 cases", "the other answer", "nobody can be sure"),
    ("response:3.0", 2, "In 47 of 1,000 cases", "the other answer", "nobody can be sure"),
    ("response:4.0", 2, "In 18 of 1,000 cases", "the other answer", "can guess yours, but not prove it"),
    ("response:12.0", 2, "In 6 of 1,000,000 cases", "the other answer", "can guess yours, but not prove it"),
    ("response:1000.0", 2, "In fewer than 1 of 1,000,000 cases", "the other answer", "practically always yours"),
    ("response:1.0", 10, "In 77 of 100 cases", "another answer on purpose, drawn at random", "nobody can be sure"),
    ("response:1.0:3", 10, "Your phone sends 3 of the 10 answers. In 46 of 100 cases", "not among them", "be sure"),
    ("response:6.0:3", 10, "In 58 of 10,000 cases", "not among them", "very likely one of them"),
    ("response:1e-300", 65_535, "In 100 of 100 cases", "another answer", "nobody can be sure"),
]


@pytest.mark.parametrize(("text", "cells", "share", "what", "so"), WORDS)
def test_what_happens_to_an_answer_in_words(text, cells, share, what, so):
    words = parse_answer_law(text).in_words(cells)
    assert share in words
    assert what in words
    assert so in words


def test_the_words_in_german():
    words = parse_answer_law("response:1").in_words(2, "de")
    assert words.startswith("In 27 von 100 Fällen sendet Ihr Telefon absichtlich die andere Antwort, sodass niemand")
