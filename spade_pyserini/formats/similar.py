"""Find a path that the user may have meant, for error messages about paths that do not exist."""

from __future__ import annotations

import difflib
from itertools import islice
from pathlib import Path

MOST = 1000  # compare at most this many names, because an error message should not take long


def did_you_mean(path: str | Path, folders: bool = False) -> str:
    """Return ``did you mean PATH? ``: the path in the same folder with the most similar name.

    The text is empty if the folder does not exist, has no similar name, or is on an object store.
    With ``folders``, only names of folders are compared.
    """
    if "://" in str(path):
        return ""
    wanted = Path(path)
    try:
        entries = islice(wanted.parent.iterdir(), MOST)
        others = [entry for entry in entries if not folders or entry.is_dir()]
    except OSError:
        return ""
    close = difflib.get_close_matches(wanted.name, [other.name for other in others], 1)
    return f"did you mean {wanted.parent / close[0]}? " if close else ""


def no_such(path: str | Path, kind: str) -> str:
    """Return the message ``PATH: no such KIND``, with a path that the user may have meant."""
    return "; ".join(filter(None, [f"{path}: no such {kind}", did_you_mean(path).strip()]))
