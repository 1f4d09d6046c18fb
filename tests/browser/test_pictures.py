"""The pictures of the guides are taken from the real pages, and each that the guides show is one of those."""

import pytest
from PIL import Image

from browser import pictures
from browser.conftest import PHONE

WIDTH = PHONE["viewport"]["width"] * PHONE["device_scale_factor"]


@pytest.mark.slow
def test_pictures_of_the_page_are_taken(browser, server, tmp_path, monkeypatch):
    """The way of one participant, as `make pictures` takes it."""
    monkeypatch.setitem(server.client.headers, "Connection", server.client.headers["Connection"])  # they change it
    look = "phone-light"
    wanted = {name for name in pictures.shown("page") if name.endswith(look)}
    assert wanted
    pictures.take(browser, server, look, tmp_path, wanted)
    assert {path.stem for path in tmp_path.iterdir()} == wanted
    for path in tmp_path.iterdir():
        with Image.open(path) as picture:
            assert picture.width == WIDTH


@pytest.mark.parametrize("folder", ["page", "console"])
def test_the_guides_show_pictures_that_exist_in_the_look_that_they_name(folder):
    widths = {"phone": WIDTH} | ({"desktop": pictures.DESKTOP["viewport"]["width"]} if folder == "page" else {})
    shown = pictures.shown(folder)
    assert shown
    for name in shown:
        with Image.open(pictures.DOCS / "images" / folder / f"{name}.png") as picture:
            wanted = next((width for kind, width in widths.items() if kind in name), picture.width)
            assert picture.width == wanted, name
