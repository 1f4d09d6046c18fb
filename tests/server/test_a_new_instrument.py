"""An instrument is a module of the page, its texts and one line in each of two registries: everything else follows."""

import re
from pathlib import Path

import pytest

import sottovoce
from console_client import Console
from sottovoce.protocol.instruments import INSTRUMENTS, Instrument, checked_instrument, offered_instruments
from sottovoce.server.headers import permissions_policy
from sottovoce.texts import LANGUAGES, texts_in

PAGE = Path(sottovoce.__file__).parent / "device" / "page"
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def thermometer(monkeypatch):
    monkeypatch.setitem(
        INSTRUMENTS, "thermometer", Instrument("thermometer", ("ambient-temperature-sensor",), (5, 90, 120))
    )


def test_the_page_has_what_the_protocol_names():
    """The same names in the same order, a time for the same ones, a module and a button for each."""
    listed = re.findall(r'^  \["([a-z-]+)", \{(.*)\}\],$', (PAGE / "known-instruments.js").read_text(), re.MULTILINE)
    assert {name: "isTimed: true" in facts for name, facts in listed} == {
        name: bool(instrument.seconds) for name, instrument in INSTRUMENTS.items()
    }
    assert [name for name, _ in listed] == [*INSTRUMENTS]
    modules = {f"instrument-{name}.js" for name in INSTRUMENTS}
    assert all("export function panel(task, take)" in (PAGE / module).read_text() for module in modules)
    besides = {file for _, facts in listed for file in re.findall(r'"([\w.-]+)"', facts)}
    assert {path.name for path in PAGE.glob("instrument-*.js")} == modules | besides
    for language in LANGUAGES:
        opening = {key for key in texts_in(language).texts if key.startswith("instrument.open.")}
        assert opening == {f"instrument.open.{name}" for name in INSTRUMENTS}


def test_nobody_else_names_an_instrument():
    """Except the module itself and what describes it."""
    names = {*INSTRUMENTS} - {"steps"}  # which are also something else
    named = re.compile(rf"[\"'](?:{'|'.join(names)})[\"':]")
    allowed = {"instruments.py", "known-instruments.js", *(f"instrument-{name}.js" for name in INSTRUMENTS)}
    sources = [path for kind in ("py", "js", "html") for path in PAGE.parents[1].rglob(f"*.{kind}")]
    found = {path.name for path in sources if named.search(path.read_text())}
    assert found <= allowed
    assert named.search('if (value === "stopwatch")')


def test_the_reference_describes_each():
    described = (DOCS / "reference" / "protocol.md").read_text()
    assert all(f"`{name}`" in described for name in INSTRUMENTS)


def test_a_task_can_name_it_and_state_a_time(thermometer):
    for text in ("thermometer", "thermometer:1", "thermometer:3600"):
        assert checked_instrument(text) == text
    for text in ("thermometer:", "thermometer:0", "thermometer:3601", "thermometer:5:5", "Thermometer", "counter:5"):
        with pytest.raises(ValueError, match="counter or thermometer, or sound-level:SECONDS or thermometer:SECONDS"):
            checked_instrument(text)


def test_the_console_offers_it_with_its_times_and_warns_without_https(thermometer, server):
    offered = dict(offered_instruments())
    assert offered["thermometer"] == "thermometer, 5 s"
    assert (offered["thermometer:90"], offered["thermometer:120"]) == ("thermometer, 90 s", "thermometer, 2 min")
    console = Console(server)
    campaign = console.create(**{"instrument-0": "thermometer:90"})
    assert server.status(campaign)["tasks"][0]["instrument"] == "thermometer:90"
    page = console.get(f"/campaigns/{campaign}/tasks").text
    assert '<option value="thermometer:90" selected>thermometer, 90 s</option>' in page
    assert re.search(r'id="no-sensors" data-instruments="[a-z -]*\bthermometer"', page)
    assert "use sensors only over HTTPS" in console.get(f"/campaigns/{campaign}").text


def test_pages_that_measure_may_use_its_sensor_and_others_may_not():
    granted = permissions_policy(["ambient-temperature-sensor"])
    assert "ambient-temperature-sensor=(self), camera=()" in granted
    assert "(self)" not in permissions_policy()
