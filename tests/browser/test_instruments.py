"""Instruments in the page: their readings are right, and nothing but the reading leaves them."""

import math
import random
import struct
import wave
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from browser.conftest import Participant, launched

# Acceptance limits of class 2, IEC 61672-1:2013, table 3: hertz, A-weighting in dB, limits above and below
CLASS_2 = [
    (63, -26.2, 2.0), (125, -16.1, 1.5), (250, -8.6, 1.5), (500, -3.2, 1.5), (1000, 0.0, 1.0), (2000, 1.2, 2.0),
    (4000, 1.0, 3.0), (8000, -1.1, 5.0),
]  # fmt: skip


def a_curve(hertz):
    """The analytic A-weighting of IEC 61672-1, annex E, in dB: 0 at 1 kHz."""

    def gain(f):
        poles = (f**2 + 20.598997**2) * math.hypot(f, 107.65265) * math.hypot(f, 737.86223) * (f**2 + 12194.217**2)
        return f**4 / poles

    return 20 * math.log10(gain(hertz) / gain(1000))


def test_the_table_agrees_with_the_analytic_curve():
    """Nominal frequencies stand for exact ones, 10 to the power of tenths; the table is rounded to a tenth."""
    for hertz, nominal, _ in CLASS_2:
        exact = 10 ** (round(10 * math.log10(hertz)) / 10)
        assert abs(a_curve(exact) - nominal) <= 0.05 + 1e-9, hertz


@pytest.mark.parametrize("rate", [44100, 48000, 96000])
def test_the_filters_follow_the_curve_between_the_frequencies_of_the_table(ask, rate):
    """Thirds of an octave from 63 Hz to 8 kHz, within the narrowest limits of class 2 up to 4 kHz, 5 dB at 8 kHz."""
    thirds = [10 ** (place / 10) for place in range(18, 40)]
    for hertz, found in zip(thirds, ask("weighting", [{"hertz": f, "rate": rate} for f in thirds]), strict=True):
        assert abs(found - a_curve(hertz)) <= (1.0 if hertz < 4100 else 3.0), hertz


@pytest.mark.parametrize("rate", [44100, 48000, 96000])
def test_a_weighting_is_within_class_2(ask, rate):
    answers = ask("weighting", [{"hertz": hertz, "rate": rate} for hertz, _, _ in CLASS_2])
    for (hertz, nominal, limit), found in zip(CLASS_2, answers, strict=True):
        assert abs(found - nominal) <= limit - 0.1, (hertz, found)  # the table is rounded to a tenth


def walk(draw, steps, per_second, strength, *, hand=0.0, pauses=(), rate=60):
    """Acceleration of a walk: a swing per step with a harmonic and the sway of two steps, noise of the sensor."""
    moments, time, done = [], 0.0, 0

    def stand(seconds):
        nonlocal time
        for _ in range(int(seconds * rate)):
            moments.append([time, draw.gauss(0, 0.06), draw.gauss(0, 0.06), 9.81 + draw.gauss(0, 0.06)])
            time += 1 / rate

    stand(1.5)
    for stop in [*pauses, steps]:
        phase = 0.0
        while done < stop:
            pace = per_second * (1 + 0.04 * math.sin(time))
            phase += pace / rate
            swing = -strength * math.cos(2 * math.pi * phase) + 0.3 * strength * math.sin(4 * math.pi * phase + 0.7)
            sway = 0.35 * strength * math.sin(math.pi * phase)
            shake = hand * math.sin(2 * math.pi * 7.3 * time)
            moments.append([time, sway + draw.gauss(0, 0.15), shake, 9.81 + swing + draw.gauss(0, 0.15)])
            time += 1 / rate
            if phase >= 1:
                phase, done = phase - 1, done + 1
        stand(2.5)
    return moments


WALKS = {
    "slow": {"per_second": 1.3, "strength": 1.1},
    "usual": {"per_second": 1.8, "strength": 2.2},
    "fast": {"per_second": 2.4, "strength": 4.0},
    "in the hand": {"per_second": 1.7, "strength": 1.0, "hand": 0.6},
    "with pauses": {"per_second": 1.8, "strength": 2.0, "pauses": (20, 45)},
    "a slow sensor": {"per_second": 1.8, "strength": 2.0, "rate": 25},
}


@pytest.mark.parametrize("kind", WALKS)
def test_walks_are_counted_within_five_percent(ask, kind):
    draw = random.Random(kind)
    steps = [60, 80, 100, 137]
    found = ask("steps", [walk(draw, count, **WALKS[kind]) for count in steps])
    assert all(abs(one - count) <= 0.05 * count for one, count in zip(found, steps, strict=True)), found


