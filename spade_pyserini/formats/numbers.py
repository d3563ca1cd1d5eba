"""Numbers in JSON, TOML and YAML files, where integers can have any number of digits."""

from __future__ import annotations

import sys


def is_finite(value: object) -> bool:
    """Return whether a value is an integer or float in the range of finite floats.

    `math.isfinite` and ``float`` raise an error for an integer of hundreds of digits.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max
