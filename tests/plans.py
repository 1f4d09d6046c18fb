"""Pictures of places for tests, drawn with Pillow."""

import io

from PIL import Image, ImageDraw

SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 400 300"><rect width="400" height="300" fill="#fffdf9"/>'
    b'<path d="M40 150H360M200 40V260" stroke="#ccc" stroke-width="30" fill="none"/></svg>'
)


def drawn(width=400, height=300, mode="RGB"):
    """A small floor plan."""
    image = Image.new("RGB", (width, height), "#fffdf9")
    pen = ImageDraw.Draw(image)
    pen.rectangle([width // 10, height // 3, width - width // 10, height // 2], fill="#d5cfc2", outline="#888")
    pen.line([width // 2, 0, width // 2, height], fill="#17494d", width=max(1, width // 100))
    return image.convert(mode)


def encoded(image, kind="PNG", **options):
    content = io.BytesIO()
    image.save(content, kind, **options)
    return content.getvalue()


def decoded(content):
    image = Image.open(io.BytesIO(content))
    image.load()
    return image


def put(server, campaign, content=SVG, **headers):
    """Upload a plan."""
    return server.client.put(f"/api/campaigns/{campaign}/plan", content=content, headers=server.operator | headers)


def place(server, campaign, places):
    """Put tasks on the plan."""
    address = f"/api/campaigns/{campaign}/places"
    listed = [{"task": task, "place": place} for task, place in places.items()]
    return server.client.put(address, json={"places": listed}, headers=server.operator)
