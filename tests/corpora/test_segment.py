from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import open_corpus
from spade_pyserini.corpora import Segmentation, segmented
from spade_pyserini.errors import InputError, UsageError


def test_passages_are_overlapping_windows(folder: Path) -> None:
    corpus = segmented(open_corpus(str(folder)), Segmentation.parse("4:2"))
    passages = [document for document in corpus if document.docid.startswith("d1#")]
    document = next(doc for doc in open_corpus(str(folder)) if doc.docid == "d1")
    words = document.text.split()
    assert [passage.docid for passage in passages] == ["d1#0", "d1#1"]
    assert [passage.text.split() for passage in passages] == [words[0:4], words[2:6]]
    assert {passage.title for passage in passages} == {document.title}
    assert corpus.count() is None


@pytest.mark.parametrize("text", ["4:5", "0", "x", "4:0"])
def test_malformed_segmentations(text: str) -> None:
    with pytest.raises(UsageError, match=f"segment={text}: "):
        Segmentation.parse(text)


def test_ids_with_the_delimiter_are_refused(folder: Path) -> None:
    (folder / "corpus.jsonl").write_text('{"_id": "a#1", "text": "x"}\n')
    with pytest.raises(InputError, match="the id 'a#1' contains '#'"):
        list(segmented(open_corpus(str(folder)), Segmentation(2, 2)))
