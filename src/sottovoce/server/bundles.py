"""The page's modules in a few bundles: a phone on a slow network loads them at once, instead of forty files in turn.

A bundle holds the modules that one of the page's scripts imports, as they were written: each becomes a function that
returns what the module exports. Modules outside the bundles import from them, so that every module exists once. A
module in a bundle can still be imported from its own address.
"""

import re
from collections.abc import Iterator, Mapping

# The script with the fewest imports comes first: a bundle leaves out what an earlier one holds.
_SCRIPTS = {"language": "language-switch.js", "noise": "noise-worker.js", "views": "app.js"}
_IMPORT = re.compile(r'^import (\{[^}]*\}|\* as \w+) from "\./([\w-]+\.js)";', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|const|class) (\w+))", re.MULTILINE)
_UNBUNDLED = re.compile(r"^(?:import|export)\b.*|^await\b.*", re.MULTILINE)

Sources = Mapping[str, str]


def bundled(sources: Sources) -> tuple[dict[str, str], dict[str, str]]:
    """The scripts that a page of these modules loads, and the modules that are in bundles, by their own addresses."""
    bundle_of: dict[str, str] = {}
    contents: dict[str, list[str]] = {}
    for name, script in _SCRIPTS.items():
        left_out = {*bundle_of, *_SCRIPTS.values()}
        modules = [one for one in _imported_by(script, sources, {}) if one not in left_out]
        contents[f"bundle-{name}.js"] = modules
        bundle_of |= dict.fromkeys(modules, f"bundle-{name}.js")
    files = {bundle: _bundle(modules, sources, bundle_of) for bundle, modules in contents.items()}
    files |= {name: _importing(source, bundle_of) for name, source in sources.items() if name not in bundle_of}
    return files, {name: _address(name, sources[name], bundle) for name, bundle in bundle_of.items()}


def _imported_by(name: str, sources: Sources, found: dict[str, None]) -> dict[str, None]:
    """A module after all that it imports, each once."""
    for _, other in _IMPORT.findall(sources[name]):
        if other not in found:
            _imported_by(other, sources, found)
    found[name] = None
    return found


def _bundle(modules: list[str], sources: Sources, bundle_of: Mapping[str, str]) -> str:
    others = {other: None for name in modules for _, other in _IMPORT.findall(sources[name]) if other not in modules}
    needed = [_import(other, bundle_of[other]) for other in others]
    return "\n".join([*needed, *(_function(name, sources[name]) for name in modules)])


def _function(name: str, source: str) -> str:
    """A module as a function that is called once."""
    body = _EXPORT.sub("", _IMPORT.sub(lambda found: _taken(found[1], found[2]), source))
    if left := _UNBUNDLED.search(body):
        raise ValueError(
            f"{left[0]!r} in {name}: a module in a bundle imports names in braces or '* as' a name, exports functions, "
            "constants and classes one by one, and has no await outside functions; write it like that"
        )
    return f"// {name}\nexport const {_namespace(name)} = (() => {{\n{body}\nreturn {{ {_exports(source)} }};\n}})();\n"


def _importing(source: str, bundle_of: Mapping[str, str]) -> str:
    """A module that is not in a bundle, importing from the bundles."""

    def replaced(found: re.Match[str]) -> str:
        names, name = found.groups()
        return f"{_import(name, bundle_of[name])} {_taken(names, name)}" if name in bundle_of else found[0]

    return _IMPORT.sub(replaced, source)


def _address(name: str, source: str, bundle: str) -> str:
    return f"{_import(name, bundle)}\nexport const {{ {_exports(source)} }} = {_namespace(name)};\n"


def _import(name: str, bundle: str) -> str:
    return f'import {{ {_namespace(name)} }} from "./{bundle}";'


def _taken(names: str, name: str) -> str:
    pattern = names.replace(" as ", ": ") if names.startswith("{") else names.removeprefix("* as ")
    return f"const {pattern} = {_namespace(name)};"


def _exports(source: str) -> str:
    return ", ".join(_EXPORT.findall(source))


def _namespace(name: str) -> str:
    return "$" + name.removesuffix(".js").replace("-", "_")


def loaded_first(files: Sources) -> Iterator[str]:
    """The scripts that the page starts with, and everything that they import: all can be loaded at once."""
    seen: dict[str, None] = {}
    for script in (_SCRIPTS["language"], _SCRIPTS["views"]):
        _imported_by(script, files, seen)
    return iter(seen)
