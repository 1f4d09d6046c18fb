"""Methods for choices: each gives what its published formulas give, and people see chances they can rely on."""

import numpy as np
import pytest
from scipy import stats

import sottovoce as sv
from sottovoce.discovery import discovered, methods_for
from sottovoce.discovery.choices import winners
from sottovoce.discovery.habits import Habits
from sottovoce.discovery.right_chance import Group
from sottovoce.errors import BadParameter, NotFitted

CHOICE_METHODS = methods_for("choice")


def crowd(rng, users, objects, options, fill=1.0, quality=None):
    """Users, each with their own chance of being right, who otherwise pick any other option; truths, users, objects."""
    right = 1 / options + (1 - 1 / options) * rng.beta(2, 2, users) if quality is None else quality
    truths = rng.integers(0, options, objects)
    who, what = np.nonzero(rng.random((users, objects)) < fill)
    hit = rng.random(len(who)) < right[who]
    answers = np.where(hit, truths[what], (truths[what] + rng.integers(1, options, len(who))) % options)
    return right, truths, who, what, answers


@pytest.fixture(scope="module")
def small():
    _, _, users, objects, answers = crowd(np.random.default_rng(5), 9, 25, 3, 0.7)
    table = np.zeros((9, 25, 3))
    table[users, objects, answers] = 1
    return sv.Claims.from_arrays(users, objects, answers, kind="choice", choices=[0, 1, 2]), table


def chances_of(fit):
    return fit.chances_.entries.reshape(len(fit.objects_), -1)


def most(votes):
    """1 for the first of the options with most votes."""
    wins = votes >= votes.max(axis=1, keepdims=True) * (1 - 1e-9)
    return (np.arange(votes.shape[1]) == wins.argmax(axis=1)[:, None]).astype(float)


def weighted(table, weigh, iterations):
    """Votes under weights that follow from the share or number of errors."""
    counts, truth = table.sum(axis=(1, 2)), most(table.sum(axis=0))
    for _ in range(iterations):
        weights = weigh(counts - (table * truth).sum(axis=(1, 2)), counts)
        votes = (weights[:, None, None] * table).sum(axis=0)
        truth = most(votes)
    return votes / votes.sum(axis=1, keepdims=True), weights


def test_crh_follows_its_formula(small):
    claims, table = small

    def weigh(errors, counts):
        share = errors / counts / (errors / counts).sum()
        return -np.log(np.maximum(share, 1e-12))

    expected, weights = weighted(table, weigh, 4)
    fit = sv.CRH(max_iter=4, tol=0).fit(claims)
    np.testing.assert_allclose(chances_of(fit), expected)
    np.testing.assert_allclose(fit.weights_, weights)


def test_catd_follows_its_formula(small):
    claims, table = small

    def weigh(errors, counts):
        return stats.chi2.ppf(0.025, counts) / np.maximum(errors, 1e-9)

    expected, weights = weighted(table, weigh, 4)
    fit = sv.CATD(max_iter=4, tol=0).fit(claims)
    np.testing.assert_allclose(chances_of(fit), expected, rtol=1e-6)
    np.testing.assert_allclose(fit.weights_, weights, rtol=1e-6)


