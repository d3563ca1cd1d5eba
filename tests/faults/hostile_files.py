"""Hypothesis strategies for hostile files of every format that commands read."""

from __future__ import annotations

import csv
import gzip
import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.faults.hostile import (
    NUMBERS,
    SENTENCES,
    TEXTS,
    VALUES,
    distinct,
    like,
    mostly,
    mutated,
    or_mutated,
    to_json,
)

IDS = [f"d{number}" for number in range(30)]
TOPIC_IDS = ["1", "2", "3", "q4", "5-a", "006"]
NAMES = ("id", "_id", "docid", "title", "text", "contents", "vector", "body", "url")
DEEP = st.integers(1, 200_000).map(lambda depth: b'{"id":' + b"[" * depth)
ENDS = [b"\n", b"\r\n", b"\n\n", b"\n"]
STARTS = [b"", b"", b"", b"\xef\xbb\xbf", b"\xff\xfe"]


def lines(line: st.SearchStrategy[bytes], most: int = 8) -> st.SearchStrategy[bytes]:
    """Return a strategy for files of such lines, with various first bytes and line ends."""
    parts = st.tuples(
        mostly(st.just(b""), st.sampled_from(STARTS)),
        st.lists(line, min_size=1, max_size=most),
        st.sampled_from(ENDS),
    )
    return parts.map(lambda part: part[0] + part[2].join(part[1]))


