"""Claims: who says what about which object, as compact arrays sorted by object."""

from sottovoce.claims.table import Claims

__all__ = ["Claims"]
