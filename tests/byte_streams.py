"""Byte streams from a seed, as the test vectors define them: the same seed gives the same bytes in any language."""

from hashlib import sha256

from sottovoce.privacy.sampler import ByteStream


def seeded_bytes(seed):
    """A reader of SHA-256(seed ‖ counter) for counter = 0, 1, 2, … (four bytes, big-endian), one after the other."""
    pool, counter = b"", 0

    def read(count):
        nonlocal pool, counter
        while len(pool) < count:
            pool += sha256(seed.encode() + counter.to_bytes(4, "big")).digest()
            counter += 1
        taken, pool = pool[:count], pool[count:]
        return taken

    return read


def seeded_stream(seed):
    return ByteStream(seeded_bytes(seed))
