"""Running the command line as a user does."""

import csv

import warm


def run(*arguments, **options):
    return warm.run(["-m", "sottovoce", *arguments], **options)


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))