def test_a_phone_on_a_table_makes_no_step_even_if_it_is_knocked(ask):
    draw = random.Random(1)
    still = [
        [place / 60, *(draw.gauss(0, 0.05) for _ in range(2)), 9.81 + draw.gauss(0, 0.05)] for place in range(3600)
    ]
    knocked = [[t, x, y, z + (6 if abs(t % 20 - 10) < 0.1 else 0)] for t, x, y, z in still]
    assert all(later[0] > earlier[0] for earlier, later in pairwise(still))
    assert ask("steps", [still, knocked]) == [0, 0]


def mounted(page, server, instrument, unit="m", stated="", address=""):
    """The instrument alone in the page, and what it passes to the page."""
    page.goto(address or f"{server.url}/j/")
    expect(page.locator("h1")).to_be_visible()
    page.evaluate(
        """async ([name, unit, stated]) => {
            const { panel } = await import(`./instrument-${name}.js`);
            globalThis.taken = [];
            const take = (text) => globalThis.taken.push(text);
            document.querySelector("main").replaceChildren(panel({ id: "x", unit, instrument: name + stated }, take));
        }""",
        [instrument, unit, stated],
    )
    return lambda: page.evaluate("globalThis.taken")


def test_a_counter_counts_taps(participant, server):
    page = participant().page
    taken = mounted(page, server, "counter")
    for _ in range(12):
        page.get_by_role("button", name="+1").click()
    page.get_by_role("button", name="Undo one").click()
    expect(page.locator(".display")).to_have_text("11")
    assert taken()[-1] == "11"
    page.get_by_role("button", name="Start again from 0").click()
    page.get_by_role("button", name="Undo one").click()
    assert taken()[-1] == "0"


def test_a_stopwatch_runs_by_the_clock(participant, server):
    page = participant().page
    taken = mounted(page, server, "stopwatch", "min")
    page.get_by_role("button", name="Start", exact=True).click()
    # As if the screen had been locked meanwhile: the clock has gone on, and no timer has run.
    page.evaluate("() => { const now = performance.now.bind(performance); performance.now = () => now() + 90_000; }")
    page.get_by_role("button", name="Stop", exact=True).click()
    assert float(taken()[-1]) == pytest.approx(1.5, abs=0.3)


# From the start to the first event within the page: a slow machine must not look like a phone without a sensor.
WALK = """async (moments) => {
    const buttons = () => [...document.querySelectorAll("main button")];
    const named = (name) => buttons().find((one) => one.textContent.trim() === name);
    named("Start").click();
    while (!named("Stop")) await new Promise((done) => setTimeout(done));
    for (const [time, x, y, z] of moments) {
        const event = new DeviceMotionEvent("devicemotion", { accelerationIncludingGravity: { x, y, z } });
        Object.defineProperty(event, "timeStamp", { value: 1000 * time });
        dispatchEvent(event);
    }
}"""


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_a_hallway_is_as_long_as_steps_times_stride(participant, server, shared):
    phone = participant()
    page = phone.page
    address = f"{server.invite(server.opened(title='How long?'))[0]['url']}&kiosk" if shared else ""
    taken = mounted(page, server, "steps", address=address)
    sent_before = len(phone.requests)
    draw = random.Random(3)
    page.evaluate(WALK, walk(draw, 50, **WALKS["usual"]))
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("main p[role=status]")).to_contain_text("The length of your stride is not known yet")
    assert taken() == []
    page.get_by_label("Distance that you have just walked").fill("40")
    page.get_by_role("button", name="Calibrate").click()
    assert float(taken()[-1]) == pytest.approx(40)
    page.evaluate(WALK, walk(draw, 100, **WALKS["usual"]))
    page.get_by_role("button", name="Stop", exact=True).click()
    assert float(taken()[-1]) == pytest.approx(80, rel=0.06)
    before = float(taken()[-1])
    page.get_by_role("button", name="−1").click()
    assert float(taken()[-1]) == pytest.approx(before - 0.8, rel=0.02)
    assert {request.method for request in phone.requests[sent_before:]} <= {"GET"}  # nothing was sent
    stays = page.evaluate("() => Object.keys(localStorage)")
    assert stays == ([] if shared else ["sottovoce-stride"])  # on a shared device, not for the next person


