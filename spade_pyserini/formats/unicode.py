"""Text that can be written as UTF-8."""

from __future__ import annotations

import re

# C0 and C1 control characters, and those that change the direction of text.
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SURROGATE = "half of a surrogate pair (\\ud800 to \\udfff); repair it"


def is_valid_unicode(text: str) -> bool:
    """Return False if ``text`` has an unpaired surrogate, as JSON and command lines may contain."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """Return ``text`` with control characters as escapes such as ``\\x1b``.

    A terminal would obey the control characters of a stranger's document.
    """
    return CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
