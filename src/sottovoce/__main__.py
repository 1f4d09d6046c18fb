"""Runs the command ``sottovoce`` as ``python -m sottovoce``."""

from sottovoce.cli import main

if __name__ == "__main__":
    main()
