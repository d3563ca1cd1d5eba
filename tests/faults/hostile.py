"""Hostile values, and mutations of valid files, as hypothesis strategies.

`tests.faults.hostile_files` makes files of these values. A reader refuses a file of random values
at its first line, so such a file tests little. Therefore, most values in a file are valid (see
`mostly`), and the hostile values reach the code after the first checks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            *("", " ", "\x00", "\x1b[31m", "\ud800", "\U0001f600", "\u202e", "\ufeff", "a\tb"),
            *("cat " * 3000, "x" * 70_000, "../../etc", "/", "nan", "-0", "1e999", "९", "a\u2028b"),
            *("[MASK]", "##s", "e\u0301" * 90, "\u4e2d" * 300, "." * 5000, 'say "cat"', "a\nb"),
        ]
    ),
)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from([10**400, -(10**30), 2**31, 2**63, 4_000_000_000, 1e-320, 255, 256, 65_536]),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=6,
)
SENTENCES = st.lists(
    st.sampled_from("the old cat sleeps in a big house and eats fish .".split()),
    min_size=1,
    max_size=12,
).map(" ".join)


def mostly(
    valid: st.SearchStrategy[Any], hostile: st.SearchStrategy[Any], times: int = 20
) -> st.SearchStrategy[Any]:
    """Return a strategy for values of ``valid`` and, about once in ``times``, of ``hostile``."""
    return st.integers(1, times).flatmap(lambda number: hostile if number == times else valid)


def distinct(values: Sequence[Any], most: int) -> st.SearchStrategy[list[Any]]:
    """Return a strategy for lists of up to ``most`` different elements of ``values``."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True)


def to_json(value: object) -> bytes:
    """Return JSON, with NaN, Infinity and lone surrogates as Python writes them."""
    return json.dumps(value).encode()


def or_mutated(files: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Return a strategy for these files, about every third of them mutated."""
    return st.one_of(files, files, files.flatmap(mutated))


def mutated(content: bytes) -> st.SearchStrategy[bytes]:
    """Return a strategy for copies of a file with bytes changed, removed, repeated or inserted."""
    place = st.integers(0, max(0, len(content) - 1))
    edit = st.tuples(
        st.sampled_from(["flip", "cut", "remove", "repeat", "insert"]),
        place,
        st.integers(1, 40),
        st.binary(min_size=1, max_size=8),
    )
    return st.lists(edit, min_size=1, max_size=3).map(lambda edits: _edited(content, edits))


def _edited(content: bytes, edits: list[tuple[str, int, int, bytes]]) -> bytes:
    for kind, at, length, inserted in edits:
        before, part, after = content[:at], content[at : at + length], content[at + length :]
        if kind == "flip":
            content = before + bytes(byte ^ 1 << length % 8 for byte in part[:1]) + part[1:] + after
        elif kind == "cut":
            content = before
        elif kind == "remove":
            content = before + after
        elif kind == "repeat":
            content = before + part * 2 + after
        else:
            content = before + inserted + part + after
    return content


def changed_json(content: bytes) -> st.SearchStrategy[bytes]:
    """Return a strategy for copies of a JSON file with one value, at any depth, changed or removed.

    Many new values have the type of the old one, so that they pass checks of types.
    """
    paths = list(_paths(json.loads(content)))

    def change(change: tuple[tuple[Any, ...], Any, bool]) -> bytes:
        path, value, missing = change
        changed = inner = json.loads(content)
        for key in path[:-1]:
            inner = inner[key]
        if missing:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        return to_json(changed)

    def values(path: tuple[Any, ...]) -> st.SearchStrategy[Any]:
        old = json.loads(content)
        for key in path:
            old = old[key]
        missing = st.integers(1, 5).map(lambda number: number == 5)
        return st.tuples(st.just(path), st.one_of(like(old), BIG, VALUES), missing)

    return st.sampled_from(paths).flatmap(values).map(change)


BIG: st.SearchStrategy[Any] = st.sampled_from([10**6, 4_000_000_000, -1, 0, "x", None, [], {}])


def like(value: object) -> st.SearchStrategy[Any]:
    """Return a strategy for unusual values of the type of ``value``."""
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.one_of(
            st.integers(-2, 70), st.sampled_from([2**15, 10**6, 2**31, 2**63, 10**400])
        )
    if isinstance(value, float):
        return st.one_of(st.floats(), st.sampled_from([0.0, -1.0, 1.0, 1e-45, 1e38, 2, 10**400]))
    if isinstance(value, str):
        return st.one_of(TEXTS, st.sampled_from([value + "x", value.upper(), value[:-1]]))
    if isinstance(value, list | tuple):
        return st.lists(like(value[0]) if value else VALUES, max_size=4)
    return VALUES


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items)[:40]:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from _paths(inner, (*path, key))
