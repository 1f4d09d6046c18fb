"""The pictures of the guides, taken from the real pages: ``make pictures``.

With a folder (``python tests/browser/pictures.py FOLDER``), every page in every look, for inspection.
"""

import re
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

from browser import console_pictures, result_pictures  # noqa: E402
from browser.conftest import PHONE, Participant, launched  # noqa: E402
from server_under_test import OPERATOR_TOKEN, RunningServer  # noqa: E402

DOCS = HERE.parents[1] / "docs"
DESKTOP = {"viewport": {"width": 1100, "height": 800}, "is_mobile": False, "has_touch": False, "device_scale_factor": 1}
LOOKS = {
    "phone-light": {"color_scheme": "light"},
    "phone-dark": {"color_scheme": "dark"},
    "desktop-light": {"color_scheme": "light", **DESKTOP},
    "desktop-dark": {"color_scheme": "dark", **DESKTOP},
}
CAMPAIGN = {
    "title": "How long are our hallways?",
    "asked_by": "Facility management, Building 7",
    "purpose": "For signs with walking times that are right for everybody.",
    "tasks": [
        {"id": "hall-1", "title": "Entrance to library", "unit": "m", "low": 0, "high": 100, "grid": 0.1},
        {"id": "hall-2", "title": "Library to canteen", "unit": "m", "low": 0, "high": 100, "grid": 0.1},
    ],
    "deadline": "2035-06-30T18:00:00Z",
}


def take(browser, server, look, folder, wanted):
    """One participant's way through the page, with a picture of each stage."""
    server.client.headers["Connection"] = "close"
    campaign = server.opened(**CAMPAIGN)
    options = {"locale": "en-GB", "timezone_id": "Europe/Rome", "reduced_motion": "reduce", **LOOKS[look]}
    person = Participant(browser, server, **{**PHONE, **options})
    page = person.page

    def picture(name, whole=False):
        if wanted is not None and f"{name}-{look}" not in wanted:
            return
        page.wait_for_timeout(150)
        path = folder / f"{name}-{look}.png"
        page.screenshot(path=path, full_page=whole, animations="disabled")
        with Image.open(path) as taken:  # few colours: a third of the size
            taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)

    page.goto(f"{server.url}/j/")
    page.get_by_text("No campaign yet").wait_for()
    picture("empty")
    url = server.invite(campaign)[0]["url"]
    page.goto(url)
    page.get_by_role("button", name="Join this campaign").wait_for()
    picture("offer", whole=True)
    page.get_by_role("button", name="Join this campaign").click()
    page.locator("#reading-0").fill("41.7")
    page.locator("#reading-1").fill("1200")
    page.get_by_role("button", name="Add noise and send").click()
    page.locator("#reading-1-error").wait_for()
    picture("form")
    page.locator("#reading-1").fill("62.5")
    page.get_by_role("button", name="Add noise and send").click()
    page.locator("#yes").click()
    page.locator("li .chip.delivered").wait_for()
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    picture("sent")
    person.wait_for_service_worker()
    person.context.set_offline(True)
    page.goto(f"{server.url}/j/#ledger")
    page.locator("li.card").wait_for()
    page.get_by_text("In this report").click()
    picture("ledger")
    for view in ("limits", "how"):
        page.goto(f"{server.url}/j/#{view}")
        page.locator("h1").wait_for()
        picture(view)
    person.context.set_offline(False)
    url = server.invite(campaign)[0]["url"]
    page.goto(url[:-1] + ("0" if url[-1] != "0" else "1"))
    page.get_by_role("button", name="Yes, that was me").click()  # this device has a campaign already
    page.locator("main .problem").wait_for()
    picture("refused")
    person.context.close()


def shown(folder):
    """Names of the pictures in a folder that the docs show."""
    text = "".join(path.read_text() for path in sorted(DOCS.rglob("*.md")))
    return set(re.findall(rf"images/{folder}/([\w-]+)\.png", text))


def main(everything=None):
    """Take the pictures that the docs show, or all pictures into a folder."""
    page, console = (everything / name if everything else DOCS / "images" / name for name in ("page", "console"))
    of_page, of_console = (None, None) if everything else (shown("page"), shown("console"))
    page.mkdir(parents=True, exist_ok=True)
    console.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        server = RunningServer(f"sqlite:///{scratch}/campaigns.db", {"SOTTOVOCE_OPERATOR_TOKEN": OPERATOR_TOKEN}, [])
        browser = launched(playwright.chromium)
        try:
            console_pictures.take(browser, server, console, of_console)  # first: it shows the list of campaigns
            result_pictures.take(browser, server, console, of_console)
            for look in LOOKS:
                if of_page is None or any(name.endswith(look) for name in of_page):
                    take(browser, server, look, page, of_page)
        finally:
            browser.close()
            server.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
