"""The floorplan is as sparse as the real one, its walkers err as walkers do, and real copies can be read."""

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.worlds.floorplan import Walkers, floorplan_digest


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("world", [sv.worlds.floorplan, sv.worlds.careful_floorplan])
def test_counts_are_those_of_the_real_one(world, seed):
    claims = world(seed).claims
    assert (claims.n_objects, claims.n_users, len(claims)) == (129, 247, 740)
    assert (claims.claims_per_user == 1).sum() == 183
    assert claims.claims_per_user.max() > 100
    assert claims.claims_per_object.min() >= 4
    assert claims.claims_per_object.max() <= 10


def test_walkers_err_as_those_of_the_published_set():
    seen = []
    for seed in range(40):
        world = sv.worlds.floorplan(seed)
        assert (world.truths.min(), world.truths.max()) == (3.6, 10.8)
        errors = world.claims.values - world.truths[world.claims.objects]
        found = [np.abs(method.fit(world.claims).truths_ - world.truths).mean() for method in (sv.CRH(), sv.Median())]
        seen.append([(errors**2).mean(), errors.mean(), np.quantile(world.error_variances, 0.9), *found])
    # Published: mean square 17, bias 1.7, nine tenths of the walkers below 96, CRH off by 1.55 and the median by 1.38.
    # Single worlds vary by 15 to 25 %, means of 40 by 3 or 4 %.
    assert np.mean(seen, axis=0) == pytest.approx([17, 1.7, 96, 1.55, 1.38], rel=0.12)
    assert np.mean([crh > median for *_, crh, median in seen]) > 0.8


def test_careful_walkers_hardly_err():
    worlds = [sv.worlds.careful_floorplan(seed) for seed in range(5)]
    errors = np.concatenate([world.claims.values - world.truths[world.claims.objects] for world in worlds])
    assert (errors**2).mean() < 0.4
    assert abs(errors.mean()) < 0.1


def test_the_same_seed_gives_the_same_building():
    first, second, other = (sv.worlds.floorplan(seed).claims.values.tolist() for seed in (3, 3, 4))
    assert first == second != other


def test_error_variances_are_those_of_the_claims():
    world = sv.worlds.floorplan(2)
    for user in (0, int(np.argmax(world.claims.claims_per_user))):
        own = world.claims.users == user
        errors = (world.claims.values - world.truths[world.claims.objects])[own]
        assert world.error_variances[user] == pytest.approx((errors**2).mean())


def test_crowd_knows_the_hallways_better_than_a_walker():
    world = sv.worlds.floorplan(1)
    error = np.abs(sv.CRH().fit(world.claims).truths_ - world.truths).mean()
    walker = np.abs(world.claims.values - world.truths[world.claims.objects]).mean()
    assert error < 0.8 * walker  # five or six readings: 1/√5.7 = 0.42 if errors were alike and had no common bias


def exact(many=1, **traits):
    """Walkers without any error but the traits given."""
    fields = {"stride": 0.7, "believed_stride": 0.7, "phone": 0, "fatigue": 0.0, "factor": 1.0, "lapses": 0.0, **traits}
    return Walkers(**{name: np.full(many, entry) for name, entry in fields.items()})


def walk(walkers, length=35.0, walked=0, times=400):
    rng = np.random.default_rng(1)
    nobody = np.zeros(times, np.intp)
    return walkers.measure(nobody, np.full(times, length), np.full(times, walked), rng)


def test_distance_is_whole_steps_of_the_believed_length():
    steps = walk(exact(believed_stride=0.83)) / 0.83
    assert np.abs(steps - np.round(steps)).max() < 1e-9
    assert len(set(np.round(steps))) > 1  # the count is uneven


def test_misjudged_stride_scales_every_distance():
    # 50 steps of a phone whose count has variance 0.005 · 50: standard error of 400 counts √(0.25 + 1/12)/20 = 0.03.
    right, wrong = (walk(exact(believed_stride=stride)).mean() for stride in (0.7, 0.77))
    assert wrong / right == pytest.approx(1.1, abs=1e-9)
    assert right == pytest.approx(35.0, abs=4 * 0.03 * 0.7)


