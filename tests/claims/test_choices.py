"""Claims that are choices: from every source, in little memory, to files and packs and back."""

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sottovoce as sv
from sottovoce.claims import Pack, files, pack, pack_claims
from sottovoce.engines import DiskEngine
from sottovoce.errors import BadParameter, BadRow, DuplicateClaim

ROWS = [("ann", "path", "dry"), ("bob", "path", "muddy"), ("cy", "path", "dry"), ("ann", "road", "icy"),
        ("bob", "road", "dry"), ("cy", "road", "icy")]  # fmt: skip
FRAME = pd.DataFrame(ROWS, columns=["user", "object", "value"])


def same(one, other):
    return sorted(map(str, one)) == sorted(map(str, other))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_choices_come_back_from_every_file_and_pack(tmp_path, suffix):
    claims = sv.Claims.from_frame(FRAME)
    assert claims.kind == "choice"
    path = tmp_path / f"claims.{suffix}"
    claims.write(path)
    read = sv.Claims.read(path)
    assert read.kind == "choice"
    assert same(read, ROWS)
    packed = pack(files([path]), tmp_path / "pack")
    assert packed.kind == "choice"
    assert same(packed.claims(), ROWS)
    assert packed.answers.shared == read.answers.shared


@pytest.mark.parametrize("frame", [FRAME, pl.DataFrame(FRAME), pa.table(FRAME), FRAME.astype({"value": "category"})])
def test_choices_come_from_every_kind_of_frame(frame):
    assert same(sv.Claims.from_frame(frame), ROWS)


def test_numbers_are_choices_only_on_request(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_text("user,object,value\na,x,0\nb,x,1\nc,x,10\n")
    assert sv.Claims.read(path).kind == "number"
    claims = sv.Claims.read(path, kind="choice")
    assert claims.answers.of_object(0) == [0, 1, 10]
    assert sv.Claims.from_arrays(list("abc"), list("xxx"), [True, False, True]).kind == "choice"
    with pytest.raises(BadParameter, match="'number' or 'choice'"):
        sv.Claims.read(path, kind="colour")


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_numbers_among_texts_are_refused_with_the_row_and_the_fix(tmp_path, suffix):
    path = tmp_path / f"claims.{suffix}"
    rows = [("a", "x", 1), ("b", "x", "dry"), ("c", "x", 3)]
    if suffix == "csv":
        path.write_text("user,object,value\n" + "".join(f"{u},{o},{v}\n" for u, o, v in rows))
    else:
        path.write_text("".join(json.dumps({"user": u, "object": o, "value": v}) + "\n" for u, o, v in rows))
    with pytest.raises(BadRow, match=r"row 2: value 'dry'.*--kind choice"):
        sv.Claims.read(path)
    with pytest.raises(BadRow, match=r"row 2: value 'dry'.*--kind choice"):
        pack(files([path]), tmp_path / "pack")
    assert not (tmp_path / "pack").exists()
    assert sv.Claims.read(path, kind="choice").kind == "choice"
    assert sv.Claims.read(path, skip_bad=True).skipped == 1


@pytest.mark.parametrize(("options", "bytes_per_code"), [(2, 1), (256, 1), (257, 2)])
def test_a_claim_takes_five_or_six_bytes(options, bytes_per_code):
    answers = np.arange(3 * options) % options
    claims = sv.Claims.from_arrays(np.arange(3 * options), ["x"] * (3 * options), answers, kind="choice")
    assert claims.users.itemsize + claims.values.itemsize == 4 + bytes_per_code
    assert sorted(claims.answers.labels.to_pylist()) == list(range(options))


def test_65535_answers_to_one_object_and_no_more():
    def claims(count):
        return sv.Claims.from_arrays(np.arange(count), np.zeros(count), np.arange(count), kind="choice")

    assert claims(65_535).values.dtype == np.uint16
    with pytest.raises(BadRow, match="at most 65,535"):
        claims(65_536)


def test_options_are_shared_where_objects_have_the_same_ones():
    shared = sv.Claims.from_arrays(list("abab"), list("xxyy"), ["yes", "no", "no", "yes"])
    own = sv.Claims.from_arrays(list("abab"), list("xxyy"), ["Rome", "Roma", "Bern", "Basel"])
    assert shared.answers.shared
    assert not own.answers.shared
    assert own.answers.of_object(1) == ["Basel", "Bern"]
    listed = sv.Claims.from_arrays(
        list("ab"), list("xy"), ["no", "up"], choices={"x": ["yes", "no"], "y": ["up", "down"]}
    )
    assert listed.answers.of_object(0) == ["yes", "no"]
    assert listed.values.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("choices", "error", "message"),
    [
        (["yes"], BadParameter, "at least 2"),
        (["yes", "yes"], BadParameter, "'yes': it is listed twice"),
        ([["yes", "no"], ["up", "down"]], BadParameter, r"'yes', 'no'\]: an option must be a single value; .* mapping"),
        (["no", "perhaps"], BadRow, "answer 'yes' about 'x': it must be one of the object's options"),
        ({"x": ["yes", "no", "perhaps"]}, BadParameter, "object 'y': its options are not given"),
        (2, BadRow, "object 'x' has 3 different answers"),
    ],
)
def test_wrong_options_are_refused(choices, error, message):
    with pytest.raises(error, match=message):
        sv.Claims.from_arrays(list("abcd"), list("xxxy"), ["yes", "no", "perhaps", "yes"], choices=choices)


