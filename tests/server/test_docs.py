"""The guides that the server contains: every link, and every help link of the console, leads to an existing section."""

import re

import pytest

from console_client import Console
from sottovoce.server.console.docs import PAGES

pytestmark = pytest.mark.parametrize("server_database", ["sqlite"], indirect=True)


def anchors(text):
    return set(re.findall(r'<h\d id="([^"]+)"', text))


def test_every_page_is_there_and_its_links_lead_somewhere(server):
    pages = {f"/docs/{name}": server.client.get(f"/docs/{name}") for name in PAGES}
    for path, page in pages.items():
        assert page.status_code == 200, path
        assert "{eval-rst}" not in page.text, path
        assert "$\\" not in page.text, path  # a formula, which is not rendered here
        assert "<img" not in page.text.partition("<article>")[2], path
        for link in re.findall(r'href="([^"]+)"', page.text.partition("<article>")[2]):
            target, _, part = link.partition("#")
            assert link.startswith(("https://", "#", "/docs/")), (path, link)
            if part and not link.startswith("https://"):
                assert part in anchors((pages[target] if target else page).text), (path, link)
    assert server.client.get("/docs", follow_redirects=False).headers["location"] in pages


@pytest.mark.parametrize("path", ["guides/nothing", "why/promise", "..%2F..%2Fetc/passwd", "guides/operator.md"])
def test_nothing_else_is_served(server, path):
    assert server.client.get(f"/docs/{path}").status_code == 404


def test_the_help_of_each_console_page_leads_to_its_section(server):
    console = Console(server)
    draft, campaign = server.create(), server.opened()
    paths = ["/", "/operators", "/server", "/analyst", "/campaigns/new", "/campaigns/nothing"]
    paths += [f"/campaigns/{draft}{part}" for part in ("", "/tasks", "/privacy", "/plan", "/logo", "/texts", "/known")]
    paths += [f"/campaigns/{campaign}{part}" for part in ("", "/invitations", "/sharing", "/history", "/close/confirm")]
    led = set()
    for path in paths:
        (link,) = re.findall(r'class="help" href="([^"]+)"', console.get(path).text) or [None]
        assert link, path
        target, _, part = link.partition("#")
        assert part in anchors(server.client.get(target).text), (path, link)
        led.add(link)
    assert len(led) >= 10  # not all to the same place
