"""The search page: an HTML document with style and script inside, and its security policy."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
# The order matters: a file uses names that earlier files define.
SCRIPTS = (
    *("dom.js", "api.js", "state.js", "theme.js", "chips.js", "hits.js", "heat.js"),
    *("terms.js", "expand.js", "results.js", "keyboard.js", "main.js"),
)


class Page(NamedTuple):
    """An HTML document and its Content-Security-Policy."""

    html: str
    policy: str


def search_page() -> Page:
    """Return the search page of the server."""
    script = "\n".join(read_asset(name) for name in SCRIPTS)
    return self_contained(read_asset("index.html"), read_asset("style.css"), script)


def self_contained(template: str, style: str, script: str = "") -> Page:
    """Insert style and script into a template, in place of ``{{style}}`` and ``{{script}}``.

    The Content-Security-Policy allows only this style and this script, named by their digests: no
    other script can run, whatever a document or a query contains. The page can send requests to
    this server only.
    """
    if script:
        script = f'"use strict";\n(() => {{\n{script}\n}})();\n'
    html = template.replace("{{style}}", style).replace("{{script}}", script)
    policy = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script) if script else "'none'",
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        # The script creates elements and never writes HTML; the browser enforces this.
        "require-trusted-types-for": "'script'",
    }
    return Page(html, "; ".join(f"{name} {value}" for name, value in policy.items()))


def read_asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return (FOLDER / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"
