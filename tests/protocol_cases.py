"""Valid manifests of the second format, and invalid ones with parts of their error messages."""

from questions import BIRD, PATH, WIDTH

PLAN = {"sha256": "ab" * 32, "type": "image/png"}
COMPARED = {name: entry for name, entry in WIDTH.items() if name != "distance"}
# Variation selectors, fillers and blanks, which Unicode counts as printable
INVISIBLE = "\ufe0f\ufe00\U000e0100\U000e01ef\u034f\u115f\u1160\u17b4\u180b\u180f\u2800\u3164\uffa0\U0001d159"
WHOLE = {
    "pictures with variation selectors": {"tasks": [PATH | {"choices": ["\u2764\ufe0f", "\u2600\ufe0f"]}, WIDTH]},
    "several languages": {"title": {"en": "Paths", "de": "Wege", "zh-Hans": "小路"}, "contact": "gardens@example.org"},
    "one law for all": {"noise": "response:1", "levels": 2, "tasks": [PATH, COMPARED]},
    "sets of choices": {"noise": "response:1:2", "tasks": [BIRD]},
    "a hundred choices": {"noise": "response:1", "tasks": [PATH | {"choices": [f"c{n}" for n in range(100)]}]},
    "a few of the tasks": {"answer": 1},
    "a place on a plan": {
        "plan": {"sha256": "ab" * 32, "type": "image/png"},
        "tasks": [PATH | {"place": [[0, 10_000]]}, BIRD, WIDTH | {"place": [[1, 2], [3, 4]]}],
    },
    "an instrument": {
        "tasks": [PATH, WIDTH | {"instrument": "sound-level", "quota": 30, "help": "Stand still.\nWait."}]
    },
    "a sound level over a minute": {"tasks": [PATH, WIDTH | {"instrument": "sound-level:60"}]},
    "a sound level over the longest time": {"tasks": [PATH, WIDTH | {"instrument": "sound-level:3600"}]},
    "what is done with the readings": {"retention": 0, "public_results": False, "logo": "cd" * 32},
    "different distances, added up": {
        "unit": "participant",
        "tasks": [WIDTH, WIDTH | {"id": "w2", "grid": 1, "distance": 2}],
        "noise": "fresh:0.5",
    },
    "a deadline": {"deadline": "2030-01-31T12:00:00Z"},
}


def texts(**words):
    return words


