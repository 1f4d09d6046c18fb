"""The privacy commands where answers are perturbed."""

import json

import pytest
from typer.testing import CliRunner

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import parse_answer_law


def run(*arguments):
    ran = CliRunner().invoke(app, list(map(str, arguments)))
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_guarantee_prints_figures_for_choices():
    shown = json.loads(run("guarantee", "--noise", "response:1", "--choices", 4, "--readings", 30, "--json"))
    assert shown["pure_epsilon"] == shown["epsilon"] == 1.0
    assert shown["delta"] == 0.0
    assert shown["chance_of_truth"] == pytest.approx(0.475367, abs=5e-7)
    assert "any one answer: had it been any other" in shown["sentence"]


def test_guarantee_prints_figures_for_a_participant_at_a_delta():
    arguments = ("guarantee", "--noise", "response:0.2", "--choices", 2, "--unit", "participant", "--json")
    assert json.loads(run(*arguments))["pure_epsilon"] == 6.0
    assert json.loads(run(*arguments, "--epsilon", 4))["delta"] == pytest.approx(8.874968e-05, rel=1e-7)
    at_delta = json.loads(run(*arguments, "--delta", "8.874968e-05"))
    assert at_delta["epsilon"] == pytest.approx(4.0, rel=1e-6)
    assert "even all 30 together" in at_delta["sentence"]


def test_guarantee_prints_the_promise_in_words():
    shown = " ".join(run("guarantee", "--noise", "response:1", "--choices", 2).split())
    assert "In 27 of 100 cases your device sends the other answer on purpose, so nobody can be sure of yours." in shown
    assert "any two answers" in shown


def test_guarantee_prints_figures_for_levels():
    shown = json.loads(run("guarantee", "--noise", "response:4", "--levels", 4, "--json"))
    assert (shown["levels"], shown["pure_epsilon"]) == (4, 4.0)


@pytest.mark.alike
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["response:1"], "give --choices N, or --levels 2"),
        (["fresh:0.5", "--choices", "2"], "it adds noise to numbers"),
        (["response:1", "--choices", "1"], "at least 2"),
        (["response:1", "--choices", "2", "--levels", "2"], "leave out one of the two options"),
        (["response:1:2", "--levels", "4"], "reports one level"),
        (["twolayer:uniform", "--levels", "2"], "reports one level"),
        (["response:1:3", "--choices", "3"], "smaller SIZE"),
        (["response:1", "--choices", "2", "--readings", "10001"], "up to 10,000"),
        (["response:1", "--choices", "2", "--epsilon", "1", "--delta", "0"], "one follows from the other"),
        (["response:1", "--choices", "2", "--delta", "2"], "below 1"),
        (["response:1", "--choices", "2", "--distance", "1"], "any two answers; leave"),
        (["response:1", "--levels", "2", "--grid", "0.1"], "any two answers; leave"),
    ],
)
def test_guarantees_that_make_no_sense_are_refused(options, words):
    ran = CliRunner().invoke(app, ["guarantee", "--noise", *options])
    assert isinstance(ran.exception, BadParameter)  # printed, with exit code 2, by the entry point
    assert words in str(ran.exception)


@pytest.mark.parametrize("option", [("--error-rate", "1"), ("--distance", "1"), ("--grid", "1")])
def test_a_plan_for_choices_refuses_options_for_numbers(option):
    ran = CliRunner().invoke(app, ["plan", "--choices", "4", "--simulations", "0", *option])
    assert isinstance(ran.exception, BadParameter)
    assert f"{option[0][2:]} " in str(ran.exception)
    assert "leave one of them out" in str(ran.exception)


ANSWERS = "who,path,state\n" + "".join(
    f"u{user},p{path},{'dry' if (user + path) % 3 else 'muddy'}\n" for user in range(30) for path in range(20)
)
COLUMNS = ("--user", "who", "--object", "path", "--value", "state")


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(ANSWERS)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize(("noise", "size"), [("response:1", 1), ("response:1:2", 2)])
def test_answers_are_perturbed(answers, tmp_path, ending, noise, size):
    out = tmp_path / f"noisy.{ending}"
    options = tmp_path / "options.txt"
    options.write_text("dry\nmuddy\nflooded\n under snow \n")
    run("perturb", answers, "--noise", noise, "--choices", options, "--out", out, *COLUMNS)
    raw = sv.Claims.read(answers, user="who", object="path", value="state")
    noisy = sv.Claims.read(out)
    assert (noisy.noise, noisy.kind, len(noisy)) == (str(parse_answer_law(noise)), "choice", 600)
    assert set(noisy.answers.counts.tolist()) == {4}  # as declared, though the file had two
    assert noisy.answers.size == size
    sent = {(user, path): answer if size > 1 else [answer] for user, path, answer in noisy}
    kept = sum(answer in sent[user, path] for user, path, answer in raw)
    hit = parse_answer_law(noise).channel(4).hit
    assert abs(kept - 600 * hit) < 5 * (600 * hit * (1 - hit)) ** 0.5
    assert {label for cells in sent.values() for label in cells} == {"dry", "muddy", "flooded", "under snow"}


