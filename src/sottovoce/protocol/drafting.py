"""From an operator's draft to a manifest, in the oldest format that can express it, so that older devices can join."""

from collections.abc import Mapping
from typing import Any

from sottovoce.errors import BadParameter
from sottovoce.privacy.laws import parse_law
from sottovoce.protocol.format_1 import FirstManifest, FirstTask
from sottovoce.protocol.format_2 import FORMAT as SECOND
from sottovoce.protocol.format_2 import SecondManifest, SecondNumberTask
from sottovoce.protocol.manifest import Manifest
from sottovoce.protocol.problems import Problem

_FIRST_TASK = {*FirstTask.model_fields, "quota"}  # the first format has no quotas: the server keeps them
_FIRST = {*FirstManifest.model_fields}


def drafted(parts: dict[str, Any]) -> Manifest:
    """A manifest from a draft's fields. The campaign's distance applies to number tasks without one of their own."""
    plain = _without_defaults(parts) if parts.get("format") == SECOND else parts
    return Manifest.of(_second(parts) if _needs_second_format(plain) else _first(plain))


def noise_of(laws: list[str]) -> str | dict[str, str]:
    """The noise of a campaign from one law, or from one for numbers and one for choices, in any order."""
    if len(laws) == 1:
        return laws[0]
    kinds = {law: parse_law(law).kinds for law in laws}
    numbers = [law for law in laws if kinds[law] == ("number",)]
    choices = [law for law in laws if "choice" in kinds[law]]
    if len(numbers) != 1 or len(choices) != 1:
        raise BadParameter(
            f"noise {' and '.join(laws)}: a campaign has one law, or one that adds noise to numbers and one for "
            "choices; give fresh:0.5 and response:1, for example, or a campaign as JSON"
        )
    return {"number": numbers[0], "choice": choices[0]}


def replaced(parts: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The draft with these fields replaced. A new distance applies to all numbers, even to those that had their own.

    Where numbers are compared, none has a distance.
    """
    changed, compared = {**parts, **fields}, fields.get("levels") is not None
    if compared:
        changed.pop("distance", None)
    if "tasks" not in fields and (compared or "distance" in fields):
        changed["tasks"] = [
            {name: entry for name, entry in task.items() if name != "distance"} for task in parts["tasks"]
        ]
    return changed


def _needs_second_format(parts: dict[str, Any]) -> bool:
    """Whether there is something that the first format cannot express."""
    texts = [parts.get(name) for name in ("title", "asked_by", "purpose")]
    return (
        bool(parts.keys() - _FIRST)
        or any(isinstance(text, dict) for text in texts)
        or isinstance(parts.get("noise"), dict)
        or _is_for_answers(parts.get("noise"))
        or any(
            task.keys() - _FIRST_TASK - {"kind"}
            or task.get("kind", "number") != "number"
            or any(isinstance(entry, dict) for entry in task.values())
            for task in parts["tasks"]
        )
    )


def _without_defaults(parts: dict[str, Any]) -> dict[str, Any]:
    """A draft in the second format without what the first one implies, so that it can return to the first."""
    usual = {name: field.default for name, field in SecondManifest.model_fields.items()}
    usual |= {"format": SECOND, "answer": min(parts["readings"], len(parts["tasks"]))}
    usual_task = {name: field.default for name, field in SecondNumberTask.model_fields.items()}
    plain = {
        name: entry
        for name, entry in parts.items()
        if (name in _FIRST and name != "format") or entry not in (None, usual.get(name))
    }
    tasks = [
        {name: entry for name, entry in task.items() if name in _FIRST_TASK or entry != usual_task.get(name)}
        for task in parts["tasks"]
    ]
    distances = {task.get("distance", parts.get("distance")) for task in tasks}
    if len(distances) == 1 and None not in distances:
        plain["distance"] = distances.pop()
        tasks = [{name: entry for name, entry in task.items() if name != "distance"} for task in tasks]
    return plain | {"tasks": tasks}


def _is_for_answers(noise: Any) -> bool:
    try:
        return isinstance(noise, str) and "choice" in parse_law(noise).kinds
    except BadParameter:
        return False  # refused later, with its field


def _first(parts: dict[str, Any]) -> dict[str, Any]:
    if parts.get("distance") is None:
        raise Problem(
            "bad_request",
            "distance: it is required for numbers with noise",
            fix="give the distance up to which readings are protected",
        )
    tasks = [{name: entry for name, entry in task.items() if name not in ("quota", "kind")} for task in parts["tasks"]]
    return parts | {"tasks": tasks}


def _second(parts: dict[str, Any]) -> dict[str, Any]:
    distance, tasks = parts.get("distance"), []
    for task in parts["tasks"]:
        kind = task.get("kind") or ("choice" if "choices" in task else "number")
        has_own = kind == "number" and distance is not None and parts.get("levels") is None
        own = {"distance": distance} if has_own else {}
        tasks.append({**own, **task, "kind": kind})
    whole = {name: entry for name, entry in parts.items() if name != "distance" and entry is not None}
    return whole | {"format": SECOND, "tasks": tasks}
