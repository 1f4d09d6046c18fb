"""The participant's page in a real browser (the system's Chromium) against a real server (``sottovoce serve``)."""

import re
import shutil
import uuid
from functools import partial

import pytest
from playwright.sync_api import Error, expect, sync_playwright

from browser.people import at_browsers
from page_modules import modules_in
from patience import PATIENCE, until
from server_under_test import OPERATOR_TOKEN, RunningServer

# As root there is no sandbox; no requests to the vendor.
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP unencrypted.example 127.0.0.1",
]  # fmt: skip
# For each context the browser would start one process that shows lists below its address field and one in reserve. No
# page needs either, and together they take longer than the context itself.
UNUSED = ["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess"]
KEEPS_A_LANGUAGE = """async () => {
    const kept = await Promise.all((await caches.keys()).map(async (name) => (await caches.open(name)).keys()));
    return kept.flat().some(({ url }) => url.includes("/texts/"));
}"""
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}


def chromium():
    """The system's own browser. Without it the tests fail: they are never skipped silently."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "there is no Chromium: install it with 'apt-get install chromium' (make test does, where it may)"
    return found


def launched(browser_type, *flags):
    """A browser of the system's Chromium."""
    return browser_type.launch(executable_path=chromium(), args=[*FLAGS, without_unused(browser_type), *flags])


def without_unused(browser_type):
    """Chromium obeys only the last of these switches, so this one repeats what Playwright disables."""
    try:
        browser_type.launch(executable_path=shutil.which("false"))
    except Error as failure:  # its message contains the whole command
        playwrights = re.search(r"--disable-features=(\S+)", failure.message)[1]
    return f"--disable-features={','.join([playwrights, *UNUSED])}"


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as playwright:
        browser = launched(playwright.chromium)
        expect.set_options(timeout=1000 * PATIENCE)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def ask(tmp_path_factory):
    """Call the page's modules outside a browser."""
    return modules_in(tmp_path_factory.mktemp("modules"))


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """One server for all tests; each test makes its own campaign."""
    database = f"sqlite:///{tmp_path_factory.mktemp('server')}/campaigns.db"
    server = RunningServer(database, {"SOTTOVOCE_OPERATOR_TOKEN": OPERATOR_TOKEN}, [])
    yield server
    server.stop()


@pytest.fixture
def start_server():
    """Start servers that a test stops, and starts again on the same port."""
    started = []

    def start(database, *arguments, **environment):
        started.append(RunningServer(database, {"SOTTOVOCE_OPERATOR_TOKEN": OPERATOR_TOKEN, **environment}, arguments))
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.stop()


class Participant:
    """A separate browser with its own storage and its own network, and a record of every request it made."""

    def __init__(self, browser, server, **options):
        self.server = server
        self.context = browser.new_context(**{**PHONE, **options})
        self.context.set_default_timeout(1000 * PATIENCE)
        # Requests that begin while interception is switched on, or a service worker takes over, can escape a route:
        # this one matches nothing, and keeps interception on from the first page.
        self.context.route("**/matches-nothing", lambda route: route.abort())
        self.requests = []
        self.context.on("request", lambda request: self.requests.append(request))
        self.faults = []
        self.page = self.new_tab()

    def new_tab(self):
        page = self.context.new_page()
        page.on("pageerror", lambda mistake: self.faults.append(str(mistake)))
        page.on("console", self._note)
        return page

    def _note(self, message):
        # What the browser itself reports: a failed request, which many tests are about; a header that needs encryption.
        expected = ("Failed to load resource", "Cross-Origin-Opener-Policy header has been ignored")
        if message.type == "error" and not any(words in message.text for words in expected):
            self.faults.append(message.text)

    def open(self, url):
        self.page.goto(url)
        return self.page

    def open_again(self, url):
        """Another invitation in the same browser, for the same person."""
        page = self.open(url)
        page.get_by_role("button", name="Yes, that was me").click()
        return page

    def join(self, url, *, again=False):
        page = self.open_again(url) if again else self.open(url)
        page.get_by_role("button", name="Join this campaign").click()
        expect(page.locator("form.card")).to_be_visible()
        return page

    def fill(self, *readings, page=None):
        page = page or self.page
        for place, reading in enumerate(readings):
            page.locator(f"#reading-{place}").fill(reading)

    def send(self, *readings):
        """Send; readings with a mistake end before the confirmation."""
        self.fill(*readings)
        self.page.get_by_role("button", name="Add noise and send").click()
        self.page.locator("dialog:visible, .error:visible:not(:empty)").first.wait_for()
        if self.page.locator("dialog").count():
            self.confirm()

    def confirm(self, page=None):
        (page or self.page).locator("dialog #yes").click()

    def reports_sent(self):
        return [request for request in self.requests if request.method == "POST" and request.url.endswith("/reports")]

    def bodies(self):
        return [request.post_data_buffer for request in self.reports_sent()]

    def wait_for_service_worker(self):
        """Wait until the page can be opened without a network: its language is kept only once a worker is in charge."""
        self.page.wait_for_function("() => navigator.serviceWorker.controller !== null")
        until(lambda: self.page.evaluate(KEEPS_A_LANGUAGE), "language kept for later")


@pytest.fixture
def participant(browser, server):
    """Make participants; no error on their pages goes unnoticed."""
    with at_browsers(partial(Participant, browser, server=server)) as make:
        yield make


@pytest.fixture
def invited(server):
    """A new campaign, and a link to it."""

    def invite(**changes):
        campaign = server.opened(title=f"How long are the hallways? {uuid.uuid4().hex[:6]}", **changes)
        return campaign, server.invite(campaign)[0]["url"]

    return invite


@pytest.fixture
def claims(server):
    """The claims that the server has of a campaign: the task and value of each."""

    def load(campaign):
        stored = server.stored(campaign)
        return [
            {"user": user, "object": task, "value": steps / 10}
            for user, of in stored.items()
            for task, steps in of.items()
        ]

    return load