@pytest.mark.parametrize(
    ("stub", "words"),
    [
        ("DeviceMotionEvent.requestPermission = async () => 'denied'", "is not allowed to use the sensor"),
        (
            "DeviceMotionEvent.requestPermission = async () => { throw new Error('no gesture') }",
            "is not allowed to use the sensor",
        ),
        ("delete globalThis.DeviceMotionEvent", "cannot be used"),
        ("DeviceMotionEvent.requestPermission = async () => 'granted'", "cannot be used"),
    ],
    ids=["denied", "refused", "no motion", "granted, but silent"],
)
def test_without_a_motion_sensor_readings_can_be_typed(participant, server, stub, words):
    page = participant().page
    mounted(page, server, "steps")
    page.evaluate(f"() => {{ {stub} }}")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("main p[role=status]")).to_contain_text(words)
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_enabled()


HIDE = """() => {
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


# As a phone does whose screen is locked: the page stays as visible as it was, is frozen, and goes on later.
LOCK = "() => { for (const kind of ['freeze', 'resume']) document.dispatchEvent(new Event(kind)) }"


@pytest.mark.parametrize(
    ("interruption", "words"),
    [(HIDE, "Measuring was interrupted, for example because the page was hidden"), (LOCK, "the screen was locked")],
    ids=["hidden", "locked"],
)
def test_steps_stop_when_the_page_is_interrupted(participant, server, interruption, words):
    """Hidden or frozen, a page misses steps and does not know how many: the walk has to be measured again."""
    page = participant().page
    taken = mounted(page, server, "steps")
    page.evaluate(WALK, walk(random.Random(5), 20, **WALKS["usual"]))
    page.evaluate(interruption)
    expect(page.locator("main p[role=status]")).to_contain_text(words)
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_enabled()
    assert taken() == []


def test_a_stopwatch_keeps_running_while_the_screen_is_locked(participant, server):
    page = participant().page
    taken = mounted(page, server, "stopwatch", "s")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    page.evaluate(LOCK)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_role("button", name="Start", exact=True)).to_be_visible()
    assert float(taken()[-1]) > 0


def test_an_impatient_second_tap_starts_nothing_twice(participant, server):
    page = participant().page
    mounted(page, server, "steps")
    page.evaluate(
        """() => {
            globalThis.asked = 0;
            DeviceMotionEvent.requestPermission = () => {
                globalThis.asked += 1;
                return new Promise((answer) => (globalThis.allow = () => answer("granted")));
            };
        }"""
    )
    start = page.get_by_role("button", name="Start", exact=True)
    start.click()
    expect(start).to_be_disabled()
    start.evaluate("(one) => one.click()")
    page.evaluate("allow()")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_enabled()
    assert page.evaluate("asked") == 1


def tone(path, hertz, amplitude, rate=48000, seconds=4):
    """A whole number of periods, so that it can be repeated."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        samples = (round(32767 * amplitude * math.sin(2 * math.pi * hertz * n / rate)) for n in range(rate * seconds))
        file.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return path


@pytest.fixture
def hearing(server, tmp_path):
    """Participants whose microphone hears a tone."""
    made = []

    def make(browser_type, hertz, amplitude, *, allowed=True):
        path = tone(tmp_path / f"{hertz}-{amplitude}.wav", hertz, amplitude)
        flags = ["--use-fake-device-for-media-stream", f"--use-file-for-fake-audio-capture={path}"]
        flags += ["--use-fake-ui-for-media-stream"] if allowed else []
        browser = launched(browser_type, *flags)
        made.append(browser)
        return Participant(browser, server)

    yield make
    for browser in made:
        browser.close()


def measure(page):
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_text("The microphone is on")).to_be_visible()
    expect(page.get_by_text("The microphone is off.", exact=False).last).to_be_visible(timeout=60_000)
    expect(page.locator("main p[role=status]")).to_contain_text("Done")


@pytest.mark.slow
def test_a_tone_has_its_level_after_calibration(browser, hearing, server):
    """Calibrated with one tone; then another, four times weaker and lower, which the ear finds less loud."""
    phone = hearing(browser.browser_type, 1000, 0.4)
    taken = mounted(phone.page, server, "sound-level", "dB(A)")
    measure(phone.page)
    phone.page.get_by_text("Calibration", exact=True).click()
    phone.page.get_by_label("Level on the meter").fill("80")
    phone.page.get_by_role("button", name="Calibrate").click()
    assert float(taken()[-1]) == pytest.approx(80)
    offset = phone.page.evaluate("localStorage.getItem('sottovoce-sound-offset')")
    other = hearing(browser.browser_type, 250, 0.1)
    other.page.goto(f"{server.url}/j/")
    other.page.evaluate("(offset) => localStorage.setItem('sottovoce-sound-offset', offset)", offset)
    taken = mounted(other.page, server, "sound-level", "dB(A)")
    measure(other.page)
    assert float(taken()[-1]) == pytest.approx(80 - 20 * math.log10(4) - 8.6, abs=1)
    for one in (phone, other):
        assert all(request.method == "GET" and not request.post_data for request in one.requests)
        assert not one.faults


