"""A self-contained HTML page: no scripts, and no fonts or pictures from elsewhere."""

from html import escape


def standalone(title: str, body: str) -> str:
    """A whole page around a body of HTML."""
    return _FRAME.format(title=escape(title), style=_STYLE, body=body)


_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1b1b; --paper: #fcfcfa; --quiet: #595959; --line: #d4d4ce; --link: #005a8f;
  --holds: #00614a; --fails: #a33b00; --measured: #44484d; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8e4; --paper: #17181a; --quiet: #a9aaa6; --line: #3b3d40; --link: #7cc4f0; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 1.03rem/1.55 system-ui, sans-serif; }
main { max-width: 56rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; }
h2 { margin-top: 3rem; border-bottom: 2px solid var(--line); padding-bottom: .3rem; }
h3 { margin-top: 2.4rem; font-size: 1.2rem; }
a { color: var(--link); }
figure { margin: 1rem 0; }
img { display: block; width: 100%; height: auto; background: #fff; border: 1px solid var(--line); border-radius: 4px; }
figcaption { color: var(--quiet); font-size: .88rem; margin-top: .4rem; }
table { border-collapse: collapse; font-size: .9rem; }
.contents { width: 100%; }
caption { text-align: left; color: var(--quiet); padding-bottom: .3rem; }
th, td { text-align: left; padding: .22rem .7rem .22rem 0; border-bottom: 1px solid var(--line); white-space: nowrap; }
th, .contents td { white-space: normal; vertical-align: bottom; }
.figure { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow: auto; max-height: 24rem; }
@media print { .scroll { max-height: none; overflow: visible; } }
summary { cursor: pointer; color: var(--link); }
.badge { display: inline-block; padding: 0 .55em; border-radius: 1em; font-size: .82rem; color: #fff;
  white-space: nowrap; }
.holds { background: var(--holds); } .fails { background: var(--fails); } .measured { background: var(--measured); }
"""
