"""Packs hold the same claims as files do, however they were read."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sottovoce as sv
import warm
from sottovoce.claims import packing
from sottovoce.claims.blocks import Pack
from sottovoce.claims.packing import files, pack, pack_claims
from sottovoce.errors import BadParameter, BadRow, DuplicateClaim, MissingColumn, NoClaims, UnreadableFile


@pytest.fixture
def crowd():
    return sv.worlds.synthetic(60, 40, fill=0.4, seed=8).claims


def shuffled(claims, seed=0):
    """A table of the claims in another order, with text labels."""
    table = claims.to_arrow()
    order = np.random.default_rng(seed).permutation(len(claims))
    texts = {name: pa.array([f"{name[0]}{label}" for label in table[name].to_pylist()]) for name in ("user", "object")}
    return pa.table({**texts, "value": table["value"]}).take(pa.array(order))


def write(table, path):
    from sottovoce.claims.writing import write_table

    write_table(table, path)
    return path


def assert_same(packed, claims):
    read = packed.claims()
    assert read.user_labels.tolist() == claims.user_labels.tolist()
    assert read.object_labels.tolist() == claims.object_labels.tolist()
    for name in ("offsets", "users", "values"):
        assert getattr(read, name).tolist() == getattr(claims, name).tolist()
    assert read.noise == claims.noise
    assert packed.claims_per_user.tolist() == claims.claims_per_user.tolist()
    assert packed.claims_per_object.tolist() == claims.claims_per_object.tolist()
    assert (len(packed), packed.manifest.users, packed.manifest.objects) == (
        len(claims),
        claims.n_users,
        claims.n_objects,
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".jsonl"])
def test_a_pack_holds_what_the_file_holds(crowd, tmp_path, suffix):
    path = write(shuffled(crowd), tmp_path / f"claims{suffix}")
    packed = pack(files([path]), tmp_path / "pack", claims_per_block=50)
    assert_same(packed, sv.Claims.read(path))
    assert len(packed.manifest.blocks) > 5
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [path.name, "pack"]


def test_claims_in_memory_can_be_packed(crowd, tmp_path):
    assert_same(pack_claims(crowd, tmp_path / "pack", claims_per_block=100), crowd)


@pytest.mark.parametrize("labels", [["7", "10", "-3"], ["7", "010", "9"], ["7", "x", "9"]])
def test_labels_are_numbers_where_all_are_whole_numbers(tmp_path, monkeypatch, labels):
    path = tmp_path / "claims.csv"
    path.write_text("user,object,value\n" + "".join(f"{label},{label},1\n" for label in labels))
    monkeypatch.setattr("sottovoce.claims.streaming.BLOCK_BYTES", 24)  # the odd one comes in a later chunk
    assert_same(pack(files([path]), tmp_path / "pack"), sv.Claims.read(path))


def test_several_files_and_patterns_are_packed_together(crowd, tmp_path):
    table = shuffled(crowd)
    for number in range(3):
        write(table.slice(number * 300, 300 if number < 2 else None), tmp_path / f"part-{number}.parquet")
    write(table, tmp_path / "whole.csv")
    assert_same(
        pack(files([tmp_path / "part-*.parquet"]), tmp_path / "pack", claims_per_block=80),
        sv.Claims.read(tmp_path / "whole.csv"),
    )
    with pytest.raises(UnreadableFile, match="no file matches"):
        pack(files([tmp_path / "nothing-*.csv"]), tmp_path / "other")


def test_a_pack_keeps_its_noise_law_and_has_only_one(tmp_path):
    for name, law in (("a", "fresh:0.5"), ("b", "shared:0.5")):
        (tmp_path / f"{name}.csv").write_text(f"user,object,value,noise_law\n{name},x,1,{law}\n")
    assert pack(files([tmp_path / "a.csv"]), tmp_path / "pack").noise == "fresh:0.5"
    with pytest.raises(BadRow, match="the same law"):
        pack(files([tmp_path / "a.csv", tmp_path / "b.csv"]), tmp_path / "other")
    with pytest.raises(BadRow, match="the same law"):
        pack(files([tmp_path / "b.csv"]), tmp_path / "pack", append=True)
    assert not (tmp_path / "other").exists()


BAD = {
    "csv": ("user,object,value\n" + "a,x{},1\n" * 9 + "b,y,{}\n").format(*range(9), "{}"),
    "jsonl": "".join(f'{{"user": "a", "object": "x{n}", "value": 1}}\n' for n in range(9))
    + '{{"user": "b", "object": "y", "value": {}}}\n',
}


@pytest.mark.alike
@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("written", ['"much"', "1e200", "null"])
def test_bad_rows_are_reported_or_skipped_as_by_claims(tmp_path, monkeypatch, kind, written):
    monkeypatch.setattr("sottovoce.claims.streaming.BLOCK_BYTES", 64)
    text = BAD[kind] if kind == "csv" else BAD[kind].replace("{{", "{").replace("}}", "}")
    path = tmp_path / f"claims.{kind}"
    head, tail = text.rsplit("{}", 1)
    path.write_text(head + (written if kind == "jsonl" else written.strip('"').replace("null", "")) + tail)
    with pytest.raises(BadRow) as by_claims:
        sv.Claims.read(path)
    with pytest.raises(BadRow) as by_pack:
        pack(files([path]), tmp_path / "pack")
    assert "row 10" in str(by_pack.value)
    # JSON numbers are quoted as written where a line has to be read by itself.
    assert str(by_pack.value).replace("'", "") == str(by_claims.value).replace("'", "")
    assert not (tmp_path / "pack").exists()
    packed = pack(files([path], skip_bad=True), tmp_path / "pack")
    assert_same(packed, sv.Claims.read(path, skip_bad=True))
    assert packed.manifest.skipped == 1


def test_rows_with_too_few_fields_are_reported_and_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr("sottovoce.claims.streaming.BLOCK_BYTES", 40)
    path = tmp_path / "claims.csv"
    rows = [f"a,x{n},{n}" for n in range(30)]
    rows[11] = "a,x11"
    rows[12] = "b"
    rows[-1] = "b"
    path.write_text("\n".join(["user,object,value", *rows]) + "\n")
    with pytest.raises(BadRow, match="row 12: 'a,x11'"):
        pack(files([path]), tmp_path / "pack")
    packed = pack(files([path], skip_bad=True), tmp_path / "pack")
    assert_same(packed, sv.Claims.read(path, skip_bad=True))
    assert packed.manifest.skipped == 3


@pytest.mark.parametrize(
    ("text", "kind"),
    [("who,what,much\na,x,1\n", MissingColumn), ("user,object,value\n", NoClaims), ("", NoClaims)],
)
def test_files_without_claims_are_reported(tmp_path, text, kind):
    (tmp_path / "claims.csv").write_text(text)
    with pytest.raises(kind):
        pack(files([tmp_path / "claims.csv"]), tmp_path / "pack")
    assert [path.name for path in tmp_path.iterdir()] == ["claims.csv"]


def test_repeated_claims_are_reported_with_both_rows(tmp_path):
    (tmp_path / "a.csv").write_text("user,object,value\nann,x,1\nbob,x,2\n")
    (tmp_path / "b.csv").write_text("user,object,value\ncat,x,5\nann,x,3\n")
    with pytest.raises(
        DuplicateClaim,
        match=r"b\.csv, row 2: user 'ann' makes a second claim about object 'x'.*first in .*a\.csv, row 1",
    ):
        pack(files([tmp_path / "a.csv", tmp_path / "b.csv"]), tmp_path / "pack")
    for way, value in (("mean", 2.0), ("last", 3.0)):
        packed = pack(files([tmp_path / "a.csv", tmp_path / "b.csv"]), tmp_path / way, duplicates=way)
        assert {user: claimed for user, _, claimed in packed.claims()} == {"ann": value, "bob": 2.0, "cat": 5.0}
    packed = pack(files([tmp_path / "a.csv"]), tmp_path / "pack")
    with pytest.raises(DuplicateClaim, match=r"b\.csv, row 2: .* \(first in an earlier round\)"):
        pack(files([tmp_path / "b.csv"]), tmp_path / "pack", append=True)
    assert_same(Pack(tmp_path / "pack"), sv.Claims.read(tmp_path / "a.csv"))
    packed = pack(files([tmp_path / "b.csv"]), tmp_path / "pack", append=True, duplicates="last")
    assert {user: claimed for user, _, claimed in packed.claims()} == {"ann": 3.0, "bob": 2.0, "cat": 5.0}


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cells=st.lists(
        st.tuples(st.integers(0, 8), st.integers(0, 12), st.floats(-1e6, 1e6)),
        min_size=3, max_size=60, unique_by=lambda cell: cell[:2],
    ),
    cuts=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    size=st.integers(1, 12),
)  # fmt: skip
def test_rounds_together_hold_the_same_claims_as_one(tmp_path_factory, cells, cuts, size):
    """Labels come in the order of their rounds, so claims are compared by label."""
    folder = tmp_path_factory.mktemp("rounds")
    edges = [0, cuts[0], min(cuts[0] + cuts[1], len(cells)), len(cells)]
    claimed = [cells[first:last] for first, last in itertools.pairwise(edges) if first < last]
    for number, part in enumerate(claimed):
        users, objects, values = zip(*part, strict=True)
        path = folder / f"{number}.parquet"
        write(pa.table({"user": users, "object": objects, "value": values}), path)
        packed = pack(files([path]), folder / "pack", append=number > 0, claims_per_block=size)
    assert packed.manifest.round == len(claimed)
    assert {(user, thing): value for user, thing, value in packed.claims()} == {cell[:2]: cell[2] for cell in cells}
    labels = packed.object_labels.tolist()
    last_round = {thing: number for number, part in enumerate(claimed) for _, thing, _ in part}
    assert packed.object_ages.tolist() == [len(claimed) - 1 - last_round[label] for label in labels]
    assert packed.claims_per_user.tolist() == np.bincount(packed.claims().users).tolist()
    assert (
        len(list((folder / "pack").iterdir())) == len(packed.manifest.blocks) + 3
    )  # nothing of earlier rounds is left


def test_only_touched_blocks_are_written_again(crowd, tmp_path):
    packed = pack_claims(crowd, tmp_path / "pack", claims_per_block=100)
    before = {entry.first_object: entry.file for entry in packed.manifest.blocks}
    label = packed.object_labels[0]
    write(pa.table({"user": [999], "object": [label], "value": [1.0]}), tmp_path / "new.parquet")
    packed = pack(files([tmp_path / "new.parquet"]), tmp_path / "pack", append=True, claims_per_block=100)
    kept = {entry.file for entry in packed.manifest.blocks} & set(before.values())
    assert set(before.values()) - kept == {before[0]}
    assert packed.user_labels[-1] == 999


def test_numbers_become_text_when_a_round_brings_text(tmp_path):
    (tmp_path / "a.csv").write_text("user,object,value\n1,10,1\n2,9,2\n")
    (tmp_path / "b.csv").write_text("user,object,value\nann,10,3\n1,hall,4\n")
    pack(files([tmp_path / "a.csv"]), tmp_path / "pack")
    packed = pack(files([tmp_path / "b.csv"]), tmp_path / "pack", append=True)
    assert packed.user_labels.tolist() == ["1", "2", "ann"]
    assert packed.object_labels.tolist() == ["9", "10", "hall"]
    assert set(packed.claims()) == {("1", "10", 1.0), ("2", "9", 2.0), ("ann", "10", 3.0), ("1", "hall", 4.0)}


def test_an_object_larger_than_a_block_has_its_own_block(tmp_path):
    claims = sv.Claims.from_matrix(np.random.default_rng(0).normal(size=(50, 4)))
    packed = pack_claims(claims, tmp_path / "pack", claims_per_block=10)
    assert [entry.claims for entry in packed.manifest.blocks] == [50] * 4
    assert_same(packed, claims)


def test_a_pack_is_not_overwritten_and_a_mistaken_folder_is_reported(crowd, tmp_path):
    pack_claims(crowd, tmp_path / "pack")
    path = write(shuffled(crowd), tmp_path / "claims.csv")
    with pytest.raises(UnreadableFile, match="already exists"):
        pack(files([path]), tmp_path / "pack")
    with pytest.raises(UnreadableFile, match=r"manifest\.json"):
        pack(files([path]), tmp_path, append=True)
    with pytest.raises(BadParameter, match="500MB"):
        pack(files([path]), tmp_path / "new", memory="plenty")
    with pytest.raises(BadParameter, match=r"^memory 1KB: .* \(Out of Memory .*\); give more with memory="):
        pack(files([path]), tmp_path / "new", memory="1KB")
    with pytest.raises(BadParameter, match="duplicates"):
        pack(files([path]), tmp_path / "new", duplicates="first")


def test_a_round_with_another_noise_law_is_refused(tmp_path):
    for name, law in (("a.csv", "shared:1"), ("b.csv", "shared:2")):
        (tmp_path / name).write_text(f"user,object,value,noise_law\n{name},x,1,{law}\n")
    pack(files([tmp_path / "a.csv"]), tmp_path / "pack")
    with pytest.raises(BadRow, match="new claims have noise law 'shared:2', but those of the pack have 'shared:1'"):
        pack(files([tmp_path / "b.csv"]), tmp_path / "pack", append=True)


def test_only_one_appends_at_a_time(crowd, tmp_path):
    from sottovoce.claims.writing import exclusive_lock

    pack_claims(crowd, tmp_path / "pack")
    path = write(shuffled(crowd), tmp_path / "claims.csv")
    with exclusive_lock(tmp_path / "pack" / "manifest.json"), pytest.raises(UnreadableFile, match="another process"):
        pack(files([path]), tmp_path / "pack", append=True)


def test_an_append_that_fails_leaves_the_pack_as_it_was(crowd, tmp_path, monkeypatch):
    pack_claims(crowd, tmp_path / "pack", claims_per_block=100)
    before = sorted((entry.name, entry.read_bytes()) for entry in (tmp_path / "pack").iterdir())
    table = crowd.to_arrow()
    others = pa.array([label + 1000 for label in table["user"].to_pylist()])
    path = write(table.set_column(0, "user", others), tmp_path / "claims.csv")
    written = []

    def break_later(rows, *arguments):
        written.append(rows)
        if len(written) > 3:
            assert len(list((tmp_path / "pack").iterdir())) > len(before)
            raise KeyboardInterrupt
        return rows

    monkeypatch.setattr(packing, "_one_claim_each", break_later)
    with pytest.raises(KeyboardInterrupt):
        pack(files([path]), tmp_path / "pack", append=True, claims_per_block=100)
    assert sorted((entry.name, entry.read_bytes()) for entry in (tmp_path / "pack").iterdir()) == before


FULL = """
import resource, sys
from sottovoce.claims.packing import files, pack
from sottovoce.errors import SottovoceError
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
try:
    pack(files([sys.argv[1]]), sys.argv[2], append=sys.argv[4] == "append", claims_per_block=30_000)
