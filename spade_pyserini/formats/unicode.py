"""Text that can be written as UTF-8, and text that can be printed on a terminal."""

from __future__ import annotations

import re

# C0 and C1 control characters, and characters that change the direction of text.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SURROGATE = "half of a surrogate pair (\\ud800 to \\udfff); remove or replace it"


def is_valid_unicode(text: str) -> bool:
    """Return False if ``text`` has an unpaired surrogate (JSON and command lines can have one)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """Return ``text`` on one line, without characters that could change a terminal's state.

    Control characters, such as the start of an escape sequence, and invisible characters that
    change the direction of text become spaces; several spaces become one.
    """
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())
