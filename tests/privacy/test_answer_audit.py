"""The audit of answers passes what devices draw, and catches what is slightly wrong. Seeds are fixed."""

import csv
import json

import pytest
from typer.testing import CliRunner

from byte_streams import seeded_stream
from questions import second
from sottovoce.claims import Claims
from sottovoce.cli.app import app
from sottovoce.device.release import noisy_readings
from sottovoce.errors import BadParameter
from sottovoce.privacy import comparing, sampler
from sottovoce.privacy.audit import AnswerDraws, AnswerSetting, answers, audit
from sottovoce.privacy.laws import Response, parse_answer_law
from sottovoce.privacy.sampler import uniform
from sottovoce.worlds import devices


def audited(sampler, text="response:1.0", choices=4, readings=2, samples=6000, **options):
    return audit(sampler, parse_answer_law(text), AnswerSetting(choices, readings), samples=samples, **options)


def real(text, choices, readings=2, seed="real"):
    return AnswerSetting(choices, readings).device(parse_answer_law(text), seeded_stream(f"{seed} {text} {choices}"))


@pytest.mark.alike
@pytest.mark.parametrize(
    ("text", "choices"),
    [("response:1.0", 2), ("response:1.0", 4), ("response:3.0", 3), ("response:1.0:3", 10), ("twolayer:uniform", 2)],
)
def test_what_devices_draw_passes(text, choices):
    result = audited(real(text, choices), text, choices)
    assert result.passed, result.faults
    assert 0 < result.found_epsilon <= result.promised_epsilon


honest = sampler.reported_cells


def true_cells(law, answers, stream):
    return [(cell,) for cell, _ in answers]


def moved_together(law, answers, stream):
    answers = list(answers)
    (shift,) = honest(law, [(0, cells) for _, cells in answers[:1]], stream)[0]
    return [((cell + shift) % cells,) for cell, cells in answers]


BROKEN = {"the truth": true_cells, "one shift for all answers": moved_together,
          "a constant": lambda law, answers, stream: [(1,) for _ in answers]}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_the_audit_sees_what_devices_send(broken, monkeypatch):
    """There is one function from answers to what is sent: broken, it is broken for devices, `perturb` and audit."""
    said = {"path": "yes", "bird": "tit"}
    claims = Claims.from_arrays(["a"] * 12, list("bcdefghijklm"), ["yes"] * 12, kind="choice", choices=["yes", "no"])

    def everything():
        return [
            [noisy_readings(second(), said, seeded_stream(f"sent {place}")) for place in range(12)],
            comparing.compare(Response(1.0), [(5, (1,))] * 12, seeded_stream("compared")),
            devices.perturb_answers(claims, Response(1.0), stream=seeded_stream("perturbed")).values.tolist(),
        ]

    right = everything()
    for place in (sampler, comparing, devices):
        monkeypatch.setattr(place, "reported_cells", broken)
    assert all(one != other for one, other in zip(everything(), right, strict=True))
    assert not audited(real("response:1.0", 4, seed="broken"), samples=1000).passed


@pytest.mark.slow
@pytest.mark.parametrize("choices", [2, 4, 10])
def test_a_response_that_keeps_the_truth_too_often_fails(choices):
    """Its chance is 1.05 times what it should be: some reports are replaced by the truth."""
    stream, draw, hit = seeded_stream("too often"), real("response:1.0", choices), Response(1.0).channel(choices).hit
    replaced = round(10_000 * 0.05 * hit / (1 - hit))

    def keeps(answers):
        return [
            (cell,) if uniform(stream, 10_000) < replaced else out
            for cell, out in zip(answers, draw(answers), strict=True)
        ]

    result = audited(keeps, choices=choices, samples=20_000)
    assert "answers have the law's probabilities" in {check.name for check in result.checks if not check.passed}


def test_too_large_an_epsilon_is_a_leak():
    result = audited(real("response:2.0", 2), "response:1.0", 2)
    assert result.leaks
    assert result.found_epsilon > 1.5


@pytest.mark.slow
def test_other_mistakes_are_found():
    draw = real("response:1.0", 4)

    def together(answers):
        (first,) = draw(answers[:1])[0]
        return [((first - answers[0] + answer) % 4,) for answer in answers]

    failed = {check.name for check in audited(together).checks if not check.passed}
    assert failed == {"each answer is drawn independently"}

    kept = []

    def repeated(answers):
        """Every other release has the shifts of the one before."""
        if len(kept) % 2:
            outputs = [((cell + shift) % 4,) for cell, shift in zip(answers, kept[-1], strict=True)]
        else:
            outputs = draw(answers)
        kept.append([(out[0] - cell) % 4 for cell, out in zip(answers, outputs, strict=True)])
        return outputs

    failed = {check.name for check in audited(repeated).checks if not check.passed}
    assert "each release is drawn independently" in failed

    failed = {check.name for check in audited(lambda answers: [(4,) for _ in answers]).checks if not check.passed}
    assert "outputs are sets of cells" in failed


def test_a_shared_flip_is_found_where_answers_should_be_on_their_own():
    # As if plain response at the same mean flip had been promised.
    result = audited(real("twolayer:uniform", 2, 3), "response:1.0986122886681098", 2, 3, samples=10_000)
    assert not result.passed


def test_draws_made_elsewhere_can_be_audited(tmp_path):
    draw, path = real("response:1.0:2", 5), tmp_path / "draws.csv"
    draws = AnswerDraws.of(draw, AnswerSetting(5, 2), 1500)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["side", "release", "reading", "value"])
        for side, releases in enumerate(draws.sides):
            for number, release in enumerate(releases.tolist()):
                table.writerows([side, number, place, " ".join(map(str, cells))] for place, cells in enumerate(release))
    assert (AnswerDraws.read(path).sides[0] == draws.sides[0]).all()
    arguments = ["audit", "--noise", "response:1:2", "--choices", "5", "--input", str(path), "--json"]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    (result,) = json.loads(ran.stdout)["audits"]
    assert (result["choices"], result["readings"], result["samples"]) == (5, 2, 1500)
    path.write_text(path.read_text().replace("0,0,0,", "0,0,0,x", 1))
    assert "correct it" in str(CliRunner().invoke(app, arguments).exception)


@pytest.mark.slow
def test_the_command_ends_with_an_error_code_when_a_law_is_not_kept(monkeypatch):
    """The law draws with twice the ε that it promises. Draws are seeded, since a few random ones do not show it."""
    monkeypatch.setattr(answers, "ByteStream", lambda: seeded_stream("not kept"))
    promised = Response.guarantee
    monkeypatch.setattr(Response, "guarantee", lambda law, *asked: promised(Response(law.epsilon / 2), *asked))
    ran = CliRunner().invoke(app, ["audit", "--noise", "response:3", "--choices", "3", "--samples", "3000"])
    assert ran.exit_code == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"samples": 10}, "at least 1,000"),
        ({"epsilon": 1.0, "delta": 0.1}, "give one of them"),
        ({"choices": 1}, "at least 2"),
    ],
)
def test_audits_that_make_no_sense_are_refused(options, words):
    with pytest.raises(BadParameter, match=words):
        audited(real("response:1.0", 4), **options)
