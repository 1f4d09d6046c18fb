"""Packs with damaged, truncated, missing and foreign files: a clear error, and nothing silently skipped."""

import json
import pickle
import time

import numpy as np
import pytest

import sottovoce as sv
from sottovoce.claims.blocks import Pack
from sottovoce.claims.packing import pack_claims
from sottovoce.engines import DiskEngine
from sottovoce.errors import UnreadableFile


@pytest.fixture
def packed(tmp_path):
    return pack_claims(sv.worlds.synthetic(50, 30, seed=1).claims, tmp_path / "pack", claims_per_block=300)


def fit(folder):
    return sv.CRH().fit(DiskEngine(Pack(folder), threads=2))


def every_file(packed):
    return [*packed.manifest.blocks, packed.manifest.user_table, packed.manifest.object_table]


def test_a_flipped_bit_anywhere_in_any_file_is_found(packed):
    rng = np.random.default_rng(3)
    fit(packed.folder)
    for entry in every_file(packed):
        path = packed.folder / entry.file
        whole = path.read_bytes()
        for place in rng.integers(0, len(whole), 5):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << int(rng.integers(8))
            path.write_bytes(damaged)
            with pytest.raises(UnreadableFile, match=f"{entry.file}: .*damaged"):
                fit(packed.folder)
        path.write_bytes(whole)
    fit(packed.folder)


def test_a_flipped_bit_in_what_describes_a_file_is_reported_like_any_other(packed):
    path = packed.folder / packed.manifest.blocks[0].file
    whole = path.read_bytes()
    for place in (*range(0, 700, 3), *range(-700, 0, 3)):
        damaged = bytearray(whole)
        damaged[place] ^= 16
        path.write_bytes(damaged)
        with pytest.raises(UnreadableFile, match="damaged"):
            Pack(packed.folder).block(0)


def test_after_an_error_no_thread_goes_on_reading(packed):
    class Slow(Pack):
        reading = 0
        read = 0

        def block(self, number):
            self.reading += 1
            try:
                if number == 0:
                    raise UnreadableFile("the first block is damaged")
                time.sleep(0.2)
                self.read += 1
                return super().block(number)
            finally:
                self.reading -= 1

    slow = Slow(packed.folder)
    with pytest.raises(UnreadableFile, match="the first block"):
        sv.CRH().fit(DiskEngine(slow, threads=2))
    assert slow.reading == 0
    assert slow.read < len(slow.manifest.blocks) - 1  # what had not begun was cancelled


@pytest.mark.parametrize("size", [0, 100, -1])
def test_a_truncated_file_is_found(packed, size):
    for entry in every_file(packed):
        path = packed.folder / entry.file
        whole = path.read_bytes()
        path.write_bytes(whole[:size])
        with pytest.raises(UnreadableFile, match=rf"{entry.file}: it has \d+ bytes, not .*damaged"):
            fit(packed.folder)
        path.write_bytes(whole)


def test_a_missing_file_is_found(packed):
    for entry in every_file(packed):
        path = packed.folder / entry.file
        path.rename(path.with_suffix(".away"))
        with pytest.raises(UnreadableFile, match=f"{entry.file}: the file is missing"):
            fit(packed.folder)
        path.with_suffix(".away").rename(path)


def test_a_block_of_another_pack_is_found(packed, tmp_path):
    other = pack_claims(sv.worlds.synthetic(50, 30, seed=2).claims, tmp_path / "other", claims_per_block=300)
    mine, theirs = packed.manifest.blocks[2], other.manifest.blocks[2]
    assert mine.bytes == theirs.bytes  # only its content shows it
    (packed.folder / mine.file).write_bytes((other.folder / theirs.file).read_bytes())
    with pytest.raises(UnreadableFile, match=f"belongs to another pack .{other.manifest.pack}"):
        fit(packed.folder)


def test_blocks_of_one_pack_cannot_change_places(packed):
    first, second = (packed.folder / entry.file for entry in packed.manifest.blocks[:2])
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    with pytest.raises(UnreadableFile, match="damaged"):
        fit(packed.folder)


def test_a_block_that_is_cut_short_during_a_run_is_found(packed):
    engine = DiskEngine(Pack(packed.folder), threads=2)
    last = packed.folder / packed.manifest.blocks[-1].file

    def cut(iteration, move):
        if iteration == 2:
            last.write_bytes(last.read_bytes()[:-64])

    with pytest.raises(UnreadableFile, match="damaged"):
        sv.CRH(max_iter=5, tol=0).fit(engine, progress=cut)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda said: said["blocks"].pop(1), "does not begin where the block before it ends"),
        (lambda said: said["blocks"].pop(), "and it declares other numbers"),
        (lambda said: said.update(format=99), "format 99"),
        (lambda said: said.pop("pack"), "not a valid manifest"),
        (lambda said: said["blocks"][0].update(bytes="many"), "bytes, not many"),
    ],
)
def test_a_manifest_that_does_not_fit_is_reported(packed, change, words):
    path = packed.folder / "manifest.json"
    said = json.loads(path.read_text())
    change(said)
    path.write_text(json.dumps(said))
    with pytest.raises(UnreadableFile, match=words):
        fit(packed.folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 2}'])
def test_a_file_that_is_not_a_manifest_is_reported(packed, text):
    (packed.folder / "manifest.json").write_text(text)
    with pytest.raises(UnreadableFile, match="not a valid manifest"):
        Pack(packed.folder)


def test_a_folder_without_a_manifest_is_reported(tmp_path):
    with pytest.raises(UnreadableFile, match="sottovoce claims pack"):
        Pack(tmp_path)


def test_a_pickled_pack_checks_its_files_again(packed):
    fit(packed.folder)
    content = pickle.dumps(packed)
    path = packed.folder / packed.manifest.blocks[0].file
    damaged = bytearray(path.read_bytes())
    damaged[-100] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(UnreadableFile, match="damaged"):
        sv.CRH().fit(DiskEngine(pickle.loads(content)))
