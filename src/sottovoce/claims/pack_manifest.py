"""The manifest of a pack: a JSON file that lists all other files, with their sizes and hashes."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from sottovoce.claims.writing import whole_file
from sottovoce.errors import UnreadableFile

FORMAT, CHOICE_FORMAT, SET_FORMAT = 2, 3, 4  # of packs of numbers, of choices, and of sets of choices
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class FileEntry:
    """A file of a pack, as the manifest lists it."""

    file: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class BlockEntry(FileEntry):
    """A block: the numbers of its first object and first claim, and how many objects and claims it has."""

    first_object: int
    objects: int
    first_claim: int
    claims: int


@dataclass(frozen=True)
class PackManifest:
    """What the manifest states about a pack."""

    pack: str
    round: int  # 1 for a new pack; each append adds 1
    claims: int
    users: int
    objects: int
    noise: str | None
    skipped: int  # bad rows that were left out on request
    user_table: FileEntry
    object_table: FileEntry
    blocks: tuple[BlockEntry, ...] = field(repr=False)
    answer_table: FileEntry | None = None  # of choices
    cell_table: FileEntry | None = None  # of choices with different options for different objects
    declared: bool = False  # whether the numbers of options were given, and not derived from the claims
    size: int = 1  # options in one claim, each of which has a row in its block: more than 1 if devices report sets

    @property
    def tables(self) -> tuple[FileEntry, ...]:
        """The entries of all tables of labels."""
        tables = self.user_table, self.object_table, self.answer_table, self.cell_table
        return tuple(entry for entry in tables if entry is not None)

    def write(self, folder: Path) -> None:
        content = asdict(self)
        if self.answer_table is None:  # so older versions can read packs of numbers
            for name in ("answer_table", "cell_table", "declared"):
                del content[name]
        if self.size == 1:
            del content["size"]
        version = FORMAT if self.answer_table is None else CHOICE_FORMAT if self.size == 1 else SET_FORMAT
        with whole_file(folder / MANIFEST) as temporary:
            temporary.write_text(json.dumps({"format": version, **content}, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        path = folder / MANIFEST
        if not path.is_file():
            raise UnreadableFile(
                f"{folder}: it has no {MANIFEST}, so it is not a pack that `sottovoce claims pack` wrote; "
                "check the name, or pack the claims first"
            )
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            version = content.pop("format")
            if version in (FORMAT, CHOICE_FORMAT, SET_FORMAT):
                names = ("user_table", "object_table", "answer_table", "cell_table")
                content |= {name: FileEntry(**content[name]) for name in names if content.get(name)}
                content["blocks"] = tuple(BlockEntry(**entry) for entry in content["blocks"])
                manifest = cls(**content)
                manifest._check()
                return manifest
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableFile(
                f"{path}: it is not a valid manifest ({error}); the file is damaged: pack the claims again"
            ) from error
        raise UnreadableFile(
            f"{path}: it has format {version!r}, but this version reads formats {FORMAT} to {SET_FORMAT}; pack the "
            "claims again, or update Sottovoce"
        )

    def _check(self) -> None:
        """Check that blocks follow one another without a gap: a missing block would otherwise go unnoticed."""
        if not isinstance(self.size, int) or self.size < 1:
            raise ValueError(f"its claims name {self.size} options each")
        objects = claims = 0
        for block in self.blocks:
            if (block.first_object, block.first_claim) != (objects, claims):
                raise ValueError(f"{block.file} does not begin where the block before it ends")
            objects, claims = objects + block.objects, claims + block.claims
        if (objects, claims) != (self.objects, self.claims):
            raise ValueError(
                f"its blocks hold {claims:,} claims about {objects:,} objects, and it declares other numbers"
            )
