"""Find a path that the user may have meant, for error messages about paths that do not exist."""

from __future__ import annotations

import difflib
from pathlib import Path


def did_you_mean(path: str | Path, folders: bool = False) -> str:
    """Return ``did you mean PATH? ``: the path in the same folder with the most similar name.

    The text is empty if the folder does not exist, or has no similar name. With ``folders``, only
    names of folders are compared.
    """
    wanted = Path(path)
    try:
        others = [other for other in wanted.parent.iterdir() if other.is_dir() or not folders]
    except OSError:
        return ""
    close = difflib.get_close_matches(wanted.name, [other.name for other in others], 1)
    return f"did you mean {wanted.parent / close[0]}? " if close else ""


def no_such(path: str | Path, kind: str) -> str:
    """Return the message ``PATH: no such KIND``, with a path that the user may have meant."""
    return "; ".join(filter(None, [f"{path}: no such {kind}", did_you_mean(path).strip()]))
