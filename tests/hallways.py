"""A small campaign that tests of the protocol and the device share."""

from sottovoce.protocol import Manifest


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
