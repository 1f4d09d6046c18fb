"""A small campaign that tests of the protocol and the device share, and a small table of claims."""

from sottovoce.protocol import Manifest

HALLWAY_CLAIMS = """who,where,metres
ann,north hall,24.1
ann,south hall,18.6
ann,stairs,6.2
bob,north hall,23.8
bob,south hall,18.9
bob,library,31.0
cleo,north hall,29.5
cleo,stairs,8.4
cleo,library,38.2
dan,south hall,18.7
dan,library,30.6
eve,north hall,24.0
eve,south hall,18.8
eve,stairs,6.1
eve,library,30.8
"""


def manifest(**changes):
    """Three hallways, fresh noise: a pure ε of 1 for each reading."""
    return Manifest.of(
        {
            "campaign": "hallways",
            "title": "How long are the hallways?",
            "asked_by": "Facility management",
            "tasks": [
                {"id": f"hall-{n}", "title": f"Hallway {n}", "unit": "m", "low": "0", "high": "100", "grid": "0.1"}
                for n in (1, 2, 3)
            ],
            "noise": "fresh:0.5",
            "distance": "1",
            "readings": 3,
            **changes,
        }
    )