def test_codes_are_options_as_the_file_spells_them(tmp_path):
    path, out = tmp_path / "codes.csv", tmp_path / "noisy.csv"
    path.write_text("user,object,value\n" + "".join(f"u{user},o,{user % 2}\n" for user in range(50)))
    run("perturb", path, "--noise", "response:0.01", "--choices", "0,1,2", "--out", out)
    sent = sv.Claims.read(out)  # the file says among how many options devices chose: these are not numbers
    assert set(sent.answers.label_list()) == {0, 1, 2}
    pack = sv.claims.pack(sv.claims.files([out]), tmp_path / "pack")
    assert (pack.kind, pack.claims().kind) == ("choice", "choice")
    assert set(map(str, pack.answers.label_list())) == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--choices", "dry,flooded"], "answer 'muddy' about"),
        (["--choices", "dry"], "at least 2 options"),
        (["--choices", ""], "at least 2 options"),
        (["--choices", "dry,muddy,Dry "], "more than spaces and case"),
        (["--choices", "dry,muddy,dry"], "listed twice"),
        (["--choices", "dry,muddy", "--noise", "fresh:1"], "it adds noise to numbers"),
        (["--choices", "dry,muddy", "--noise", "response:1:2"], "smaller SIZE"),
        (["--choices", "dry,muddy,wet", "--noise", "twolayer:uniform"], "only with two choices"),
        ([], "it is for answers"),
    ],
)
def test_bad_options_write_nothing(answers, tmp_path, options, words):
    noise = [] if "--noise" in options else ["--noise", "response:1"]
    out = tmp_path / "noisy.csv"
    ran = CliRunner().invoke(app, ["perturb", str(answers), *noise, *options, "--out", str(out), *COLUMNS])
    assert words in str(ran.exception)
    assert not out.exists()


def test_answers_are_perturbed_once(answers, tmp_path):
    out = tmp_path / "noisy.csv"
    run("perturb", answers, "--noise", "response:1", "--choices", "dry,muddy", "--out", out, *COLUMNS)
    ran = CliRunner().invoke(
        app, ["perturb", str(out), "--noise", "response:1", "--choices", "dry,muddy", "--out", str(tmp_path / "2.csv")]
    )
    assert "noise is added once" in str(ran.exception)


WORDS = [
    ("response:1.0", 2, "In 27 of 100 cases", "the other answer", "nobody can be sure"),
    ("response:0.1", 2, "In 48 of 100 cases", "the other answer", "nobody can be sure"),
    ("response:3.0", 2, "In 47 of 1,000 cases", "the other answer", "nobody can be sure"),
    ("response:4.0", 2, "In 18 of 1,000 cases", "the other answer", "can be guessed, but not proved"),
    ("response:12.0", 2, "In 6 of 1,000,000 cases", "the other answer", "can be guessed, but not proved"),
    ("response:1000.0", 2, "In fewer than 1 of 1,000,000 cases", "the other answer", "practically always yours"),
    ("response:1.0", 10, "In 77 of 100 cases", "another answer on purpose, drawn at random", "nobody can be sure"),
    ("response:1.0:3", 10, "Your device sends 3 of the 10 answers. In 46 of 100 cases", "not among them", "be sure"),
    ("response:6.0:3", 10, "In 58 of 10,000 cases", "not among them", "very likely one of them"),
    ("response:1e-300", 65_535, "In 100 of 100 cases", "another answer", "nobody can be sure"),
]


@pytest.mark.parametrize(("text", "cells", "share", "what", "so"), WORDS)
def test_what_happens_to_an_answer_is_printed_in_words(text, cells, share, what, so):
    words = parse_answer_law(text).in_words(cells)
    assert share in words
    assert what in words
    assert so in words


def test_the_words_are_printed_in_german():
    words = parse_answer_law("response:1").in_words(2, "de")
    assert words.startswith("In 27 von 100 Fällen sendet Ihr Gerät absichtlich die andere Antwort, sodass niemand")


def test_a_response_law_without_options_asks_for_them(tmp_path):
    (tmp_path / "a.csv").write_text("user,object,value\nu,p,yes\nv,p,no\n")
    ran = CliRunner().invoke(app, ["perturb", str(tmp_path / "a.csv"), "--noise", "response:1", "--out", "x.csv"])
    assert isinstance(ran.exception, BadParameter)
    assert "--choices yes,no" in str(ran.exception)


def test_a_long_list_of_options_is_not_taken_for_a_file_name(tmp_path):
    (tmp_path / "a.csv").write_text("user,object,value\nu,p,option-1\nv,p,option-2\n")
    options, out = ",".join(f"option-{n}" for n in range(100)), str(tmp_path / "x.csv")
    arguments = ["perturb", str(tmp_path / "a.csv"), "--noise", "response:9", "--choices", options, "--out", out]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.exception
    assert "2 users, 100 options" in ran.output


def test_the_advice_for_a_second_answer_can_be_followed(tmp_path):
    path, out = tmp_path / "answers.csv", tmp_path / "out.csv"
    path.write_text("user,object,value\nann,path,yes\nann,path,no\nbob,path,no\n")
    arguments = ["perturb", str(path), "--noise", "response:1", "--choices", "yes,no", "--out", str(out)]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code != 0
    assert "a second claim" in str(ran.exception)
    assert "(--duplicates)" in str(ran.exception)
    assert not out.exists()
    run(*arguments, "--duplicates", "last")
    assert len(sv.Claims.read(out)) == 2
