"""Pictures of the console: an operator's way from the sign-in to the results. ``pictures.py`` takes them."""

import random

from PIL import Image
from playwright.sync_api import expect

from browser.conftest import PHONE
from patience import until
from server_under_test import OPERATOR_TOKEN

DESKTOP = {"viewport": {"width": 1180, "height": 820}}
LOOKS = {
    "desktop-light": {**DESKTOP, "color_scheme": "light"},
    "desktop-dark": {**DESKTOP, "color_scheme": "dark"},
    "phone-light": {**PHONE, "color_scheme": "light"},
    "phone-dark": {**PHONE, "color_scheme": "dark"},
}
HALLS = {
    "Entrance to library": 41.7,
    "Library to canteen": 45.5,
    "Canteen to lecture hall A": 38.2,
    "Gate to car park": 12.4,
}
CROWD, FEW = 60, 4  # how many report at all, and about the last hall


def take(browser, server, folder, wanted=None):
    """Take all pictures, or those with the given names, from a running server."""
    for look, options in LOOKS.items():
        if wanted is None or any(name.endswith(look) for name in wanted):
            context = browser.new_context(reduced_motion="reduce", locale="en-GB", timezone_id="UTC", **options)
            _walk(context.new_page(), server, look, folder, wanted)
            context.close()


def _walk(page, server, look, folder, wanted):
    def picture(name, whole=False):
        if wanted is not None and f"{name}-{look}" not in wanted:
            return
        page.evaluate("document.activeElement.blur()")
        page.wait_for_timeout(300)
        path = folder / f"{name}-{look}.png"
        page.screenshot(path=path, full_page=whole, animations="disabled")
        with Image.open(path) as taken:  # few colours: a third of the size
            taken.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)

    page.goto(server.url)
    picture("sign-in")
    page.get_by_label("Operator token").fill(OPERATOR_TOKEN)
    page.get_by_role("button", name="Sign in").click()
    picture("campaigns")

    page.goto(f"{server.url}/campaigns/new")
    page.get_by_label("Title").fill("How long are our hallways?")
    page.get_by_label("Asked by").fill("Facility management, Building 7")
    page.get_by_label("Purpose").fill("For signs with walking times that are right for everybody.")
    page.get_by_role("button", name="Add rows").click()
    for place, title in enumerate(HALLS):
        fields = {"title": title, "unit": "m", "low": "0", "high": "100", "grid": "0.1"}
        for name, text in fields.items():
            page.locator(f"#{name}-{place}").fill(text)
    picture("question", whole=True)
    page.get_by_role("button", name="Save and choose privacy").click()
    page.locator("#distance").fill("2")
    expect(page.locator("#plan blockquote")).to_contain_text("differed by up to 2 m", timeout=60_000)
    page.locator("#epsilon").fill("1")
    expect(page.locator("#plan blockquote")).to_contain_text("ε = 1", timeout=20_000)
    expect(page.locator("#plot-waits")).to_be_hidden(timeout=60_000)
    picture("privacy", whole=True)
    page.get_by_role("button", name="Save this promise").click()
    expect(page.get_by_role("heading", name="Open the campaign?")).to_be_visible()
    picture("check", whole=True)
    page.get_by_role("button", name="Open the campaign").click()
    expect(page.get_by_role("heading", name="Waiting for reports")).to_be_visible()
    campaign = page.url.rpartition("/")[2]
    picture("listening")
    page.goto(f"{server.url}/campaigns/{campaign}/invitations")
    page.get_by_label("How many people?").fill("4")
    page.locator(".invite").evaluate("(form) => form.removeAttribute('target')")  # in this tab
    page.get_by_role("button", name="Create invitations").click()
    picture("sheet")
    page.get_by_role("link", name="Done").click()
    picture("invitations")

    _report(server, campaign)
    page.goto(f"{server.url}/campaigns/{campaign}")
    expect(page.locator(".forest")).to_be_visible()
    picture("results", whole=look.startswith("desktop"))
    for name, path in (
        ("history", f"campaigns/{campaign}/history"), ("close", f"campaigns/{campaign}/close/confirm"),
        ("server", "server"), ("problem", "campaigns/nothing"),
    ):  # fmt: skip
        page.goto(f"{server.url}/{path}")
        picture(name)


def _report(server, campaign):
    """Reports of a crowd that is the same every time; a part of it overestimates."""
    rng, crowd = random.Random(7), []
    tasks = [task["id"] for task in server.status(campaign)["tasks"]]
    for person in range(CROWD):
        error, bias = rng.choice([(0.2, 0), (0.5, 0), (1.5, 0), (1.5, 9)])
        values = {
            task: round(10 * (length + rng.gauss(bias, error) + rng.choice((-1, 1)) * rng.expovariate(0.5)))
            for task, length in zip(tasks, HALLS.values(), strict=True)
        }
        if person >= FEW:
            del values[tasks[-1]]
        crowd.append(values)
    server.report_all(campaign, server.participants(campaign, CROWD), crowd)
    until(lambda: server.results(campaign)["reports"] == CROWD, "results of all")
