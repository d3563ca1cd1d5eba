"""Hooks of mkdocs: pages of the repository outside of docs/ become pages of the site.

Links such as ``../../CHANGELOG.md`` work on GitHub as they are. For the site, the files in `PAGES`
are added below ``repository/`` and the links to them are rewritten. A link to any other file of the
repository is replaced by the text of the link.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "repository"
PAGES = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/README.md",
    "examples/README.md",
    "spade_pyserini/corpora/pydoc_data/README.md",
    "spade_pyserini/models/pretrained/spade-mini/README.md",
    "spade_pyserini/models/pretrained/spade-mini-2/README.md",
)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add `PAGES`, which are outside of docs/, to the site."""
    for path in PAGES:
        files.append(File.generated(config, f"{FOLDER}/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Rewrite links between docs/ and the rest of the repository."""
    uri = page.file.src_uri
    inside = uri.removeprefix(f"{FOLDER}/")
    home = posixpath.dirname(inside if inside != uri else f"docs/{uri}")

    def rewrite(match: re.Match[str]) -> str:
        image, text, target, anchor = match.groups(default="")
        path = posixpath.normpath(posixpath.join(home, target))
        if not (ROOT / path).exists():
            return match[0]  # mkdocs reports the broken link
        new = site_uri(path)
        if new is None:
            return f"{image}{text}"
        link = posixpath.relpath(new, posixpath.dirname(uri) or ".")
        return f"{image}[{text}]({link}{anchor})"

    return LINK.sub(rewrite, markdown)


def site_uri(path: str) -> str | None:
    """Return the path that a file of the repository has on the site; None if it has none."""
    if path in PAGES:
        return f"{FOLDER}/{path}"
    if path == "README.md":
        return "index.md"
    inside = path.removeprefix("docs/")
    return inside if inside != path and (ROOT / path).is_file() else None
