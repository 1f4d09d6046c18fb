"""axe on a page, in light and in dark mode, and a page by keyboard. In dark mode only colours are checked again."""

from pathlib import Path

AXE = (Path(__file__).with_name("vendor") / "axe.min.js").read_text()


def assert_accessible(page, stage):
    """axe finds nothing serious; the page's context must allow scripts to be injected (``bypass_csp``)."""
    page.locator("h1").first.wait_for()  # scripts draw it after the page has loaded
    page.evaluate(AXE)
    for scheme, options in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate("(options) => axe.run(document, options)", options)
        wrong = [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"] if one["impact"] != "minor"
        ]
        assert not wrong, (stage, scheme, wrong)
        assert len(found["passes"]) > (10 if scheme == "light" else 0), (stage, scheme)
    page.emulate_media(color_scheme="light")


def press_until(page, key, selector, most=60):
    """Press a key until the wanted element has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector}: the keyboard does not lead there")