@pytest.mark.parametrize("implied", [None, lambda one, other: 0.5 if abs(one - other) == 1 else -0.2])
def test_truthfinder_follows_its_formula(small, implied):
    claims, table = small
    trust = np.full(9, 0.9)
    support = np.zeros((3, 3))
    if implied:
        support = np.array([[0.0 if a == b else implied(a, b) for b in range(3)] for a in range(3)])
    for _ in range(5):
        scores = (-np.log(1 - trust)[:, None, None] * table).sum(axis=0)
        confidence = 1 / (1 + np.exp(-0.3 * (scores + 0.5 * scores @ support)))
        trust = (table * confidence).sum(axis=(1, 2)) / table.sum(axis=(1, 2))
    fit = sv.TruthFinder(similarity=implied, max_iter=5, tol=0).fit(claims)
    np.testing.assert_allclose(chances_of(fit), confidence / confidence.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("alike", [None, lambda one, other: 0.3])
def test_accu_and_accusim_follow_their_formulas(small, alike):
    claims, table = small
    accuracy, counts = np.full(9, 0.8), table.sum(axis=(1, 2))
    for _ in range(5):
        scores = (np.log(2 * accuracy / (1 - accuracy))[:, None, None] * table).sum(axis=0)
        if alike:
            scores = scores + 0.5 * 0.3 * (scores.sum(axis=1, keepdims=True) - scores)
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        accuracy = np.clip((table * chances).sum(axis=(1, 2)) / counts, 1e-3, 1 - 1e-3)
    fit = sv.AccuSim(similarity=alike, max_iter=5, tol=0).fit(claims)
    np.testing.assert_allclose(chances_of(fit), chances, atol=1e-12)


def test_accu_leaves_room_for_answers_that_nobody_gave():
    claims = sv.Claims.from_arrays(list("abc"), ["x"] * 3, ["p", "p", "q"], choices=10)
    first = sv.AccuSim(max_iter=1, tol=0).fit(claims).chances_[0]
    vote = np.log(9 * 0.8 / 0.2)
    np.testing.assert_allclose(first, np.exp([2 * vote, vote]) / (np.exp(2 * vote) + np.exp(vote) + 8))


def test_ltm_follows_its_formula(small):
    claims, table = small
    present = table.sum(axis=2, keepdims=True)  # claiming one answer about an object denies the other answers
    silent = present - table
    truth = table.sum(axis=0) / table.sum(axis=(0, 2))[:, None]
    for _ in range(6):
        true_positive, false_negative = (table * truth).sum(axis=(1, 2)), (silent * truth).sum(axis=(1, 2))
        false_positive, true_negative = (table * (1 - truth)).sum(axis=(1, 2)), (silent * (1 - truth)).sum(axis=(1, 2))
        sensitivity = (50 + true_positive) / (100 + true_positive + false_negative)
        wrong = (10 + false_positive) / (1010 + false_positive + true_negative)
        said, kept = np.log(sensitivity / wrong), np.log((1 - sensitivity) / (1 - wrong))
        odds = (said[:, None, None] * table + kept[:, None, None] * silent).sum(axis=0)
        truth = 1 / (1 + np.exp(-odds))
    fit = sv.LTM(max_iter=6, tol=0).fit(claims)
    np.testing.assert_allclose(chances_of(fit), truth / truth.sum(axis=1, keepdims=True), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("counts", [(1, float("nan")), (float("nan"), 1), (1, float("inf")), (0, 1), (1,), 1])
def test_prior_counts_are_two_finite_numbers_above_zero(small, counts):
    with pytest.raises(BadParameter, match="it must be two finite counts above 0"):
        sv.LTM(truth=counts).fit(small[0])


def test_dawid_skene_follows_its_formula(small):
    claims, table = small
    chances = table.sum(axis=0) / table.sum(axis=(0, 2))[:, None]
    for _ in range(5):
        habits = np.maximum(np.einsum("nc,una->uca", chances, table), 1e-10)
        habits /= habits.sum(axis=2, keepdims=True)
        scores = np.log(chances.mean(axis=0)) + np.einsum("una,uca->nc", table, np.log(habits))
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
    fit = sv.DawidSkene(max_iter=5, tol=0).fit(claims)
    np.testing.assert_allclose(chances_of(fit), chances, atol=1e-9)


@pytest.mark.parametrize("name", CHOICE_METHODS)
def test_rows_and_names_may_come_in_any_order(name):
    rng = np.random.default_rng(2)
    _, _, users, objects, answers = crowd(rng, 20, 30, 3, 0.5)
    order = rng.permutation(len(users))
    one = CHOICE_METHODS[name]().fit(sv.Claims.from_arrays(users, objects, answers, kind="choice"))
    # These two have one truth per object even while answers are tied, the first by name: names keep their order.
    words = np.array(["a", "b", "c"] if name in ("crh", "catd") else ["c", "a", "b"])
    other = CHOICE_METHODS[name]().fit(sv.Claims.from_arrays(users[order], 99 - objects[order], words[answers[order]]))
    expected = {99 - thing: dict(zip(words[labels], row, strict=True)) for thing, labels, row in
                zip(one.objects_, one.answers_, one.chances_, strict=True)}  # fmt: skip
    for thing, labels, row in zip(other.objects_, other.answers_, other.chances_, strict=True):
        assert dict(zip(labels.tolist(), row.tolist(), strict=True)) == pytest.approx(expected[thing], abs=1e-6)


def test_a_claim_does_not_influence_the_habits_that_weigh_it():
    """What is taken off an entry leaves the row that the user's other claims make."""
    habits, right = Habits(3, Group(3)), np.array([0.6])
    counts = np.array([[4.0, 1.0, 0.0], [2.0, 1.0, 5.0], [0.0, 3.0, 1.0]])
    rows, corrected = (table.reshape(3, 3) for table in habits.rows(counts.reshape(1, 9), right, learn=False))
    for truth, answer in zip(*np.nonzero(counts), strict=True):
        fewer = counts.copy()
        fewer[truth, answer] -= 1
        expected = habits.rows(fewer.reshape(1, 9), right, learn=False)[0].reshape(3, 3)[truth, answer]
        assert rows[truth, answer] - corrected[truth, answer] == pytest.approx(expected)


@pytest.mark.alike
@pytest.mark.parametrize("name", [name for name, method in CHOICE_METHODS.items() if not method.plain])
def test_known_truths_are_kept_and_show_who_is_right(name):
    """Two users against one; the known truths say that the one is right."""
    things = [f"t{n}" for n in range(30)]
    users = np.repeat(["ann", "bob", "eve"], 30)
    answers = ["no"] * 60 + ["yes"] * 30
    claims = sv.Claims.from_arrays(users, things * 3, answers, choices=["yes", "no"])
    known = dict.fromkeys(things[:25], "yes")
    fit = CHOICE_METHODS[name]().fit(claims, known=known)
    assert fit.truths_[[thing in known for thing in fit.objects_]].tolist() == ["yes"] * 25
    weights = dict(zip(fit.users_, fit.weights_, strict=True))
    assert weights["eve"] > weights["ann"]
    if name not in ("ltm", "truthfinder"):  # these never let one outvote two: their priors bound what a vote weighs
        assert set(fit.truths_) == {"yes"}
    with pytest.raises(BadParameter, match="'perhaps' of 't1': it is not among its options"):
        CHOICE_METHODS[name]().fit(claims, known={"t1": "perhaps"})


def test_a_method_for_another_kind_names_those_that_take_it():
    words = sv.Claims.from_arrays(list("ab"), list("xx"), ["yes", "no"])
    with pytest.raises(BadParameter, match=r"GTM: it works with numbers, .* are choices; use one of .*Majority"):
        sv.GTM().fit(words)
    with pytest.raises(BadParameter, match=r"Majority: it works with choices, .* are numbers; use one of .*GTM"):
        sv.Majority().fit(sv.Claims.from_matrix([[1.0]]))


@pytest.mark.parametrize("name", CHOICE_METHODS)
def test_unusual_claims_have_truths(name):
    """One claim; all agree; nobody agrees; an object with a single answer."""
    for rows in (
        (["a"], ["x"], ["yes"]),
        (list("abab"), list("xxyy"), ["yes"] * 4),
        (list("abcabc"), list("xxxyyy"), list("pqrqrp")),
    ):
        fit = CHOICE_METHODS[name]().fit(sv.Claims.from_arrays(*rows, choices=["yes", "no", "p", "q", "r"]))
        assert np.isfinite(fit.chances_.entries).all()
        assert np.isfinite(fit.weights_).all()
        assert set(fit.truths_) <= {"yes", "p", "q", "r"}
        assert fit.to_frame().columns == ["object", "truth", "chance", "claims", "effective_users"]


@pytest.mark.slow
def test_chances_are_calibrated():
    """Of answers with a chance of .9 to 1, the share that is right lies within .02 of the mean chance.

    Over 20 worlds of 200 objects; some 2,500 such answers with a mean near .98 give a standard error of .003.
    """
    stated, right = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        options = (2, 4)[seed % 2]
        _, truths, users, objects, answers = crowd(rng, 40, 200, options, 0.25)
        law = sv.parse_law("response:3")
        answers = law.simulate(answers, users, options, rng)[:, 0]
        claims = sv.Claims.from_arrays(users, objects, answers, kind="choice", choices=list(range(options)))
        fit = sv.NoiseAware(law).fit(claims)
        top = np.array([row.max() for row in fit.chances_])
        stated.append(top)
        right.append(fit.truths_ == truths[fit.objects_.astype(int)])
    stated, right = np.concatenate(stated), np.concatenate(right)
    sure = stated >= 0.9
    assert sure.sum() > 1000
    assert abs(right[sure].mean() - stated[sure].mean()) < 0.02


@pytest.mark.slow
def test_chances_about_few_objects_are_calibrated():
    """A few objects cannot show habits; if chance is taken for habits, chances are too high by .03. Over 50 worlds of
    12 objects some 460 answers are this sure: the standard error is below .01, even if a world's errors are alike."""
    stated, right = [], []
    law = sv.parse_law("response:1")
    for seed in range(50):
        rng = np.random.default_rng(seed)
        _, truths, users, objects, answers = crowd(rng, 40, 12, 2)
        reported = law.simulate(answers, users, 2, rng)[:, 0]
        fit = sv.NoiseAware(law).fit(sv.Claims.from_arrays(users, objects, reported, kind="choice", choices=[0, 1]))
        stated.append([row.max() for row in fit.chances_])
        right.append(fit.truths_ == truths[fit.objects_.astype(int)])
    stated, right = np.concatenate(stated), np.concatenate(right)
    sure = stated >= 0.9
    assert sure.sum() > 300
    assert abs(right[sure].mean() - stated[sure].mean()) < 0.02


def test_habits_are_found_where_there_are_some():
    """Half of the users say yes to everything, the others are mostly right: a vote weighs by who gives which answer."""
    rng = np.random.default_rng(3)
    truths = rng.integers(0, 2, 200)
    users, objects = np.divmod(np.arange(30 * 200), 200)
    careful = np.where(rng.random(6000) < 0.8, truths[objects], 1 - truths[objects])
    answers = np.where(users < 15, np.where(rng.random(6000) < 0.95, 1, 0), careful)
    claims = sv.Claims.from_arrays(users, objects, answers, kind="choice", choices=[0, 1])
    wrong = [np.mean(method.fit(claims).truths_ != truths) for method in (sv.NoiseAware(), sv.Majority())]
    assert wrong[0] < 0.03 < 0.2 < wrong[1]


def test_people_see_chances_that_are_less_sure():
    """Without noise h = 1/3: .99 becomes .99^h / (.99^h + .01^h)."""
    claims = sv.Claims.from_arrays(np.repeat(np.arange(8), 20), np.tile(np.arange(20), 8), ["yes"] * 79 + ["no"] * 81)
    result = discovered(sv.NoiseAware(), claims)
    raw = np.array([row.max() for row in result.fit.chances_])
    np.testing.assert_allclose(result.chance, raw ** (1 / 3) / (raw ** (1 / 3) + (1 - raw) ** (1 / 3)))


def errors(votes, truths):
    shares, _ = winners(votes.reshape(-1), np.arange(len(votes) + 1) * votes.shape[1])
    return 1 - shares.reshape(votes.shape)[np.arange(len(truths)), truths].mean()


@pytest.mark.slow
@pytest.mark.parametrize(("options", "law"), [(2, "response:1"), (4, "response:2"), (10, "response:1:3")])
def test_randomised_answers_are_weighed_nearly_as_if_users_were_known(options, law):
    """Compared with an oracle that knows how often each user is right. Over 8 worlds of 300 objects, paired: a standard
    error of about .5 points; the mean excess measured over many more is .4 points.
    """
    law, found = sv.parse_law(law), []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        right, truths, users, objects, answers = crowd(rng, 50, 300, options)
        reported = law.simulate(answers, users, options, rng)
        values = reported[:, 0] if reported.shape[1] == 1 else reported.tolist()
        claims = sv.Claims.from_arrays(users, objects, values, kind="choice", choices=list(range(options)))
        channel = law.channel(options)
        hit = channel.chance(right)
        weights = np.log(hit * (options - channel.size) / ((1 - hit) * channel.size))
        oracle, plain = np.zeros((300, options)), np.zeros((300, options))
        for column in reported.T:
            np.add.at(oracle, (objects, column), weights[users])
            np.add.at(plain, (objects, column), 1.0)
        ours = sv.NoiseAware(law).fit(claims).chances_.entries.reshape(300, options)
        found.append([errors(votes, truths) for votes in (oracle, ours, plain)])
    oracle, ours, plain = np.mean(found, axis=0)
    assert ours < oracle + 0.015
    assert ours < plain + 0.005


def test_objects_with_different_numbers_of_options_inform_about_the_same_users():
    rng = np.random.default_rng(8)
    quality = np.where(np.arange(30) < 10, 0.95, 0.0)
    rows, truths = [], {}
    for options in (2, 4):
        right = np.maximum(quality, 1 / options)
        _, truth, users, objects, answers = crowd(rng, 30, 60, options, 1.0, right)
        answers = sv.parse_law("response:2").simulate(answers, users, options, rng)[:, 0]
        rows += [(u, f"{options}-{o}", a) for u, o, a in zip(users, objects, answers, strict=True)]
        truths |= {f"{options}-{o}": t for o, t in enumerate(truth)}
    users, objects, answers = zip(*rows, strict=True)
    lists = {thing: list(range(int(thing[0]))) for thing in truths}
    claims = sv.Claims.from_arrays(users, objects, answers, kind="choice", choices=lists)
    fit = sv.NoiseAware("response:2").fit(claims)
    weights = dict(zip(fit.users_, fit.weights_, strict=True))
    assert min(weights[user] for user in range(10)) > max(weights[user] for user in range(10, 30))
    right = np.mean([truths[thing] == truth for thing, truth in zip(fit.objects_, fit.truths_, strict=True)])
    majority = sv.Majority().fit(claims)
    plain = np.mean([truths[thing] == truth for thing, truth in zip(majority.objects_, majority.truths_, strict=True)])
    assert right > plain + 0.02


def test_a_later_fit_may_begin_with_an_earlier_one():
    _, _, users, objects, answers = crowd(np.random.default_rng(1), 30, 80, 3, 0.6)
    claims = sv.Claims.from_arrays(users, objects, answers, kind="choice")
    cold = sv.NoiseAware().fit(claims)
    warm = sv.NoiseAware().fit(claims, start=cold)
    assert warm.truths_.tolist() == cold.truths_.tolist()


@pytest.mark.parametrize(
    ("noise", "choices", "message"),
    [
        ("response:1", None, "it needs the number of options that devices"),
        ("response:1:2", ["yes", "no", "perhaps"], "each answer names 2 options, but these claims name 1 each"),
        ("fresh:0.5", ["yes", "no"], "it is for numbers"),
    ],
)
def test_impossible_noise_is_refused(noise, choices, message):
    claims = sv.Claims.from_arrays(list("ab"), list("xx"), ["yes", "no"], choices=choices)
    with pytest.raises(BadParameter, match=message):
        sv.NoiseAware(noise).fit(claims)


def test_a_known_truth_that_nobody_named_is_certain():
    claims = sv.Claims.from_arrays(list("abc") * 2, ["p"] * 3 + ["q"] * 3, ["yes", "yes", "no", "yes", "no", "yes"])
    fit = sv.NoiseAware().fit(claims, known={"p": "perhaps"})
    assert fit.truths_.tolist() == ["perhaps", "yes"]
    assert fit.shown_chances()[0][0] == 1.0
    assert fit.chances_by_answer()[0] == {"no": 0.0, "yes": 0.0, "perhaps": 1.0}


def test_known_truths_do_not_count_as_departures_from_the_majority():
    claims = sv.Claims.from_arrays(list("abc") * 2, ["p"] * 3 + ["q"] * 3, ["yes", "yes", "no", "yes", "yes", "yes"])
    result = discovered(sv.NoiseAware(), claims, known={"p": "no"})
    assert result.reason is None
    hidden = discovered(sv.NoiseAware(), claims, known={"p": "perhaps", "q": "perhaps"})
    assert hidden.effective_users == 3  # nobody was ever right, and nobody counts more than others


@pytest.mark.parametrize("method", [sv.NoiseAware(), sv.CRH()])
def test_answers_have_chances_and_no_intervals(method):
    fit = method.fit(sv.Claims.from_arrays(list("abc"), ["path"] * 3, ["dry", "dry", "muddy"]))
    with pytest.raises(BadParameter, match="an answer has a chance, not an interval"):
        fit.intervals()


def test_results_of_the_other_kind_are_not_called_unfitted():
    fit = sv.CRH()
    for name in ("chances_", "answers_"):
        with pytest.raises(NotFitted, match="not fitted yet"):
            getattr(fit, name)
    fit.fit(sv.Claims.from_matrix([[1.0, 2.0], [1.5, 2.5]]))
    for name in ("chances_", "answers_"):
        with pytest.raises(AttributeError, match=f"{name}: a fit to numbers has none"):
            getattr(fit, name)
