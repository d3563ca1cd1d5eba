"""Ids of documents and topics: which ids are valid, and a compact set of ids.

Not all strings are valid: a TREC run separates its columns by white space, and Lucene drops
documents with very long ids.
"""

from __future__ import annotations

import hashlib

import numpy as np

MAX_ID_LENGTH = 1000


def id_problem(identifier: str) -> str | None:
    """Return what is wrong with the id of a document or topic, or None if it is valid.

    A valid id has 1 to `MAX_ID_LENGTH` printable characters and no white space.
    """
    if not identifier:
        return "the id is empty"
    if not identifier.isprintable() or identifier.split() != [identifier]:
        message = f"the id {identifier!r} contains white space or control characters"
        return f"{message}, which a TREC run cannot represent; replace them"
    if len(identifier) > MAX_ID_LENGTH:
        return f"the id has {len(identifier)} characters, the maximum is {MAX_ID_LENGTH}"
    return None


class IdSet:
    """A set of ids that stores 64-bit digests, most of them in a sorted array.

    It needs about ten bytes for each id.
    """

    RECENT = 500_000

    def __init__(self) -> None:
        self._recent: set[int] = set()
        self._sorted = np.empty(0, dtype=np.uint64)

    def add(self, identifier: str) -> bool:
        """Add an id; return False if the set had it already."""
        digest = int.from_bytes(hashlib.blake2b(identifier.encode(), digest_size=8).digest())
        if digest in self._recent or self._in_sorted(digest):
            return False
        self._recent.add(digest)
        if len(self._recent) >= self.RECENT:
            recent = np.fromiter(self._recent, dtype=np.uint64, count=len(self._recent))
            self._sorted = np.sort(np.concatenate([self._sorted, recent]))
            self._recent.clear()
        return True

    def _in_sorted(self, digest: int) -> bool:
        key = np.uint64(digest)
        index = int(np.searchsorted(self._sorted, key))
        return index < len(self._sorted) and bool(self._sorted[index] == key)
