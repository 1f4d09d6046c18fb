"""A campaign with choices that tests of the protocol, the device and the server share."""

from sottovoce.protocol import Manifest

PATH = {"id": "path", "kind": "choice", "title": "Is the path passable?", "choices": ["yes", "no"]}
BIRD = {"id": "bird", "kind": "choice", "title": "Which bird is it?", "choices": ["finch", "robin", "wren", "tit"]}
WIDTH = {"id": "width", "kind": "number", "title": "How wide is it?", "unit": "m", "low": 0, "high": 10, "grid": "0.1",
         "distance": 1}  # fmt: skip


def second(**changes):
    """Two questions and a number: a pure ε of 1 for each answer."""
    return Manifest.of(
        {
            "format": "sottovoce-manifest/2",
            "campaign": "paths",
            "title": "Paths in the park",
            "asked_by": "City gardens",
            "tasks": [PATH, BIRD, WIDTH],
            "noise": {"number": "fresh:0.5", "choice": "response:1"},
            "readings": 3,
            **changes,
        }
    )


def only(*tasks, **changes):
    """Some of the tasks, under one law."""
    kinds = {task["kind"] for task in tasks}
    noise = {"choice": "response:1.0", "number": "fresh:0.5"}
    one_law = {"noise": noise[kinds.pop()]} if len(kinds) == 1 else {}
    return second(**{"tasks": list(tasks), **one_law, **changes})


# As an operator writes them.
ASKED_PATH = {"id": "path", "title": "Is the path passable?", "choices": ["yes", "no"]}
ASKED_BIRD = {"id": "bird", "title": "Which bird is it?", "choices": ["finch", "robin", "wren", "tit"]}
ASKED_WIDTH = {"id": "width", "title": "How wide?", "unit": "m", "low": 0, "high": 10, "grid": 0.1}
MIXED = {
    "tasks": [ASKED_PATH, ASKED_WIDTH, ASKED_BIRD],
    "noise": {"number": "fresh:0.5", "choice": "response:2"},
    "readings": 3,
}


def answered(server, campaign, people, choose):
    """Everybody answers; what they answer depends on their number only."""
    tokens = server.participants(campaign, people)
    for number, token in enumerate(tokens):
        reply = server.report(campaign, token, server.body(campaign, choose(number)))
        assert reply.status_code == 201, reply.text
    return tokens


def mostly(number):
    """The answers of a participant by number: of ten, seven say yes, and six say robin."""
    return {"path": 0 if number % 10 < 7 else 1, "bird": 1 if number % 10 < 6 else number % 4, "width": 40 + number % 5}
