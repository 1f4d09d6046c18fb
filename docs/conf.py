"""How the site is built: Sphinx with MyST and furo; no network, neither for building nor for reading."""

import sys
from pathlib import Path

from sottovoce import __version__

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Sottovoce"
author = "The Sottovoce maintainers"
copyright = author  # noqa: A001 - Sphinx names it so
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
# Names of other projects cannot be looked up without a network: only our own must be found.
nitpick_ignore_regex = [("py:.*", r"(?!sottovoce\.).*")]

html_theme = "furo"
html_title = "Sottovoce"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#005a8e", "color-brand-content": "#005a8e"},
    "dark_css_variables": {"color-brand-primary": "#6cb8e6", "color-brand-content": "#6cb8e6"},
}
