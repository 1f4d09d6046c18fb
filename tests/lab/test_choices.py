"""The lab's figures about answers: right results against ε, and the two-layer law's true promise."""

import numpy as np
import pytest

import sottovoce as sv
from command import run
from sottovoce.errors import UnreadableFile
from sottovoce.lab.reproduce import named
from sottovoce.lab.reproduce.answer_sets import read_answers, sets_of_answers
from sottovoce.lab.reproduce.choices import accuracy
from sottovoce.lab.reproduce.experiment import Setting
from sottovoce.lab.reproduce.tables import where
from sottovoce.worlds import choice_crowd


def made(name, **setting):
    experiment = named(name)
    tasks = experiment.tasks(Setting(quick=True, **setting))
    return experiment, experiment.collect([row for task in tasks for row in experiment.run(task)])


def test_the_two_layer_laws_promise_agrees_with_known_figures():
    experiment, table = made("two-layer")
    (one,) = where(table, line="Uniform(0, ½), one answer", answers=30)
    (everything,) = where(table, line="Uniform(0, ½), all answers", answers=30)
    (beta,) = where(table, line="Beta(1, 3), one answer", answers=10)
    assert (one["epsilon"], one["delta"]) == pytest.approx((3.401197, 0.245692), rel=1e-5)
    assert (everything["epsilon"], everything["delta"]) == pytest.approx((21.48756, 0.781), rel=1e-3)
    assert beta["epsilon"] == pytest.approx(2.484907, rel=1e-5)
    sentence = experiment.verdict(table).sentence
    for figure in ("1.099", "3.40", "0.246", "21.5", "0.781"):
        assert figure in sentence


def a_set(folder, name, seed, choices=3):
    """A set of answers with truths, the last of which nobody knows."""
    world = choice_crowd(12, 25, choices, seed=seed)
    place = folder / name
    place.mkdir(parents=True)
    words = [f"answer {number}" for number in range(choices)]
    rows = [f"{user},{thing},{words[value]}" for user, thing, value in world.claims]
    (place / "claims.csv").write_text("\n".join(["user,object,value", *rows]))
    truths = [f"{thing},{words[truth]}" for thing, truth in enumerate(world.truths.tolist())]
    (place / "truth.csv").write_text("\n".join(["object,value", *truths[:-1]]))
    return world


def test_a_real_set_is_read_with_its_truths(tmp_path):
    world = a_set(tmp_path, "one", 1)
    found = read_answers(tmp_path / "one")
    labels = found.claims.answers.label_list()
    at = {str(label): place for place, label in enumerate(found.claims.object_labels.tolist())}
    truths = [labels[found.truths[at[str(thing)]]] for thing in range(24)]
    assert truths == [f"answer {truth}" for truth in world.truths[:-1].tolist()]
    assert found.truths[at["24"]] == -1
    # The mean of 12 users, each judged by 24 answers: a standard error of at most .5/√288.
    assert found.right.mean() == pytest.approx(world.right.mean(), abs=4 * 0.5 / np.sqrt(288) + 0.03)


def test_ties_are_shared_and_unknown_truths_do_not_count():
    votes = np.array([[1.0, 1.0, 0.0], [0.0, 2.0, 1.0], [5.0, 0.0, 0.0]])
    assert accuracy(votes, np.array([0, 1, -1])) == pytest.approx(0.75)


def test_real_sets_are_drawn_beside_simulated_crowds(tmp_path):
    a_set(tmp_path, "one", 1)
    a_set(tmp_path, "two", 2)
    a_set(tmp_path, "open", 3, choices=2000)  # too many to be randomised
    (tmp_path / "empty").mkdir()
    experiment, table = made("choices", answers=str(tmp_path), epsilons=(4.0,), participants=(15,), objects=20)
    crowds = ["2 choices", "4 choices", "10 choices", "one", "two", "real sets"]
    assert list(dict.fromkeys(row["crowd"] for row in table)) == crowds
    for method in ("majority", "dawid-skene", "noise-aware", "oracle"):
        first, second, mean = (where(table, crowd=crowd, method=method)[0]["accuracy"] for crowd in crowds[3:])
        assert mean == pytest.approx((first + second) / 2, rel=1e-5)
    assert "the mean of 2 real sets" in experiment.note(table)
    assert "15 users answer 20 questions" in experiment.note(table)
    assert "real sets: noise-aware" in experiment.verdict(table).sentence


def test_more_noise_leaves_fewer_right_and_the_oracle_is_not_beaten_by_much():
    _, table = made("choices", epsilons=(0.5, 4.0), runs=3, participants=(30,), objects=60)
    for crowd in ("2 choices", "4 choices", "10 choices"):
        for method in ("majority", "noise-aware", "oracle"):
            noisy, clear = (row["accuracy"] for row in where(table, crowd=crowd, method=method))
            assert noisy < clear
        oracle, ours = (where(table, crowd=crowd, method=name, epsilon=0.5)[0] for name in ("oracle", "noise-aware"))
        # 180 questions: a standard error of at most 3.7 points each, and they share their crowds.
        assert ours["accuracy"] < oracle["accuracy"] + 8


def test_a_folder_without_sets_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="no set of answers"):
        sets_of_answers(tmp_path)
    ran = run("reproduce", "choices", "--quick", "--answers", tmp_path / "nowhere", "--out", tmp_path / "out")
    assert ran.returncode == 2
    assert "nowhere" in ran.stderr


def test_the_oracle_knows_the_channel():
    """With users who are always right, the oracle's truth under response noise is that of the most votes."""
    world = choice_crowd(30, 40, 4, seed=2)
    sure = type(world)(world.claims, 4, world.truths, np.ones(30))
    from sottovoce.lab.reproduce.choices import oracle

    noisy = sure.with_simulated_noise(sv.Response(1.0), 3)
    votes = np.zeros((40, 4))
    np.add.at(votes, (noisy.claims.objects, noisy.claims.values), 1.0)
    assert accuracy(oracle(noisy, sv.Response(1.0)), world.truths) == pytest.approx(accuracy(votes, world.truths))
