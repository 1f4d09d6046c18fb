"""Claims that come in rounds: warm starts, checkpoints, and losses that count less with time."""

import numpy as np
import pyarrow as pa
import pytest

import reference
import sottovoce as sv
from conftest import random_matrix
from numpy_engine import NumpyEngine
from sottovoce.claims.blocks import Pack
from sottovoce.claims.packing import files, pack
from sottovoce.claims.writing import write_table
from sottovoce.discovery import Checkpoint
from sottovoce.engines import DiskEngine, MemoryEngine
from sottovoce.errors import BadParameter, UnreadableFile


def write_rounds(folder, matrix, rounds, late=0):
    """Packs after each round; ``rounds`` says for each object in which it is claimed; the first users come last."""
    users, objects = np.nonzero(~np.isnan(matrix))
    when = np.maximum(rounds[objects], np.where(users < late, rounds.max(), 0))
    for number in range(rounds.max() + 1):
        mine = when == number
        table = {"user": users[mine], "object": objects[mine], "value": matrix[users[mine], objects[mine]]}
        path = folder / f"{number}.parquet"
        write_table(pa.table(table), path)
        yield pack(files([path]), folder / "pack", append=number > 0, claims_per_block=150)


METHODS = {
    "crh": sv.CRH,
    "gtm": sv.GTM,
    "mean": sv.Mean,
    "median": sv.Median,
    "noise-aware": sv.NoiseAware,
    "noise-aware, shared": lambda **options: sv.NoiseAware("shared:0.5", **options),
    "noise-aware, fresh": lambda **options: sv.NoiseAware("fresh:0.5", **options),
}


def assert_same_answer(truths, cold):
    """Iterations stop at 1e-8 of the spread; what noise-aware learns about the crowd settles within a few steps."""
    if isinstance(cold, sv.NoiseAware):
        half = cold.intervals()[1] - cold.truths_
        assert np.all(np.abs(truths - cold.truths_) < 0.02 * half)
    else:
        np.testing.assert_allclose(truths, cold.truths_, atol=1e-5)


