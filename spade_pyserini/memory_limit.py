"""The limit on the address space of this process, which ``ulimit -v`` sets."""

from __future__ import annotations

# PyTorch and Java allocate about this much while they are loaded. With less, their native code
# often ends the process, so no exception can be caught.
NEEDED = 1 << 30


def memory_limit() -> int | None:
    """Return the limit in bytes, or None if there is none."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows does not have this module
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def limit_is_too_low() -> bool:
    """Return whether the limit is too low to load PyTorch or Java."""
    limit = memory_limit()
    return limit is not None and limit < NEEDED