def test_with_the_microphone_refused_readings_can_be_typed(participant, server):
    page = participant(permissions=[]).page
    mounted(page, server, "sound-level", "dB(A)")
    refuse = "(name) => { navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', name) } }"
    page.evaluate(refuse, "NotAllowedError")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("main p[role=status]")).to_contain_text("is not allowed to use the sensor")
    page.evaluate(refuse, "NotFoundError")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("main p[role=status]")).to_contain_text("cannot be used")


@pytest.mark.slow
def test_a_sound_is_measured_for_the_time_that_the_campaign_states(browser, hearing, server):
    phone = hearing(browser.browser_type, 1000, 0.4)
    mounted(phone.page, server, "sound-level", "dB(A)", stated=":60")
    expect(phone.page.locator("main")).to_contain_text("For 1 minute, the microphone measures how loud it is.")
    taken = mounted(phone.page, server, "sound-level", "dB(A)", stated=":2")
    expect(phone.page.locator("main")).to_contain_text("For 2 seconds, the microphone measures how loud it is.")
    assert phone.page.locator("progress").get_attribute("max") == "2"
    measure(phone.page)
    # A sine of amplitude 0.4 has the power 0.08; uncalibrated, the microphone's full scale counts as 100 dB.
    assert float(taken()[-1]) == pytest.approx(100 + 10 * math.log10(0.08), abs=1)


SOUND_LOST = {
    "hidden": (HIDE, "Measuring was interrupted"),
    "locked": (LOCK, "Measuring was interrupted"),
    "left": ("() => dispatchEvent(new PageTransitionEvent('pagehide'))", "Measuring was interrupted"),
    "taken back": ("() => heard.getTracks()[0].dispatchEvent(new Event('ended'))", "Measuring was interrupted"),
    "not loaded": ("() => {}", "The instrument could not be loaded"),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", SOUND_LOST)
def test_the_microphone_is_off_when_measuring_ends_early(browser, hearing, server, how):
    phone = hearing(browser.browser_type, 1000, 0.4)
    taken = mounted(phone.page, server, "sound-level", "dB(A)", stated=":600")
    phone.page.evaluate(
        """(isLost) => {
            const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
            navigator.mediaDevices.getUserMedia = async (wanted) => (globalThis.heard = await ask(wanted));
            if (isLost) AudioWorklet.prototype.addModule = async () => { throw new DOMException("", "AbortError") };
        }""",
        how == "not loaded",
    )
    phone.page.get_by_role("button", name="Start", exact=True).click()
    event, words = SOUND_LOST[how]
    if how != "not loaded":
        expect(phone.page.locator(".display")).to_contain_text("dB")
    phone.page.evaluate(event)
    expect(phone.page.locator("main p[role=status]")).to_contain_text(words)
    assert phone.page.evaluate("heard.getTracks().map((track) => track.readyState)") == ["ended"]
    expect(phone.page.get_by_role("button", name="Start", exact=True)).to_be_enabled()
    assert taken() == []


def test_sensors_are_available_only_on_the_participants_page(server):
    policy = server.client.get(f"{server.url}/j/").headers["permissions-policy"]
    assert "microphone=(self)" in policy
    assert "camera=()" in policy
    other = server.client.get(f"{server.url}/", follow_redirects=True).headers["permissions-policy"]
    assert "microphone=()" in other
    assert "accelerometer=()" in other


def test_a_task_is_measured_with_the_instrument_that_its_campaign_names(participant, invited, claims):
    """Nothing but the noisy value leaves the page. The other task has no instrument, and none is loaded for it."""
    task = {"title": "Bicycles", "unit": "", "low": "0", "high": "100", "grid": "1"}
    tasks = [{**task, "id": "typed"}, {**task, "id": "counted", "instrument": "counter"}]
    campaign, url = invited(tasks=tasks, noise="fresh:0.02", distance="5")
    phone = participant()
    page = phone.join(url)
    page.get_by_role("button", name="Use a counter").click()
    for _ in range(7):
        page.get_by_role("button", name="+1").click()
    expect(page.locator("#reading-1")).to_have_value("7")
    page.get_by_role("button", name="Undo one").click()
    expect(page.locator("#reading-1")).to_have_value("6")
    page.locator("#send").click()
    phone.confirm()
    expect(page.locator("li .chip.delivered")).to_be_visible()
    assert [claim["object"] for claim in claims(campaign)] == ["counted"]
    loaded = {request.url.rpartition("/")[2] for request in phone.requests}
    assert "instrument-counter.js" in loaded
    assert not {name for name in loaded if name.startswith(("instrument-st", "instrument-so", "instrument-a"))}


def test_an_open_instrument_follows_the_language_and_keeps_its_count(participant, invited):
    task = {
        "title": "Bicycles",
        "unit": "",
        "low": "0",
        "high": "2000",
        "grid": "1",
        "id": "a",
        "instrument": "counter",
    }
    _, url = invited(tasks=[task], noise="fresh:0.02", distance="5")
    page = participant(locale="en-GB").join(url)
    page.get_by_role("button", name="Use a counter").click()
    for _ in range(3):
        page.get_by_role("button", name="+1").click()
    page.locator("#language").select_option("de")
    expect(page.get_by_role("button", name="Eins zurück")).to_be_visible()
    expect(page.locator(".display")).to_have_text("3")
    page.get_by_role("button", name="+1").click()
    expect(page.locator("#reading-0")).to_have_value("4")


def test_the_step_counters_messages_follow_the_language(participant, server):
    page = participant(locale="en-GB").page
    mounted(page, server, "steps")
    page.evaluate("() => { delete globalThis.DeviceMotionEvent }")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.locator("main p[role=status]")).to_contain_text("cannot be used")
    page.evaluate(
        """async () => {
            const { speak } = await import("./language.js");
            speak("fr", await (await fetch("texts/fr.json")).json());
            document.querySelector("main > div").dispatchEvent(new Event("language"));
        }"""
    )
    expect(page.locator("main p[role=status]")).not_to_contain_text("cannot be used")
    expect(page.get_by_role("button", name="Démarrer", exact=True)).to_be_visible()


