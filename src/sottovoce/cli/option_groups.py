"""Options that several commands share: a dataclass, each field of which is an option."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter whose type is a dataclass with one option per field of it."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if isinstance(kind, type) and is_dataclass(kind)}

    @wraps(command)
    def gather(**options: Any) -> None:
        for name, kind in groups.items():
            options[name] = kind(**{field.name: options.pop(field.name) for field in fields(kind)})
        command(**options)

    shown: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name not in groups:
            shown.append(parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        group = groups[parameter.name]
        notes = get_type_hints(group, include_extras=True)
        shown += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=notes[field.name]
            )
            for field in fields(group)
        ]
    gather.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    gather.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return gather