def test_a_tired_walker_takes_more_steps():
    fresh, tired = (walk(exact(fatigue=0.05), walked=walked).mean() for walked in (0, 100))
    assert tired / fresh == pytest.approx(1 / 0.95, abs=0.003)


def test_wild_walkers_report_a_multiple():
    usual, wild = (walk(exact(factor=factor)).mean() for factor in (1.0, 2.5))
    assert wild / usual == pytest.approx(2.5, abs=0.01)


def test_lapses_lose_steps_and_count_some_twice():
    lengths = walk(exact(lapses=1.0), times=4000)
    # Seven in ten count 20 to 100 % twice, the others miss 10 to 60 %: 0.7 · 60 - 0.3 · 35 = 31.5 % too many.
    assert lengths.mean() / 35 == pytest.approx(1.315, abs=5 * 0.5 / np.sqrt(4000))
    assert (lengths < 35).mean() == pytest.approx(0.3, abs=5 * 0.5 / np.sqrt(4000))


def test_phones_differ_in_what_they_miss():
    good, poor = (walk(exact(phone=phone)) for phone in (0, 2))
    assert poor.mean() < good.mean() - 0.2  # 1.5 % of 35 m is 0.5 m
    assert stats.levene(good, poor).pvalue < 1e-3


def test_tidy_copies_are_read_back(tmp_path):
    world = sv.worlds.floorplan(5)
    world.write(tmp_path)
    copy = sv.worlds.read_floorplan(tmp_path)
    assert copy.claims.object_labels.tolist() == world.claims.object_labels.tolist()
    assert copy.claims.values.tolist() == world.claims.values.tolist()
    assert copy.truths.tolist() == world.truths.tolist()
    assert copy.error_variances == pytest.approx(world.error_variances)


def published(folder, rows, truths):
    (folder / "step_dataset.txt").write_text("".join(f"{s}\t{m}\t{u}\n" for s, m, u in rows))
    (folder / "step_ground_truth.txt").write_text("".join(f"{s}\t{m}\n" for s, m in truths))
    return sv.worlds.read_floorplan(folder)


def test_published_pair_is_read_and_repeats_count_as_their_mean(tmp_path):
    rows = [(10, 5.0, 1), (2, 7.5, 1), (10, 5.5, 3), (2, 8.5, 1)]
    world = published(tmp_path, rows, [(10, 5.2), (2, 8.0), (77, 1.0)])
    assert world.claims.object_labels.tolist() == [2, 10]
    assert world.truths.tolist() == [8.0, 5.2]
    assert list(world.claims) == [(1, 2, 8.0), (1, 10, 5.0), (3, 10, 5.5)]
    assert world.error_variances == pytest.approx([0.02, 0.09])


def test_a_heading_is_not_a_claim(tmp_path):
    world = published(tmp_path, [("segment", "metres", "user"), (1, 5.0, 1)], [("segment", "metres"), (1, 4.0)])
    assert list(world.claims) == [(1, 1, 5.0)]


@pytest.mark.parametrize(
    ("rows", "truths", "message"),
    [
        ([(1, 5.0, 1)], [(2, 5.0)], "no truth for 1 object with claims"),
        ([(1, 5.0, 1), (1, "long", 2)], [(1, 5.0)], "separated by tabs"),
    ],
)
def test_copies_that_do_not_fit_are_refused(tmp_path, rows, truths, message):
    with pytest.raises(ValueError, match=message):
        published(tmp_path, rows, truths)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(OSError, match=r"claims.csv and truth.csv, or step_dataset.txt"):
        sv.worlds.read_floorplan(tmp_path)


def test_the_digest_follows_the_data(tmp_path):
    sv.worlds.floorplan(5).write(tmp_path)
    before = floorplan_digest(tmp_path)
    (tmp_path / "truth.csv").write_text((tmp_path / "truth.csv").read_text().replace("hall-001", "hall-000"))
    assert floorplan_digest(tmp_path) != before