except SottovoceError as error:
    print(error)
"""


@pytest.mark.parametrize("mode", ["new", "append"])
@pytest.mark.parametrize("limit", [100_000, 600_000])
def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path, mode, limit):
    """The system refuses files beyond a size, as a full disk does: those of the sorting, or the blocks."""
    rng = np.random.default_rng(0)
    table = pa.table({"user": rng.permutation(60_000) % 200, "object": np.arange(60_000), "value": rng.random(60_000)})
    path = write(table, tmp_path / "claims.parquet")
    if mode == "append":
        pack_claims(sv.worlds.synthetic(9, 9, seed=1).claims, tmp_path / "pack")
    before = sorted(entry.name for entry in tmp_path.rglob("*"))
    ran = warm.run(["-c", FULL, path, tmp_path / "pack", limit, mode])
    assert ran.returncode == 0, ran.stderr
    assert "free some space" in ran.stdout
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == before


def test_progress_is_reported(crowd, tmp_path):
    calls = []
    path = write(shuffled(crowd), tmp_path / "claims.csv")
    pack(
        files([path], progress=lambda *now: calls.append(now)),
        tmp_path / "pack",
        progress=lambda *now: calls.append(now),
    )
    assert [stage for stage, _ in calls] == sorted(
        (stage for stage, _ in calls), key=["reading", "sorting", "writing"].index
    )
    assert calls[-1] == ("writing", 1.0)
    assert all(0 <= share <= 1 for _, share in calls)


def test_the_manifest_counts_claims_users_objects_and_bytes(crowd, tmp_path):
    pack_claims(crowd, tmp_path / "pack", claims_per_block=100)
    said = json.loads((tmp_path / "pack" / "manifest.json").read_text())
    assert (said["claims"], said["users"], said["objects"]) == (len(crowd), crowd.n_users, crowd.n_objects)
    for entry in [*said["blocks"], said["user_table"], said["object_table"]]:
        assert (tmp_path / "pack" / entry["file"]).stat().st_size == entry["bytes"]
