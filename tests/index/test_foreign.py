"""Vectors of other tools are checked line by line."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import build_impact_index
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.index import IndexOptions, build_foreign_index, direct, writing
from spade_pyserini.index.foreign import check_foreign
from spade_pyserini.index.postings import Postings
from spade_pyserini.records import ImpactVector
from tests.index.conftest import GOOD, write_foreign

pytestmark = pytest.mark.java


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"id": "b", "vector": {"cat": 1.5}}, "the impact of 'cat' is 1.5"),
        ({"id": "b", "vector": {"cat": 1.5}}, "quantize the vectors first"),
        ({"id": "b", "vector": {"cat": 65_536}}, "is 65,536, the maximum is 65,535; quantize"),
        ({"id": "b", "vector": {"cat": 0}}, "the impact of 'cat' is 0"),
        ({"id": "b", "vector": {"cat": True}}, "the impact of 'cat' is True"),
        ({"id": "b", "vector": {"a cat": 1}}, "would split the term 'a cat'"),
        ({"id": "b", "vector": {"cat\n": 1}}, "would split the term 'cat\\n'"),
        ({"id": "b", "vector": {"cat ": 1}}, "would split the term 'cat '"),
        ({"id": "b", "vector": {"x" * 300: 1}}, "is longer than 255 characters"),
        ({"id": "b", "vector": {"Cat": 1}}, "'Cat' is not in the vocabulary of the tokenizer"),
        ({"id": "b", "vector": {"\ud800": 1}}, "contains half of a surrogate pair"),
        ({"id": "a", "vector": {"cat": 1}}, "the id 'a' occurs twice"),
        ({"id": "b c", "vector": {"cat": 1}}, "white space"),
        ({"id": " b", "vector": {"cat": 1}}, "white space"),
        ({"id": 7, "vector": {"cat": 1}}, "a string"),
        ({"id": "b", "vector": [1]}, "must be an object"),
        ("{", "not valid JSON"),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_built(
    tiny_index: Path, tmp_path: Path, line: dict[str, Any] | str, message: str
) -> None:
    source = write_foreign(tmp_path / "v", GOOD, line)
    tokenizer = tiny_index.with_name(f"{tiny_index.name}.tokenizer.json")
    with pytest.raises(InputError, match=r"vectors\.jsonl:2") as caught:
        build_foreign_index(source, tmp_path / "x", tokenizer)
    assert message in str(caught.value)
    assert not (tmp_path / "x").exists()


def test_invalid_unicode_is_refused_without_a_tokenizer(tmp_path: Path) -> None:
    source = write_foreign(tmp_path / "v", {"id": "b", "vector": {"\ud800": 1}})
    with pytest.raises(InputError, match="contains half of a surrogate pair"):
        build_foreign_index(source, tmp_path / "x")


BAD_BYTES = [
    b"",  # an empty line
    b"  ",
    b'{"id": "b", "vector": {"cat": 1}} {"id": "c", "vector": {"cat": 1}}',
    b'{"id": "b", "vector": {"cat": 1}} x',
    b'{"id": "b", "vector": {"cat": 1}},',
    b'{"id": "b", "vector": {"cat": NaN}}',
    b'{"id": "b", "vector": {"cat": 1e2}}',
    b'{"id": "b", "vector": {"cat": -3}}',
    b'{"id": "b", "vector": {"cat": 99999999999}}',
    b'{"id": "b", "vector": {"cat": "1"}}',
    b'{"id": "b", "vector": {"cat": null}}',
    b'{"id": "b", "vector": {"cat": 1, "cat": 2}}',
    b'{"id": "b", "vector": {"cat": 1}, "vector": {"dog": 2}}',
    b'{"id": "b", "id": "c", "vector": {"cat": 1}}',
    b'{"id": "b", "vector": {"cat": 1}, "more": {"x": 1, "x": 2}}',
    b'{"id": "b", "vector": {"cat": 1}, "more": [{"x": [{"y": 1, "y": 2}]}]}',
    b'{"id": "b", "vector": {"": 1}}',
    b'{"id": "b", "vector": {"a\\u00a0b": 1}}',
    b'{"id": "b", "vector": {"a\\u2028b": 1}}',
    b'{"id": "b", "vector": {"\\ud800x": 1}}',
    b'{"id": "b\\u0007", "vector": {"cat": 1}}',
    b'{"id": "b\\u200b", "vector": {"cat": 1}}',
    b'{"id": "\\ud800", "vector": {"cat": 1}}',
    b'{"id": "", "vector": {"cat": 1}}',
    b'{"id": "' + 1001 * b"b" + b'", "vector": {"cat": 1}}',
    b'{"id": null, "vector": {"cat": 1}}',
    b'{"vector": {"cat": 1}}',
    b'{"id": "b"}',
    b'{"id": "b", "vector": null}',
    b'["b"]',
    b'{"id": "b", "vector": {"cat": 1}',
    b'{"id": "b", "contents": "\xff", "vector": {"cat": 1}}',
    # An overlong form of "/" in UTF-8.
    b'{"id": "b", "contents": "\xc0\xaf", "vector": {"cat": 1}}',
    b'{"id": "b", "vector": {"\xed\xa0\xbd\xed\xb8\x80": 1}}',  # surrogates in UTF-8
    b'{"id": "b", "vector": {"caf\xe9": 1}}',
    b'{"id": "b", "vector": {"cat": 1}, "x": "\x01"}',
]


@pytest.mark.parametrize("line", BAD_BYTES)
def test_java_and_python_refuse_the_same_lines(tmp_path: Path, line: bytes) -> None:
    good = b'{"id": "a", "vector": {"cat": 3}}\n{"id": "d", "vector": {"cat": 3}}\n'
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "x.jsonl").write_bytes(good + line + b"\n" + good)
    with pytest.raises(InputError, match=r"x\.jsonl:3") as expected:
        check_foreign(tmp_path / "v")
    with pytest.raises(InputError) as caught:
        build_foreign_index(tmp_path / "v", tmp_path / "x")
    assert str(caught.value) == str(expected.value)
    assert [path.name for path in tmp_path.iterdir()] == ["v"]


def damaged_files() -> dict[str, bytes]:
    line = b'{"id": "a", "vector": {"cat": 3}}\n'
    packed = gzip.compress(line * 1)
    return {
        "utf16.jsonl": line.decode().encode("utf-16"),
        "utf16le.jsonl": line.decode().encode("utf-16-le"),
        "cut.jsonl.gz": packed[:-9],
        "not.jsonl.gz": line,
        "more.jsonl.gz": packed + b"and more",
        "nothing.jsonl": b"",
        "cut.jsonl": line + b'{"id": "b", "contents": "\xc3',
    }


@pytest.mark.parametrize("name", damaged_files())
def test_java_and_python_refuse_the_same_files(tmp_path: Path, name: str) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / name).write_bytes(damaged_files()[name])
    with pytest.raises(InputError) as expected:
        check_foreign(tmp_path / "v")
    with pytest.raises(InputError) as caught:
        build_foreign_index(tmp_path / "v", tmp_path / "x")
    assert str(caught.value) == str(expected.value)


def unusual_files() -> dict[str, bytes]:
    line = b'{"id": "a", "vector": {"cat": 3}}'
    return {
        "plain.jsonl": line,
        "mark.jsonl": b"\xef\xbb\xbf" + line + b"\n",
        "windows.jsonl": line + b"\r\n",
        "spaces.jsonl": b"  " + line + b"  \n",
        "return.jsonl": b'{"id": "a",\r"vector": {"cat": 3}}\n',
        "packed.jsonl.bz2": bz2.compress(line),
        "parts.jsonl.gz": gzip.compress(line[:9]) + gzip.compress(line[9:]),
        "more.jsonl": b'{"more": {"x": [{"y": 1}, {"y": 2}]}, ' + line[1:],
        "escaped.jsonl": b'{"id": "\\u0061", "vector": {"c\\u0061t": 3}}',
    }


@pytest.mark.parametrize("name", unusual_files())
def test_unusual_files_are_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if name not in ("return.jsonl", "packed.jsonl.bz2"):  # Java cannot read these two files
        monkeypatch.setattr(writing, "count_foreign", None)
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / name).write_bytes(unusual_files()[name])
    build_foreign_index(tmp_path / "v", tmp_path / "x")
    with Postings(tmp_path / "x") as postings:
        assert list(postings.all_vectors()) == [ImpactVector("a", {"cat": 3})]


def test_terms_beyond_the_basic_plane(tmp_path: Path) -> None:
    lines = {"id": "a", "vector": {"\U0001f600": 3}}, {"id": "\U0001f600", "vector": {"é": 3}}
    source = write_foreign(tmp_path / "escaped", *lines)  # json.dumps writes \\ud83d\\ude00
    plain = [json.dumps(line, ensure_ascii=False) for line in lines]
    for folder in (source, write_foreign(tmp_path / "plain", *plain)):
        index = tmp_path / f"index-{folder.name}"
        manifest = build_foreign_index(folder, index)
        assert (manifest.documents, manifest.postings, manifest.impacts) == (2, 2, 6)
        with Postings(index) as postings:
            assert postings.vectors(["a"]) == [{"\U0001f600": 3}]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("same_segment", [True, False])
def test_an_id_in_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, same_segment: bool
) -> None:
    if not same_segment:
        monkeypatch.setattr(direct, "BUFFER_MEGABYTES", 0.0001)  # a document per segment
    for name in ("one", "two"):
        lines = [{"id": f"{name}{number}", "vector": {"cat": 1}} for number in range(5)]
        write_foreign(tmp_path / "v" / name, *lines, {"id": "caf\u00e9", "vector": {"cat": 2}})
    with pytest.raises(InputError, match=r"two/vectors\.jsonl:6: the id 'café' occurs twice"):
        options = IndexOptions(threads=threads)
        build_foreign_index(tmp_path / "v", tmp_path / "x", options=options)
    assert not (tmp_path / "x").exists()


def test_pruned_terms_are_checked(tmp_path: Path) -> None:
    line = {"id": "a", "vector": {"cat": 100, "a dog": 1}}
    with pytest.raises(InputError, match="would split the term 'a dog'"):
        source = write_foreign(tmp_path / "v", line)
        build_foreign_index(source, tmp_path / "x", options=IndexOptions(keep=0.5))


def test_own_and_foreign_vectors_give_the_same_index(tiny_vectors: Path, tmp_path: Path) -> None:
    own = build_impact_index(tiny_vectors, tmp_path / "own")
    foreign = build_foreign_index(tiny_vectors, tmp_path / "foreign")
    for name in ("documents", "empty_documents", "postings", "impacts"):
        assert getattr(own, name) == getattr(foreign, name)
    with Postings(tmp_path / "own") as first, Postings(tmp_path / "foreign") as second:
        assert list(first.all_vectors()) == list(second.all_vectors())


def test_an_empty_folder_has_no_vectors(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    with pytest.raises(NotFoundError, match="this folder has no vectors"):
        build_foreign_index(tmp_path / "v", tmp_path / "x")
