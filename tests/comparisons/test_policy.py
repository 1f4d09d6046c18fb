"""Published cuts: on half steps, in ascending order, where the posterior is."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.comparisons.policy import Steps, check_levels, half_steps, offers, places, usual_levels
from sottovoce.comparisons.posterior import ComparedTask, Scale
from sottovoce.errors import BadParameter
from sottovoce.privacy.comparing import check_cuts

GRIDS = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(7, 1000), Fraction(50)])


@given(st.floats(-1e6, 1e6), GRIDS)
def test_a_cut_lies_halfway_between_two_points_of_the_grid(place, grid):
    cut = half_steps(place, grid)
    assert cut % 2 == 1
    assert abs(Fraction(place) - cut * grid / 2) <= grid / 2


@given(st.integers(2, 4).filter(lambda levels: levels != 3), GRIDS, st.lists(st.booleans(), max_size=12))
def test_devices_accept_every_offer(levels, grid, answers):
    task = ComparedTask(Scale(0.0, 30.0, levels, 1 / (2.718281828 + levels - 1), 1.0))
    for high in answers:
        offered = offers(task.posterior(), levels, grid)
        for cuts in offered:
            assert check_cuts(cuts, levels) == cuts
        task.add(places(offered[0], grid), (levels - 1) * high)
    assert len(offered if answers else offers(task.posterior(), levels, grid)) <= 5


def test_the_first_bits_ask_across_the_range():
    offered = offers(ComparedTask(Scale(0.0, 32.0, 2, 0.27, 1.0)).posterior(), 2, Fraction(1, 10))
    assert sorted(places(cuts, Fraction(1, 10))[0] for cuts in offered) == pytest.approx([8, 12, 16, 20, 24], abs=0.051)


def test_levels_follow_from_the_noise():
    assert [usual_levels(epsilon) for epsilon in (0.5, 2.7, 2.75, 8)] == [2, 2, 4, 4]
    assert [usual_levels(epsilon, readings=30) for epsilon in (1.9, 2.0)] == [2, 4]
    with pytest.raises(BadParameter, match="levels 3"):
        check_levels(3)


def test_new_cuts_come_in_steps():
    assert Steps(1).due(answers=0, changes=1)
    assert not Steps(5).due(answers=4, changes=4)
    assert Steps(5).due(answers=100, changes=5)
    assert not Steps(5).due(answers=300, changes=9)
    assert Steps(5).due(answers=300, changes=10)
