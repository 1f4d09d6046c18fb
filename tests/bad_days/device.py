"""Devices of many participants in one process, one after the other; to be killed and started again. Run by crowd.py.

``device.py FOLDER LINK...``: each participant joins, releases and sends, and keeps their file in the folder. Prints a
line for each participant who is done, including those who were done before the process was killed.
"""

import sys
from contextlib import suppress
from pathlib import Path

from sottovoce.device import Client, ParticipantFile, RetryPolicy, flush, join, release
from sottovoce.device.cuts import fetch_cuts
from sottovoce.protocol import InvitationLink, Problem

READINGS = {"hall-0": "12.3", "hall-1": "45.6", "hall-2": "78.9"}
PATIENT = RetryPolicy(seconds=120, first=0.05, longest=0.5)


def take_part(link, path):
    with ParticipantFile(path) as file:
        with Client(link.server) as client:
            membership = PATIENT.run(lambda: join(file, link, client, agree=lambda *_: True), PATIENT.deadline())
        fetch_cuts(file, membership.campaign, Client, PATIENT)  # where readings are compared
        with suppress(Problem):  # released before the process died
            release(file, membership.campaign, READINGS)
        flush(file, Client, PATIENT)


if __name__ == "__main__":
    folder, *links = sys.argv[1:]
    for number, text in enumerate(links):
        link = InvitationLink.parse(text)
        take_part(link, Path(folder) / f"{number}.db")
        print(number, flush=True)