def test_repeated_answers_are_refused_or_the_last_counts():
    rows = list("aab"), list("xxx"), ["yes", "no", "yes"]
    with pytest.raises(DuplicateClaim, match="row 2: user 'a' makes a second claim about object 'x'"):
        sv.Claims.from_arrays(*rows)
    with pytest.raises(BadParameter, match="choices have no mean"):
        sv.Claims.from_arrays(*rows, duplicates="mean")
    assert list(sv.Claims.from_arrays(*rows, duplicates="last")) == [("a", "x", "no"), ("b", "x", "yes")]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
def test_reported_sets_and_the_number_of_choices_come_back(tmp_path, suffix):
    sets = [["a", "b"], ["b", "c"], ["a", "c"]]
    table = pa.table({
        "user": [1, 2, 3], "object": ["x"] * 3, "value": sets, "noise_law": ["response:1:2"] * 3, "choices": [7] * 3,
    })  # fmt: skip
    claims = sv.Claims.from_frame(table)
    assert (len(claims), claims.size, claims.answers.counts.tolist()) == (3, 2, [7])
    claims.write(tmp_path / f"claims.{suffix}")
    read = sv.Claims.read(tmp_path / f"claims.{suffix}")
    assert [answers for *_, answers in read] == sets
    assert (read.noise, read.answers.counts.tolist()) == ("response:1:2", [7])
    of_file = pack(files([tmp_path / f"claims.{suffix}"]), tmp_path / "of file")
    for packed in (of_file, pack_claims(read, tmp_path / "pack")):
        assert (len(packed), packed.claims_per_user.tolist(), packed.noise) == (3, [1, 1, 1], "response:1:2")
        assert list(packed.claims()) == list(read)
        assert (packed.answers.size, packed.answers.counts.tolist()) == (2, [7])


def test_sets_of_different_sizes_are_refused():
    with pytest.raises(BadRow, match=r"row 2, .*the same number of different options"):
        sv.Claims.from_arrays([1, 2], ["x", "x"], [["a", "b"], ["a"]])


def random_rows(rng, users, objects, answers, own):
    places = [(user, thing) for user in range(users) for thing in range(objects) if rng.random() < 0.6]
    names = [f"{thing if own else ''}{'abcdefgh'[rng.integers(answers)]}" for _, thing in places]
    return [(f"u{user}", f"o{thing}", name) for (user, thing), name in zip(places, names, strict=True)]


