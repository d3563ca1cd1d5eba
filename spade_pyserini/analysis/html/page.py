"""A complete HTML page: its template and style sheet.

Colours are variables of the style sheet, which follows the light or dark mode of the browser.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def page(title: str, sections: Iterable[str]) -> str:
    """Return a page with these sections. The page forbids scripts and external resources."""
    return PAGE.format(title=escape(title), style=STYLE, body="\n".join(sections))


STYLE = """
:root { color-scheme: light dark; --page: #fbfbfa; --box: #fff; --ink: #1d232b; --soft: #5d6875;
  --line: #e1e4e8; --track: #eceff2; --base: #9aa5b1; --gain: #2f6fd0; --loss: #d4691c; }
@media (prefers-color-scheme: dark) { :root { --page: #14171b; --box: #1c2026; --ink: #e5e9ee;
  --soft: #9aa6b3; --line: #30363e; --track: #2a3038; --base: #75818e; --gain: #6ba1f2;
  --loss: #ef9150; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 72rem; background: var(--page);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.75rem; line-height: 1.2; }
h2 { margin: 0 0 .75rem; font-size: 1.2rem; line-height: 1.3; }
h3 { margin: 0 0 .5rem; font-size: .95rem; }
section { margin-top: 1.5rem; padding: 1.25rem; background: var(--box);
  border: 1px solid var(--line); border-radius: 8px; }
.note { margin: .4rem 0; color: var(--soft); font-size: .85rem; }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: .9rem; }
th { color: var(--soft); font-size: .8rem; text-align: left; vertical-align: bottom; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
td:not(.number) { min-width: 6rem; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.number i { display: inline-block; width: 1em; font-style: normal; text-align: left; }
.boxes { display: grid; gap: 1.5rem 2rem; margin: 1rem 0 .5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); }
.boxes > div { min-width: 0; }
.tiles { display: flex; flex-wrap: wrap; gap: .75rem 2rem; margin: .8rem 0 1rem; }
.tiles strong { display: block; font-size: 1.35rem; line-height: 1.2;
  font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: .8rem; }
.plot { display: grid; grid-template-columns: 3rem 1fr; gap: .5rem; }
svg { display: block; width: 100%; font-size: 12px; }
svg text { fill: var(--ink); }
svg .value { text-anchor: end; font-variant-numeric: tabular-nums; }
.plot .value { fill: var(--soft); }
.track { fill: var(--track); } .baseline { fill: var(--base); }
.gain { fill: var(--gain); } .loss { fill: var(--loss); }
.grid { stroke: var(--line); } .zero { stroke: var(--soft); }
figure { margin: 0; }
a { color: var(--gain); }
summary { margin-top: .75rem; color: var(--gain); cursor: pointer; }
.topic { margin-top: 1.5rem; } .topic:target h3 { color: var(--gain); }
img { max-width: 100%; background: #fff; border-radius: 4px; }
figcaption { color: var(--soft); font-size: .8rem; }
@media (max-width: 40rem) { section { padding: 1rem .8rem; } h1 { font-size: 1.4rem; }
  .tiles { gap: .5rem 1rem; } .tiles strong { font-size: 1.1rem; }
  .topics tr { display: grid; grid-template-columns: repeat(3, 1fr);
    border-bottom: 1px solid var(--line); }
  .topics th, .topics td { border: 0; padding: .15rem 0; }
  .topics td:first-child, .topics th:first-child { grid-column: 1 / -1; } }
"""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""
