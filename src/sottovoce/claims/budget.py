"""How much of an uploaded file may be read."""

from dataclasses import dataclass

from sottovoce.errors import SottovoceError


class TooMuch(SottovoceError):
    """A file that is too large for a server to read."""


@dataclass(frozen=True)
class Budget:
    """The most that may be read."""

    rows: int
    unpacked: int  # bytes

    def check_rows(self, name: str, rows: int) -> None:
        if rows > self.rows:
            raise TooMuch(
                f"{name}: {rows:,} claims: at most {self.rows:,} are accepted here; "
                "run the command instead, which accepts any number"
            )