WRONG = {
    "no choice": ({"tasks": [PATH | {"choices": []}]}, "at least 2 entries"),
    "one choice": ({"tasks": [PATH | {"choices": ["yes"]}]}, "at least 2 entries"),
    "101 choices": ({"tasks": [PATH | {"choices": [f"c{n}" for n in range(101)]}]}, "at most 100 entries"),
    "choices that differ in case": ({"tasks": [PATH | {"choices": ["Yes", "yes"]}]}, "more than spaces, case and"),
    "choices that differ in spaces": (
        {"tasks": [PATH | {"choices": ["no path", "nopath", "x"]}]},
        "'no path' and 'nopath'",
    ),
    "choices that differ in a sharp s": (
        {"tasks": [PATH | {"choices": ["Straße", "STRASSE"]}]},
        "more than spaces",
    ),
    **{
        f"choices that differ in the invisible {ord(one):X}": (
            {"tasks": [PATH | {"choices": ["\u2764", "\u2764" + one]}]},
            "and invisible characters",
        )
        for one in INVISIBLE
    },
    "an invisible character between a letter and its accent": (
        {"tasks": [PATH | {"choices": ["caf\u00e9", "cafe\ufe0f\u0301"]}]},
        "and invisible characters",
    ),
    **{
        f"a choice that is nothing but {ord(one):X}": (
            {"tasks": [PATH | {"choices": ["yes", f"{one} {one}"]}]},
            "one visible character",
        )
        for one in INVISIBLE
    },
    "a title without ink in another language": ({"title": {"en": "Paths", "ko": "\u3164"}}, "one visible character"),
    "a task without a visible title": ({"tasks": [PATH | {"title": "\u2800"}, WIDTH]}, "one visible character"),
    "an id without ink": ({"tasks": [PATH | {"id": "\uffa0"}, WIDTH]}, "one visible character"),
    "choices alike in another language": (
        {"tasks": [PATH | {"choices": [texts(en="yes", de="Ja"), texts(en="no", de="ja")]}]},
        "'Ja' and 'ja'",
    ),
    "a choice alike in a language that it is not given in": (
        {"tasks": [PATH | {"choices": [texts(en="yes", de="no"), "no"]}]},
        "more than spaces",
    ),
    "an empty choice": ({"tasks": [PATH | {"choices": ["yes", ""]}]}, "1 to 200 characters"),
    "spaces around a choice": ({"tasks": [PATH | {"choices": ["yes", " no"]}]}, "without spaces around it"),
    "a choice that is a number": ({"tasks": [PATH | {"choices": ["yes", 2]}]}, "must be text"),
    "no kind": ({"tasks": [{k: v for k, v in PATH.items() if k != "kind"}]}, "kind"),
    "another kind": ({"tasks": [PATH | {"kind": "colour"}]}, "kind"),
    "a number with choices": ({"tasks": [WIDTH | {"choices": ["a", "b"]}]}, "there is no such field"),
    "a choice with a range": ({"tasks": [PATH | {"low": 0}]}, "there is no such field"),
    "numbers without a distance": ({"tasks": [COMPARED, PATH]}, "must be given for noise"),
    "comparisons with a distance": ({"noise": "response:1", "levels": 2}, "left out for comparisons"),
    "comparisons without levels": ({"noise": "response:1"}, "levels must be 2 or 4"),
    "levels without comparisons": ({"levels": 2}, "levels must be 2 or 4"),
    "three levels": ({"noise": "response:1", "levels": 3}, "levels"),
    "noise for numbers on choices": ({"noise": "fresh:0.5"}, "must be a law for choice tasks"),
    "a law for a kind that is not there": ({"tasks": [PATH]}, "noise must be one law"),
    "the same law twice": ({"noise": {"number": "response:1", "choice": "response:1.0"}}, "noise must be one law"),
    "a set as large as all choices": ({"tasks": [PATH], "noise": "response:1:2"}, "smaller"),
    "an unknown kind of law": ({"noise": {"number": "fresh:1", "colour": "response:1"}}, "noise"),
    "more answers than tasks": ({"answer": 4, "readings": 5}, "at most 3"),
    "more answers than readings": ({"answer": 3, "readings": 2}, "at most 2"),
    "no answer": ({"answer": 0}, "answer"),
    "a place without a plan": ({"tasks": [PATH | {"place": [[1, 1]]}, WIDTH]}, "on a plan"),
    "a place beside the plan": (
        {"plan": {"sha256": "ab" * 32, "type": "image/png"}, "tasks": [WIDTH | {"place": [[1, 10_001]]}, PATH]},
        "at most 10,000",
    ),
    "a plan that is a program": ({"plan": {"sha256": "ab" * 32, "type": "text/html"}}, "image/png"),
    "an unknown instrument": ({"tasks": [WIDTH | {"instrument": "camera"}, PATH]}, "instrument"),
    "a sound level over no time": ({"tasks": [WIDTH | {"instrument": "sound-level:0"}, PATH]}, "from 1 to 3600"),
    "a sound level over too long": ({"tasks": [WIDTH | {"instrument": "sound-level:3601"}, PATH]}, "from 1 to 3600"),
    "a sound level over a fraction": ({"tasks": [WIDTH | {"instrument": "sound-level:1.5"}, PATH]}, "from 1 to 3600"),
    "another digit": ({"tasks": [WIDTH | {"instrument": "sound-level:६०"}, PATH]}, "from 1 to 3600"),
    "steps over a time": ({"tasks": [WIDTH | {"instrument": "steps:60"}, PATH]}, "from 1 to 3600"),
    "an instrument that is a number": ({"tasks": [WIDTH | {"instrument": 60}, PATH]}, "instrument"),
    "a line after the instrument": ({"tasks": [WIDTH | {"instrument": "sound-level:60\n"}, PATH]}, "instrument"),
    "a text without the campaign's language": ({"title": {"de": "Wege", "fr": "Chemins"}}, "must be given in 'en' too"),
    "a text in one language, as if in several": ({"title": {"en": "Paths"}}, "2 to 20 languages"),
    "a language that is none": ({"title": {"en": "Paths", "Deutsch": "Wege"}}, "must be a tag"),
    "a distance for all": ({"distance": 1}, "there is no such field"),
    "retention for ever": ({"retention": 10**6}, "retention"),
    "several distances judged together": (
        {"unit": "participant", "noise": "gaussian:5", "tasks": [WIDTH, WIDTH | {"id": "w2", "distance": 2}]},
        "one grid and one distance",
    ),
    "a third format": ({"format": "sottovoce-manifest/3"}, "it must be"),
}