def records(
    ids: list[str], values: dict[str, st.SearchStrategy[Any]], id_name: str
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return a strategy for lists of records with different ids.

    Rarely, an id or a complete record is hostile.
    """

    def record(docid: str) -> st.SearchStrategy[Any]:
        valid = st.fixed_dictionaries({id_name: mostly(st.just(docid), VALUES, 40), **values})
        hostile = st.dictionaries(st.one_of(st.sampled_from(NAMES), TEXTS), VALUES, max_size=5)
        return mostly(valid, hostile, 40)

    return distinct(ids, 8).flatmap(lambda chosen: st.tuples(*map(record, chosen)).map(list))


def rows(
    ids: list[str], cells: list[st.SearchStrategy[str]]
) -> st.SearchStrategy[list[tuple[str, ...]]]:
    """Return a strategy for rows that begin with one of ``ids``.

    Rarely, a cell is hostile or the last cell is missing.
    """
    hostile = st.one_of(TEXTS, NUMBERS.map(str))
    row = st.tuples(*(mostly(cell, hostile, 150) for cell in (st.sampled_from(ids), *cells)))
    shorter = row.map(lambda cells: cells[:-1])
    return st.lists(mostly(row, shorter, 150), min_size=1, max_size=12)


def table(content: st.SearchStrategy[list[tuple[str, ...]]]) -> st.SearchStrategy[bytes]:
    """Return a strategy for TREC files with the rows of ``content``, some files mutated."""
    separators = st.sampled_from([" ", "\t"])
    joined = st.tuples(content, separators).map(
        lambda part: "\n".join(part[1].join(row) for row in part[0])
    )
    return or_mutated(joined.map(lambda text: text.encode("utf-8", "surrogatepass")))


def _json_lines(values: list[dict[str, Any]]) -> bytes:
    return b"\n".join(map(to_json, values))


def _csv(values: list[dict[str, Any]], separator: str = ",") -> bytes:
    stream = io.StringIO(newline="")
    names = list(dict.fromkeys(name for record in values for name in record))
    writer = csv.DictWriter(stream, names, delimiter=separator)
    writer.writeheader()
    writer.writerows(values)
    return stream.getvalue().encode("utf-8", "surrogatepass")


def _tsv(values: list[dict[str, Any]]) -> bytes:
    return _csv(values, "\t")


def _parquet(values: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    plain = [{name: str(cell) for name, cell in record.items()} for record in values]
    content = json.dumps(plain).encode("ascii").replace(b"\\ud800", b"?")
    pq.write_table(pa.Table.from_pylist(json.loads(content)), stream)
    return stream.getvalue()


def _zipped(values: list[dict[str, Any]]) -> bytes:
    return gzip.compress(_json_lines(values))


FORMATS = {
    ".jsonl": _json_lines,
    ".json": to_json,
    ".csv": _csv,
    ".tsv": _tsv,
    ".parquet": _parquet,
    ".jsonl.gz": _zipped,
}


def files(name: str, content: st.SearchStrategy[list[dict[str, Any]]]) -> st.SearchStrategy[Any]:
    """Return a strategy for pairs (file name, content) in all `FORMATS`, a third mutated."""

    def of_format(suffix: str) -> st.SearchStrategy[Any]:
        written = content.map(FORMATS[suffix])
        return st.tuples(st.just(name + suffix), or_mutated(written))

    return st.sampled_from(sorted(FORMATS)).flatmap(of_format)


ANY_TEXT = mostly(SENTENCES, TEXTS, 4)
JUNK = st.one_of(lines(st.one_of(VALUES.map(to_json), DEEP)), st.binary(max_size=200))
CORPORA = st.one_of(
    *[files("c", records(IDS, {"title": ANY_TEXT, "text": ANY_TEXT}, "_id"))] * 7,
    st.tuples(
        st.sampled_from(["c.jsonl", "c.gz", "c.parquet", "c.zst", "c.bz2", "c.txt", "c.json"]), JUNK
    ),
)
TOPICS = st.one_of(
    *[files("t", records(TOPIC_IDS, {"text": ANY_TEXT}, "_id"))] * 5,
    st.tuples(st.just("t.tsv"), table(rows(TOPIC_IDS, [SENTENCES]))),
    st.tuples(st.sampled_from(["t.tsv", "t.jsonl", "t.json", "t.trec", "t.tsv.gz"]), JUNK),
)
IMPACTS = st.dictionaries(
    mostly(st.sampled_from("the old cat sleeps ##s \U0001f600 [UNK]".split()), TEXTS, 12),
    mostly(st.integers(1, 255), NUMBERS, 12),
    max_size=6,
)
VECTORS = or_mutated(records(IDS, {"vector": mostly(IMPACTS, VALUES)}, "id").map(_json_lines))
WEIGHTED_TOPICS = or_mutated(records(TOPIC_IDS, {"vector": IMPACTS}, "_id").map(_json_lines))
EXPANSIONS = or_mutated(
    records(
        IDS, {"predicted_queries": mostly(st.lists(ANY_TEXT, min_size=1, max_size=4), VALUES)}, "id"
    ).map(_json_lines)
)
GRADES = st.integers(-1, 3).map(str)
QRELS = st.one_of(
    *[table(rows(["1", "2"], [st.just("0"), st.sampled_from(IDS), GRADES]))] * 5, JUNK
)
RANKS, SCORES = st.integers(1, 9).map(str), st.floats(-9, 99).map(str)
RUN_CELLS = [st.just("Q0"), st.sampled_from(IDS), RANKS, SCORES, st.just("x")]
RUNS = st.one_of(*[table(rows(["1", "2"], RUN_CELLS))] * 5, JUNK)


def recipes(settings: dict[str, Any], valid: str) -> st.SearchStrategy[bytes]:
    """Return a strategy for recipes: ``valid`` with one or two unusual settings, or mutated.

    ``settings`` has a value for each setting. Most new values have the type of this value.
    """

    def setting(name: str) -> st.SearchStrategy[bytes]:
        values = mostly(like(settings[name]), VALUES, 4)
        return values.map(
            lambda value: f"\n{name} = {_toml(value)}".encode("utf-8", "surrogatepass")
        )

    def with_settings(names: list[str]) -> st.SearchStrategy[bytes]:
        others = [line for line in valid.splitlines() if line.partition(" = ")[0] not in names]
        appended = st.tuples(*map(setting, names)).map(b"".join)
        return appended.map(lambda text: "\n".join(others).encode() + text)

    changed = distinct(sorted(settings), 2).flatmap(with_settings)
    return st.one_of(changed, changed, changed, mutated(valid.encode()))


def _toml(value: object) -> str:
    if isinstance(value, dict):
        inner = (f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items())
        return "{" + ", ".join(inner) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if value is None:
        return "''"
    return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")
