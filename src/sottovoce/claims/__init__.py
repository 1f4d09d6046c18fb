"""Claims: who says what about which object, as compact arrays sorted by object; in memory, or on disk as a pack."""

from sottovoce.claims.blocks import Pack
from sottovoce.claims.packing import files, pack, pack_claims
from sottovoce.claims.table import Claims

__all__ = ["Claims", "Pack", "files", "pack", "pack_claims"]
