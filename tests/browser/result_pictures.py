"""Pictures of the public page of results and of the analyst's page, taken from the pages themselves.

``take`` is for the script that takes all pictures of the docs; by itself (``python tests/browser/result_pictures.py``)
this takes those of them that the docs show, or, with a folder, every page in every look.
"""

import random
import re
import sys
import tempfile
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from browser.conftest import PHONE, launched  # noqa: E402
from hallways import HALLWAY_CLAIMS  # noqa: E402
from patience import until  # noqa: E402
from server_under_test import OPERATOR_TOKEN, RunningServer  # noqa: E402

DOCS = HERE.parents[1] / "docs"
DESKTOP = {"viewport": {"width": 1100, "height": 1180}}
HALLS = {
    "Entrance to library": 41.7, "Library to canteen": 62.5, "Canteen to lecture hall A": 38.2,
    "Lecture hall A to the laboratories": 88.4, "Main stairs, ground to third floor": 27.3,
    "Bicycle cellar to lifts": 19.6, "Reception to car park": 12.4,
}  # fmt: skip


def shown_in_docs():
    """Names of the pictures that the guides show."""
    text = "".join(path.read_text() for path in sorted((DOCS / "guides").glob("*.md")))
    return set(re.findall(r"images/console/((?:public|analyst)-[\w-]+)\.png", text))


def take(browser, server, folder, wanted=None):
    """Take all pictures, or those with the given names, from a running server."""

    def picture(page, name):
        if wanted is None or name in wanted:
            _picture(page, folder / f"{name}.png")

    campaign = _hallways(server)
    with httpx.Client(base_url=server.url) as client:
        client.post("/sign-in", data={"token": OPERATOR_TOKEN})
        cookie = {"name": "session", "value": client.cookies["session"], "url": server.url}
    for look, options in {
        "desktop-light": {**DESKTOP, "color_scheme": "light"},
        "desktop-dark": {**DESKTOP, "color_scheme": "dark"},
        "phone-light": {**PHONE, "color_scheme": "light"},
        "phone-dark": {**PHONE, "color_scheme": "dark"},
    }.items():
        context = browser.new_context(reduced_motion="reduce", locale="en-GB", **options)
        context.add_cookies([cookie])
        page = context.new_page()
        page.goto(f"{server.url}/c/{campaign}")
        picture(page, f"public-{look}")
        page.goto(f"{server.url}/analyst")
        payload = {"name": "halls.csv", "mimeType": "text/csv", "buffer": HALLWAY_CLAIMS.encode()}
        page.locator("#claims").set_input_files(payload)
        for name, column in (("user", "who"), ("object", "where"), ("value", "metres")):
            page.locator(f"#{name}").fill(column)
        page.get_by_label("CRH:").check()
        picture(page, f"analyst-form-{look}")
        page.get_by_role("button", name="Find the truth").click()
        page.get_by_role("heading", name="What the claims say").wait_for()
        picture(page, f"analyst-answer-{look}")
        context.close()


def _hallways(server):
    """A campaign whose crowd is always the same: a part of it overestimates, few know the way to the car park."""
    tasks = [
        {"id": f"hall-{n}", "title": title, "unit": "m", "low": 0, "high": 100, "grid": 0.1}
        for n, title in enumerate(HALLS)
    ]
    campaign = server.opened(
        title="How long are our hallways?", asked_by="Facility management, Building 7",
        purpose="For signs with walking times that are right for everybody.", tasks=tasks,
    )  # fmt: skip
    rng, people, crowd = random.Random(5), 30, []
    for person in range(people):
        error, bias = rng.choice([(0.2, 0), (0.5, 0), (1.5, 0), (4.0, 4)])
        values = {}
        for n, length in enumerate(HALLS.values()):
            noise = rng.choice((-1, 1)) * rng.expovariate(1)
            if n < len(HALLS) - 1 or person < 3:
                values[f"hall-{n}"] = round(10 * (length + rng.gauss(bias, error) + noise))
        crowd.append(values)
    server.report_all(campaign, server.participants(campaign, people), crowd)
    until(lambda: server.results(campaign)["reports"] == people, "results of all")
    return campaign


def _picture(page, path):
    page.wait_for_timeout(300)
    page.screenshot(path=path, animations="disabled")
    with Image.open(path) as taken:  # few colours: a third of the size
        taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    folder, wanted = (Path(sys.argv[1]), None) if len(sys.argv) > 1 else (DOCS / "images" / "console", shown_in_docs())
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        server = RunningServer(f"sqlite:///{scratch}/campaigns.db", {"SOTTOVOCE_OPERATOR_TOKEN": OPERATOR_TOKEN}, [])
        browser = launched(playwright.chromium)
        try:
            take(browser, server, folder, wanted)
        finally:
            browser.close()
            server.stop()
