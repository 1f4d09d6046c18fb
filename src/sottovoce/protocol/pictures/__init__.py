"""Pictures that an operator uploads, such as a plan of the place: checked by their content, and rewritten.

The file itself is never stored, only what is needed to draw it: no place where a photograph was taken, no camera, no
author, no script, no bytes after the end.
"""

from sottovoce.protocol.pictures.drawing import cleaned_drawing
from sottovoce.protocol.pictures.picture_limits import MOST_BYTES, MOST_LOGO_BYTES, Picture, refused
from sottovoce.protocol.pictures.raster import cleaned_raster

__all__ = ["MOST_BYTES", "MOST_LOGO_BYTES", "Picture", "cleaned_logo", "cleaned_picture"]


def cleaned_logo(content: bytes) -> Picture:
    """A picture that is small enough to be loaded before anything else."""
    return cleaned_picture(content, MOST_LOGO_BYTES)


def cleaned_picture(content: bytes, most: int = MOST_BYTES) -> Picture:
    """A PNG, JPEG or SVG that is safe to show; anything else raises a `Problem`."""
    if len(content) > most:
        raise refused(
            f"{len(content):,} bytes: it must have at most {most:,}, since every phone loads it", "make it smaller"
        )
    picture = cleaned_raster(content) or cleaned_drawing(content)
    if len(picture.content) > most:  # references within a drawing are written out
        raise refused(
            f"{len(picture.content):,} bytes when rewritten: it must have at most {most:,}", "make it smaller"
        )
    return picture
