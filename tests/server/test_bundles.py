"""The page's modules in bundles: each exists once, whole, and at its own address too."""

import re
from importlib.resources import files

import pytest

from sottovoce.server.bundles import bundled

PAGE = files("sottovoce") / "device" / "page"
SOURCES = {entry.name: entry.read_text() for entry in PAGE.iterdir() if entry.name.endswith(".js")}
EXPORTED = re.compile(r"^export (?:async )?\w+\*? (\w+)", re.MULTILINE)


def small_page(**sources):
    """Three scripts and what they import."""
    scripts = {
        "language-switch.js": 'import { say } from "./a.js";\n',
        "noise-worker.js": 'import * as b from "./b.js";\n',
        "app.js": 'import { c as other } from "./c.js";\nimport { say } from "./a.js";\n',
        "a.js": "export const say = 1;\n",
        "b.js": "export function draw() {}\n",
        "c.js": 'import { say } from "./a.js";\nimport { draw } from "./b.js";\nexport class c {}\n',
    }
    return bundled({**scripts, **sources})


def test_every_module_is_in_one_place():
    scripts, addresses = bundled(SOURCES)
    assert {*scripts, *addresses} >= {*SOURCES}
    assert not {*scripts} & {*addresses}
    for name in addresses:
        holders = [one for one, text in scripts.items() if f"\n// {name}\n" in f"\n{text}"]
        assert len(holders) == 1, name
    assert {"device.js", "profile.js", "language.js"} <= {*addresses}
    assert {"app.js", "noise-worker.js", "instrument-steps.js", "plan.js", "service-worker.js"} <= {*scripts}


def test_a_modules_address_exports_what_the_module_does():
    _, addresses = bundled(SOURCES)
    for name, text in addresses.items():
        [names] = re.findall(r"export const \{ (.*) \} = ", text)
        assert names.split(", ") == EXPORTED.findall(SOURCES[name]), name


def test_what_people_wrote_is_what_they_can_read():
    """Nothing is left out or shortened: every line but those that import is in the bundle."""
    scripts, addresses = bundled(SOURCES)
    whole = "\n".join(scripts.values())
    for name in addresses:
        for line in SOURCES[name].splitlines():
            if not line.startswith("import "):
                assert line.removeprefix("export ") in whole, (name, line)


def test_bundles_import_from_each_other():
    scripts, addresses = small_page()
    assert {*scripts} == {"bundle-language.js", "bundle-noise.js", "bundle-views.js"} | {
        "language-switch.js",
        "noise-worker.js",
        "app.js",
    }
    assert {*addresses} == {"a.js", "b.js", "c.js"}
    assert scripts["app.js"].splitlines() == [
        'import { $c } from "./bundle-views.js"; const { c: other } = $c;',
        'import { $a } from "./bundle-language.js"; const { say } = $a;',
    ]
    assert scripts["noise-worker.js"] == 'import { $b } from "./bundle-noise.js"; const b = $b;\n'
    views = scripts["bundle-views.js"]
    assert views.splitlines()[:2] == [
        'import { $a } from "./bundle-language.js";',
        'import { $b } from "./bundle-noise.js";',
    ]
    assert "const { draw } = $b;" in views
    assert "class c {}\n\nreturn { c };" in views


@pytest.mark.parametrize(
    "line",
    [
        "export let open = 1;",
        "export default 3;",
        "export { say };",
        'import "./b.js";',
        "import say from './b.js';",
        "await say;",
        'import {\n  draw } from "./elsewhere/b.js";',
    ],
)
def test_what_a_bundle_cannot_hold_is_refused(line):
    with pytest.raises(ValueError, match=r"in c\.js: a module in a bundle imports names in braces") as refused:
        small_page(**{"c.js": f"{line}\nexport const c = 1;\n"})
    assert line.splitlines()[0] in str(refused.value)
