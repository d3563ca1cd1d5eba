from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path
from types import ModuleType

import pytest

from spade_pyserini import open_corpus
from spade_pyserini.corpora import apply_transforms, expanded
from spade_pyserini.errors import InputError, UsageError


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.jsonl", '{"id": "d1", "predicted_queries": ["one two", "three", "four"]}\n'),
        ("e.tsv", "d1\tone two three\n"),
        ("e.txt", "\none two three\n\n\n\n"),
    ],
)
@pytest.mark.parametrize("compress", [None, gzip, bz2, lzma])
def test_expansions(
    folder: Path, tmp_path: Path, name: str, content: str, compress: ModuleType | None
) -> None:
    path, data = tmp_path / name, content.encode()
    if compress:
        path = tmp_path / (name + {gzip: ".gz", bz2: ".bz2", lzma: ".xz"}[compress])
        data = compress.compress(data)
    path.write_bytes(data)
    plain = list(open_corpus(str(folder)))
    limit = 2 if name == "e.jsonl" else None
    documents = list(expanded(open_corpus(str(folder)), path, limit))
    assert documents[1].text == f"{plain[1].text} one two three"
    assert [documents[0], *documents[2:]] == [plain[0], *plain[2:]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.jsonl", '{"id": "d1"}\n', ":1: expected an `id` and a list of texts"),
        ("e.jsonl", '{"id": "d1", "queries": []}\n', "the expansion of 'd1' is empty"),
        ("e.tsv", "d1\ta\nd2\tb\nd1\tc\n", r"e\.tsv:3: the id 'd1' was used before; put its"),
        ("e.tsv", "zzz\tone\n", "no id in this file is an id of the corpus"),
        ("e.txt", "one\n", "1 lines, but the corpus has more documents"),
        ("e.txt", "one\n" * 6, r"more lines than the corpus has documents \(5\)"),
    ],
)
def test_bad_expansions(
    folder: Path, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=message):
        list(expanded(open_corpus(str(folder)), tmp_path / name))


def test_a_limit_needs_queries_that_are_separate(folder: Path, tmp_path: Path) -> None:
    corpus = open_corpus(str(folder))
    with pytest.raises(UsageError, match=r"x\.tsv: only \.jsonl files list the queries"):
        apply_transforms(corpus, expansions=str(tmp_path / "x.tsv"), expansions_per_doc=3)


def test_a_limit_without_expansions_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="has no effect without expansions=FILE"):
        apply_transforms(open_corpus(str(folder)), expansions_per_doc=3)
