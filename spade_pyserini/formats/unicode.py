"""Text that can be written as UTF-8."""

from __future__ import annotations

SURROGATE = "half of a surrogate pair (\\ud800 to \\udfff); repair it"


def is_valid_unicode(text: str) -> bool:
    """Return False if ``text`` has an unpaired surrogate, as JSON and command lines may contain."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