@pytest.mark.parametrize("own", [False, True])
def test_rounds_added_to_a_pack_give_what_one_pack_gives(tmp_path, own):
    rows = random_rows(np.random.default_rng(3), 14, 11, 8, own)
    table = pd.DataFrame(rows, columns=["user", "object", "value"])
    first, second = table[table["value"].str[-1] < "e"], table[table["value"].str[-1] >= "e"]
    for name, part in (("all", table), ("first", first), ("second", second)):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    whole = pack(files([tmp_path / "all.csv"]), tmp_path / "whole", claims_per_block=20)
    pack(files([tmp_path / "first.csv"]), tmp_path / "grown", claims_per_block=20)
    grown = pack(files([tmp_path / "second.csv"]), tmp_path / "grown", append=True, claims_per_block=20)
    assert (grown.manifest.round, grown.answers.shared) == (2, whole.answers.shared)
    assert same(grown.claims(), rows)
    assert same(whole.claims(), rows)
    one, other = (sv.Majority().fit(packed.claims()) for packed in (whole, grown))
    assert shares_of(other) == shares_of(one)


def shares_of(fit):
    """Answers that somebody gave, with their shares."""
    return {
        thing: {answer: round(chance, 9) for answer, chance in zip(*row, strict=True) if chance}
        for thing, *row in zip(fit.objects_, fit.answers_, fit.chances_, strict=True)
    }


@pytest.mark.slow
@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_sets_of_several_rounds_give_what_claims_in_memory_give(tmp_path, own, suffix):
    rng = np.random.default_rng(7)
    users, things = (array.tolist() for array in np.nonzero(rng.random((13, 9)) < 0.7))
    sets = [[f"{thing if own else ''}{'edcba'[place]}" for place in rng.permutation(5)[:3]] for thing in things]
    claims = sv.Claims.from_arrays(users, things, sets)
    late = rng.random(len(sets)) < 0.4
    for name, rows in (("first", ~late), ("second", late)):
        some = [[column[row] for row in np.flatnonzero(rows)] for column in (users, things, sets)]
        sv.Claims.from_arrays(*some).write(tmp_path / f"{name}.{suffix}")
    pack(files([tmp_path / f"first.{suffix}"]), tmp_path / "pack", claims_per_block=30)
    again = r"row 1: user \d+ makes a second claim about object \d+ \(first in an earlier"
    with pytest.raises(DuplicateClaim, match=again):
        pack(files([tmp_path / f"first.{suffix}"]), tmp_path / "pack", append=True)
    grown = pack(files([tmp_path / f"second.{suffix}"]), tmp_path / "pack", append=True, claims_per_block=30)
    expected = zip(users, things, map(sorted, sets), strict=True)
    assert same(((*place, sorted(named)) for *place, named in grown.claims()), expected)
    assert len(grown.manifest.blocks) > 2
    assert (len(grown), grown.claims_per_object.tolist()) == (len(sets), np.bincount(things).tolist())
    assert grown.claims_per_user.tolist() == np.bincount(users).tolist()
    assert_same_shares(grown, claims)
    again = pack(files([tmp_path / f"first.{suffix}"]), tmp_path / "pack", append=True, duplicates="last")
    assert_same_shares(again, claims)


def assert_same_shares(packed, claims):
    for method in (sv.Majority, sv.TruthFinder):
        fits = (method(max_iter=3, tol=0).fit(one) for one in (claims, packed.claims(), DiskEngine(packed, 2)))
        one, *others = map(shares_of, fits)
        assert others == [one, one]


def test_claims_of_a_pack_name_as_many_options(tmp_path):
    for name, answers in (("two", '"[""a"", ""b""]"'), ("three", '"[""a"", ""b"", ""c""]"'), ("one", "a")):
        (tmp_path / f"{name}.csv").write_text(f"user,object,value\n{name},x,{answers}\n")
    with pytest.raises(BadRow, match=r"three.csv: claims that name 3 options are mixed with claims that name 2"):
        pack(files([tmp_path / "two.csv", tmp_path / "three.csv"]), tmp_path / "pack")
    assert not (tmp_path / "pack").exists()
    pack(files([tmp_path / "two.csv"]), tmp_path / "pack")
    with pytest.raises(BadRow, match="the new claims name one option each, but those of the pack name 2 options"):
        pack(files([tmp_path / "one.csv"]), tmp_path / "pack", append=True)
    assert list(Pack(tmp_path / "pack").claims()) == [("two", "x", ["a", "b"])]


