"""Generators of hostile files: unusual values in valid formats, and mutations of valid files."""

from __future__ import annotations

import gzip
import json
from typing import Any

from hypothesis import strategies as st

TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            *("", " ", "\x00", "\x1b[31m", "\ud800", "\U0001f600", "\u202e", "\ufeff", "a\tb"),
            *("cat " * 3000, "x" * 70_000, "../../etc", "/", "nan", "-0", "1e999", "९", "a\u2028b"),
        ]
    ),
)
NUMBERS = st.one_of(
    st.integers(-3, 3),
    st.floats(),
    st.sampled_from([10**400, -(10**30), 2**31, 2**63, 4_000_000_000, 1e-320, 255, 256]),
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=6,
)
DEEP = st.integers(1, 200_000).map(lambda depth: b'{"id":' + b"[" * depth)
NAMES = ("id", "_id", "docid", "title", "text", "contents", "vector", "body", "url")


def to_json(value: object) -> bytes:
    """Return JSON, with NaN, Infinity and lone surrogates as Python writes them."""
    return json.dumps(value).encode()


def lines(line: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Return files whose lines come from ``line``, with different line endings."""
    ends = st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"])
    starts = st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe"])
    parts = st.tuples(starts, st.lists(line, max_size=8), ends)
    return parts.map(lambda part: part[0] + part[2].join(part[1]))


def table(columns: int, separators: list[bytes]) -> st.SearchStrategy[bytes]:
    """Return tables whose rows have ``columns`` columns, or one more or less."""
    cell = st.one_of(st.integers(-2, 5).map(str), NUMBERS.map(str), TEXTS, st.just("q1"))
    row = st.tuples(
        st.lists(cell, min_size=max(0, columns - 1), max_size=columns + 1),
        st.sampled_from(separators),
    ).map(lambda part: part[1].join(_encoded(text) for text in part[0]))
    return lines(st.one_of(row, row, row, st.binary(max_size=60)))


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


DOCUMENTS = st.dictionaries(st.one_of(st.sampled_from(NAMES), TEXTS), VALUES, max_size=5)
JSON_LINES = lines(st.one_of(*[DOCUMENTS.map(to_json)] * 4, VALUES.map(to_json), DEEP))
CORPORA = st.one_of(
    st.tuples(st.sampled_from(["c.jsonl", "c.json", "c.tsv", "c.txt", "c.csv"]), JSON_LINES),
    st.tuples(st.just("c.jsonl.gz"), JSON_LINES.map(gzip.compress)),
    st.tuples(
        st.sampled_from(["c.tsv", "c.csv", "c.txt", "c.md"]), table(3, [b"\t", b",", b";", b'","'])
    ),
    st.tuples(
        st.sampled_from(["c.gz", "c.jsonl.gz", "c.parquet", "c.zst", "c.bz2", "c.bin", "c.json"]),
        st.binary(max_size=200),
    ),
)
VECTORS = lines(
    st.one_of(
        st.fixed_dictionaries(
            {"id": TEXTS, "vector": st.dictionaries(TEXTS, NUMBERS, max_size=4)}
        ).map(to_json),
        DOCUMENTS.map(to_json),
    )
)
TOPICS = st.one_of(
    st.tuples(st.sampled_from(["t.tsv", "t.txt"]), table(2, [b"\t", b" "])),
    st.tuples(st.sampled_from(["t.jsonl", "t.json", "t.tsv.gz"]), JSON_LINES),
)
QRELS = table(4, [b" ", b"\t"])
RUNS = table(6, [b" ", b"\t"])


def mutated(content: bytes) -> st.SearchStrategy[bytes]:
    """Return copies of a file in which bytes were changed, removed, repeated or inserted."""
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
    """Return copies of a JSON file in which one value at any depth is replaced or removed."""
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

    big: st.SearchStrategy[Any] = st.sampled_from([10**6, 4_000_000_000, -1, 0, "x", None, [], {}])
    parts = st.tuples(st.sampled_from(paths), st.one_of(VALUES, big), st.booleans())
    return parts.map(change)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in list(items)[:40]:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from _paths(inner, (*path, key))


def recipes(names: list[str], valid: str) -> st.SearchStrategy[bytes]:
    """Return recipes: a valid one with a hostile setting, or a mutation of it."""
    setting = st.tuples(st.sampled_from(names), VALUES).map(
        lambda part: f"\n{part[0]} = {_toml(part[1])}".encode("utf-8", "surrogatepass")
    )
    appended = st.lists(setting, min_size=1, max_size=2).map(b"".join)
    return st.one_of(
        appended.map(lambda text: valid.encode() + text),
        appended,
        mutated(valid.encode()),
    )


def _toml(value: object) -> str:
    if isinstance(value, dict):
        inner = (f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return (
        "''"
        if value is None
        else json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")
    )
