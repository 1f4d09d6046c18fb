"""The participant's page on a slow phone (``python -m bench.page``): its first paint, and adding noise to 30 readings.

Painting is measured over 400 kbit/s with 400 ms from request to answer, with nothing in the cache.
The page's own sampler runs in the system's Chromium with the processor throttled six times; on the page's main thread,
since throttling does not affect workers, where the page actually draws. As on the page, the first draws only warm up.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright
from rich.console import Console

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
LAWS = ("fresh:0.5", "gaussian:3.7", "shared:0.02", "floored:10.2:0.07")
READINGS, THROTTLE, LIMIT = 30, 6, 50
NETWORK = {"offline": False, "latency": 400, "downloadThroughput": 400_000 / 8, "uploadThroughput": 400_000 / 8}
FIRST_PAINT_LIMIT = 2500  # milliseconds
_PAINTED = """() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime"""
_DRAW = """async ([noise, count]) => {
    await import("./noise-worker.js"); // makes the first draws
    const { noisyReadings } = await import("./noisy.js");
    const ids = Array.from({ length: count }, (_, place) => `task-${place}`);
    const tasks = ids.map((id) => ({ id, low: "0", high: "100", grid: "0.1" }));
    const readings = new Map(ids.map((id) => [id, "41.7"]));
    const times = [];
    for (let run = 0; run < 41; run += 1) {
        const start = performance.now();
        noisyReadings(noise, tasks, readings);
        times.push(performance.now() - start);
    }
    return [times[0], times.sort((a, b) => a - b)[20]];
}"""


@contextmanager
def _server() -> Iterator[str]:
    """The address of a server of our own."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--database", f"sqlite:///{folder}/bench.db", "--port", "0", "--json", "--log-level", "error"]
        command = [sys.executable, "-m", "sottovoce", "serve", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout
                said: dict[str, str] = {}
                while "url" not in said:
                    said |= json.loads(process.stdout.readline())
                yield said["url"]
            finally:
                process.terminate()


def _painting(browser: Browser, url: str) -> tuple[float, float, int]:
    """Milliseconds until the first paint and until the first view, and the bytes that were loaded until then."""
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    loaded: list[int] = []
    session.on("Network.loadingFinished", lambda event: loaded.append(int(event["encodedDataLength"])))
    page.goto(f"{url}/j/", wait_until="commit")
    page.wait_for_selector("h1")
    ready, weight = page.evaluate("performance.now()"), sum(loaded)
    first_paint = page.evaluate(_PAINTED)
    context.close()
    return first_paint, ready, weight


def run(console: Console) -> None:
    """Milliseconds of a page's first release and of a typical one, compared with the limit."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        console.print("\nthe page: there is no Chromium; install the package chromium")
        return
    with _server() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        console.print(f"\nthe page, {READINGS} readings, processor throttled {THROTTLE} times, limit {LIMIT} ms")
        first_paint, ready, weight = _painting(browser, url)
        console.print(
            f"{'first paint':>18}: {first_paint:.0f} ms; limit / first paint: {FIRST_PAINT_LIMIT / first_paint:.1f}; "
            f"first view {ready:.0f} ms, {weight / 1000:.1f} kB loaded until then"
        )
        for law in LAWS:
            page = browser.new_page()
            page.goto(f"{url}/j/", wait_until="networkidle")
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
            first, usual = page.evaluate(_DRAW, [law, READINGS])
            console.print(f"{law:>18}: first {first:.1f} ms, usual {usual:.1f} ms; limit / first: {LIMIT / first:.1f}")
            page.close()
        browser.close()


if __name__ == "__main__":
    run(Console())
