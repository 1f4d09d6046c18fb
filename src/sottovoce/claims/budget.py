"""How much of somebody else's file may be taken in."""

from dataclasses import dataclass

from sottovoce.errors import SottovoceError


class TooMuch(SottovoceError):
    """A file that a server should not be kept busy with."""


@dataclass(frozen=True)
class Budget:
    """What may be taken in."""

    rows: int
    unpacked: int  # bytes

    def check_rows(self, name: str, rows: int) -> None:
        if rows > self.rows:
            raise TooMuch(
                f"{name}: {rows:,} claims: at most {self.rows:,} are taken here; "
                "run the command instead, which takes any number"
            )
