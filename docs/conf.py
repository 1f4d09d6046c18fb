"""How the site is built: Sphinx with MyST and furo; neither building nor reading it needs a network."""

import sys
from pathlib import Path

from sottovoce import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Sottovoce"
author = "The Sottovoce maintainers"
copyright = author  # noqa: A001 - the name that Sphinx expects
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "command_reference",
    "docstrings",
    "mathml",
    "method_reference",
    "reproduction",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_param = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
default_role = "code"
# Names of other projects cannot be looked up without a network, so only our own are checked.
nitpick_ignore_regex = [("py:.*", r"(?!sottovoce\.).*")]

html_theme = "furo"
html_title = "Sottovoce"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_logo = html_favicon = "../src/sottovoce/device/page/icon.svg"
# The colours of the console and the participant's page, as in device/page/style.css.
_SERIF = '"Iowan Old Style", Palatino, P052, Georgia, serif'
_LIGHT = {
    "paper": "#f8f5ee",
    "sheet": "#fffdf9",
    "ink": "#1d2628",
    "quiet": "#586467",
    "line": "#ddd6c8",
    "voice": "#17494d",
}
_DARK = {
    "paper": "#111718",
    "sheet": "#192122",
    "ink": "#e9e6de",
    "quiet": "#a3afb0",
    "line": "#2f3b3c",
    "voice": "#8fcfc6",
}


def _look(colours: dict[str, str]) -> dict[str, str]:
    return {
        "color-background-primary": colours["sheet"],
        "color-background-secondary": colours["paper"],
        "color-background-border": colours["line"],
        "color-foreground-primary": colours["ink"],
        "color-foreground-secondary": colours["quiet"],
        "color-brand-primary": colours["voice"],
        "color-brand-content": colours["voice"],
        "color-brand-visited": colours["voice"],
        "font-stack--headings": _SERIF,
    }


html_theme_options = {"light_css_variables": _look(_LIGHT), "dark_css_variables": _look(_DARK)}