@pytest.mark.alike
@pytest.mark.parametrize("method", METHODS)
def test_a_warm_start_after_new_claims_gives_the_answer_of_a_cold_run(method, tmp_path):
    world = sv.worlds.synthetic(80, 60, fill=0.5, seed=5)
    law = getattr(METHODS[method](), "noise", None)
    matrix = NumpyEngine((world.with_simulated_noise(sv.parse_law(law), 6) if law else world).claims).matrix
    fit = None
    for packed in write_rounds(tmp_path, matrix, np.arange(60) // 20, late=8):
        fit = METHODS[method](tol=1e-8).fit(DiskEngine(packed), start=fit)
    cold = METHODS[method](tol=1e-8).fit(sv.Claims.from_matrix(matrix))
    warm = dict(zip(fit.objects_.tolist(), fit.truths_.tolist(), strict=True))
    assert sorted(warm) == cold.objects_.tolist()
    assert_same_answer(np.array([warm[label] for label in cold.objects_]), cold)
    assert fit.converged_


@pytest.mark.parametrize("method", METHODS)
def test_a_run_continues_from_its_checkpoint(method, tmp_path):
    claims = sv.Claims.from_matrix(random_matrix(np.random.default_rng(6), 60, 40, 0.5))

    def stop(iteration, move):
        if iteration == 3:
            raise KeyboardInterrupt

    checkpoint = Checkpoint(tmp_path / "state.arrow")
    whole = METHODS[method](tol=1e-8).fit(claims)
    if method not in ("mean", "median"):
        with pytest.raises(KeyboardInterrupt):
            METHODS[method](tol=1e-8).fit(claims, progress=stop, checkpoint=checkpoint)
        state = Checkpoint(tmp_path / "state.arrow").read()
        assert (state.method, state.iteration) == (whole.name, 3)
        resumed = METHODS[method](tol=1e-8).fit(claims, start=state, checkpoint=checkpoint)
        assert_same_answer(resumed.truths_, whole)
    else:
        METHODS[method]().fit(claims, checkpoint=checkpoint)
    final = Checkpoint(tmp_path / "state.arrow").read()
    assert final.objects.tolist() == whole.objects_.tolist()
    assert final.users.tolist() == whole.users_.tolist()
    cold, again = (METHODS[method](tol=1e-4).fit(claims, start=start) for start in (None, final))
    assert again.n_iter_ < cold.n_iter_ or cold.n_iter_ == 1
    assert [path.name for path in tmp_path.iterdir()] == ["state.arrow"]


def test_a_state_read_from_a_file_starts_like_the_fit_itself(tmp_path):
    claims = sv.worlds.synthetic(60, 40, seed=1).claims
    for noise in (None, "shared:0.5", "fresh:0.5"):
        fit = sv.NoiseAware(noise, max_iter=5, tol=0).fit(claims, checkpoint=Checkpoint(tmp_path / "state.arrow"))
        one, other = (
            sv.NoiseAware(noise, max_iter=5, tol=0).fit(claims, start=start).truths_
            for start in (fit, Checkpoint(tmp_path / "state.arrow").read())
        )
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("content", [b"", b"ARROW1", None])
def test_a_file_that_is_not_a_checkpoint_is_reported(tmp_path, content):
    path = tmp_path / "state.arrow"
    if content is None:
        write_table(pa.table({"user": [1]}), path)
    else:
        path.write_bytes(content)
    with pytest.raises(UnreadableFile, match="not a checkpoint"):
        Checkpoint(path).read()
    with pytest.raises(UnreadableFile, match="no checkpoint to resume from"):
        Checkpoint(tmp_path / "other.arrow").read()


def decayed_crh(matrix, shares, iterations, loss):
    """CRH in plain NumPy, with each loss counted ``shares`` of its object."""
    scale = reference.spread(matrix)
    truths = np.nanmedian(matrix, axis=0)
    present = ~np.isnan(matrix)
    for _ in range(iterations):
        distance = (matrix - truths) ** 2 if loss == "squared" else np.abs(matrix - truths)
        losses = np.nansum(shares * distance / scale, axis=1) / (shares * present).sum(axis=1)
        weights = -np.log(losses / losses.sum())
        average = reference.weighted_mean if loss == "squared" else reference.weighted_median
        truths = average(matrix, weights)
    return truths, weights


@pytest.mark.alike
@pytest.mark.parametrize("loss", ["squared", "absolute"])
@pytest.mark.parametrize("decay", [0.5, 0.9])
def test_losses_of_earlier_rounds_count_less(tmp_path, loss, decay):
    matrix = random_matrix(np.random.default_rng(7), 50, 45, 0.6)
    rounds = np.arange(45) // 15
    *_, packed = write_rounds(tmp_path, matrix, rounds)
    truths, weights = decayed_crh(matrix, decay ** (2 - rounds), 4, loss)
    crh = sv.CRH(decay=decay, loss=loss, max_iter=4, tol=0)
    for engine in (
        DiskEngine(packed),
        MemoryEngine(packed.claims(), ages=packed.object_ages),
        NumpyEngine(packed.claims(), ages=packed.object_ages),
    ):
        fit = crh.fit(engine)
        np.testing.assert_allclose(fit.truths_, truths, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(fit.weights_, weights[fit.users_], rtol=1e-9)
    plain = sv.CRH(loss=loss, max_iter=4, tol=0).fit(DiskEngine(packed))
    assert np.abs(plain.weights_ - fit.weights_).max() > 1e-3


@pytest.mark.slow
def test_a_user_who_grew_careless_is_noticed_sooner_with_decay(tmp_path):
    """Careful for ten rounds, careless in the last: without decay, the earlier rounds outweigh it."""
    rng = np.random.default_rng(8)
    matrix = rng.normal(0, 1, (20, 220))
    rounds = np.arange(220) // 20
    matrix[0, rounds < 10] *= 0.1
    matrix[0, rounds == 10] *= 30
    *_, packed = write_rounds(tmp_path, matrix, rounds)
    lasting, fading = (sv.CRH(decay=decay).fit(DiskEngine(packed)).weights_ for decay in (1.0, 0.2))
    assert fading[0] / fading[1:].mean() < lasting[0] / lasting[1:].mean()


@pytest.mark.parametrize("decay", [0, -1, 1.5, float("nan")])
def test_an_invalid_decay_is_reported(decay):
    with pytest.raises(BadParameter, match="decay"):
        sv.CRH(decay=decay).fit(sv.Claims.from_matrix([[1.0]]))


def test_forgetting_for_very_many_rounds_still_gives_truths(tmp_path):
    claims = sv.worlds.synthetic(20, 10, seed=3).claims
    engine = MemoryEngine(claims, ages=np.linspace(0, 5000, 10).astype(np.int64))
    assert np.isfinite(sv.CRH(decay=0.5).fit(engine).truths_).all()


def test_appending_does_not_disturb_a_pack_that_is_open(tmp_path):
    """Blocks that were rewritten are gone, and that is reported; the pack only has to be opened again."""
    matrix = random_matrix(np.random.default_rng(9), 30, 20)
    stages = write_rounds(tmp_path, matrix, np.arange(20) // 10)
    before = next(stages)
    next(stages)
    with pytest.raises(UnreadableFile, match="missing"):
        sv.CRH().fit(DiskEngine(before))
    assert sv.CRH().fit(DiskEngine(Pack(tmp_path / "pack"))).converged_