def test_a_damaged_set_is_found_by_its_row(tmp_path):
    rows = [f'u{row},x,"[{row % 3}, {row % 3 + 1}]"' for row in range(300_000)]
    rows[290_000] = 'me,x,"[1, 1]"'
    (tmp_path / "sets.csv").write_text("\n".join(["user,object,value", *rows]))
    with pytest.raises(BadRow, match=r"row 290001, \[1, 1\]: all reported sets must have"):
        pack(files([tmp_path / "sets.csv"]), tmp_path / "pack")


def test_a_pack_is_of_one_kind(tmp_path):
    (tmp_path / "words.csv").write_text("user,object,value\na,x,yes\nb,x,no\n")
    (tmp_path / "numbers.csv").write_text("user,object,value\na,y,1\nb,y,2\n")
    with pytest.raises(BadRow, match="numbers are mixed with choices"):
        pack(files([tmp_path / "words.csv", tmp_path / "numbers.csv"]), tmp_path / "pack")
    pack(files([tmp_path / "words.csv"]), tmp_path / "pack")
    with pytest.raises(BadRow, match="the new claims are numbers"):
        pack(files([tmp_path / "numbers.csv"]), tmp_path / "pack", append=True)
    assert len(Pack(tmp_path / "pack")) == 2


def test_texts_that_only_look_like_sets_are_answers():
    deep = "[" * 5000 + "]" * 5000
    claims = sv.Claims.from_arrays(["a", "b"], ["x", "x"], [deep, "[[1], [2]]"], kind="choice")
    assert (claims.answers.size, claims.answers.labels.tolist()) == (1, sorted([deep, "[[1], [2]]"]))
    mixed = sv.Claims.from_arrays(["a", "b"], ["x", "x"], ['[1, "one"]', "[2, 99999999999999999999]"], kind="choice")
    assert mixed.answers.size == 2


@pytest.mark.parametrize(
    "choices",
    [2.5, float("nan"), Decimal(2), True, np.True_, np.array(2), "dry", iter(["dry", "wet"])],
    ids=lambda choices: type(choices).__name__,
)
def test_choices_are_a_whole_number_a_list_or_a_mapping(choices):
    with pytest.raises(BadParameter, match="it must be a whole number, a list of options, or a mapping"):
        sv.Claims.from_arrays(["a", "b"], ["x", "x"], ["dry", "wet"], choices=choices)
    for options in (2, "dry"):
        with pytest.raises(BadParameter, match=rf"options {options!r} of object 'x': they must be a list"):
            sv.Claims.from_arrays(["a", "b"], ["x", "x"], ["dry", "wet"], choices={"x": options})
    for options in (("dry", "wet"), np.array(["dry", "wet"]), {"x": ["dry", "wet"]}):
        assert sv.Claims.from_arrays(["a", "b"], ["x", "x"], ["dry", "wet"], choices=options).answers.counts == [2]
    claims = sv.Claims.from_arrays(["a", "b"], ["x", "x"], ["dry", "wet"], choices=np.int64(3))
    assert claims.answers.counts.tolist() == [3]
    assert "1 choice)" in repr(sv.Claims.from_arrays(["a", "b"], ["x", "x"], ["dry", "dry"]))


def test_a_wrong_number_of_choices_is_reported_with_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr("sottovoce.claims.streaming._ROWS_AT_ONCE", 2)
    table = pa.table({
        "user": ["a", "b", "c", "d"], "object": ["x"] * 4, "value": ["p", "q", "p", "q"],
        "noise_law": ["response:1"] * 4, "choices": [2.0, 2.0, 2.0, np.inf],
    })  # fmt: skip
    pa.parquet.write_table(table, tmp_path / "claims.parquet")
    with pytest.raises(BadRow, match="row 4: choices inf: it must be the number of options, 2 or more"):
        pack(files([tmp_path / "claims.parquet"]), tmp_path / "pack")
    with pytest.raises(BadRow, match="row 4: choices inf"):
        sv.Claims.read(tmp_path / "claims.parquet")