# Ways in which data can leave a page without a request that a test would see.
_OTHER_WAYS = """
globalThis.otherWays = [];
for (const name of ["WebSocket", "EventSource", "RTCPeerConnection", "WebTransport", "MediaRecorder"])
    if (globalThis[name]) globalThis[name] = class { constructor() { globalThis.otherWays.push(name); } };
navigator.sendBeacon = () => globalThis.otherWays.push("sendBeacon");
"""


def test_only_the_noisy_length_of_a_walk_leaves_the_page(participant, invited, server, claims):
    """From the sensor to the report: samples, steps, stride and length are in no request, and nothing else leaves."""
    task = {
        "title": "Hallway",
        "unit": "m",
        "low": "0",
        "high": "1000",
        "grid": "0.1",
        "id": "a",
        "instrument": "steps",
    }
    campaign, url = invited(tasks=[task], noise="fresh:0.005", distance="10")
    phone = participant()
    phone.context.add_init_script(_OTHER_WAYS)
    page = phone.open(f"{server.url}/j/")
    page.evaluate("() => localStorage.setItem('sottovoce-stride', '0.7654321')")
    phone.join(url)
    page.get_by_role("button", name="Measure by counting steps").click()
    moments = walk(random.Random(6), 60, **WALKS["usual"])
    page.get_by_role("button", name="Start", exact=True).wait_for()
    page.evaluate(WALK, moments)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#reading-0")).not_to_have_value("")
    length = page.locator("#reading-0").input_value()
    page.locator("#send").click()
    phone.confirm()
    expect(page.locator("li .chip.delivered")).to_be_visible()
    assert len(claims(campaign)) == 1
    seen = b"".join(
        part
        for request in phone.requests
        for part in (request.url.encode(), str(request.headers).encode(), request.post_data_buffer or b"")
    )
    numbers = {number for moment in moments for number in moment[1:]}
    spelled = {f"{number:.{digits}f}".encode() for number in numbers for digits in (4, 6)}
    raw = {struct.pack(kind, number) for number in numbers for kind in ("<f", ">f", "<d", ">d")}
    assert len(spelled | raw) > 10_000
    assert not [one for one in spelled | raw | {length.encode(), b"0.7654321", b"stride"} if one in seen]
    assert page.evaluate("globalThis.otherWays") == []
