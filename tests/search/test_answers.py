"""Answers: hits with texts and the terms that make up their scores."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import open_corpus
from spade_pyserini.index import build_bm25_index
from spade_pyserini.search import ImpactSearcher, open_searcher
from spade_pyserini.search.answers import answer_query
from spade_pyserini.search.texts import Texts, open_texts
from tests.commands import Commands, copy_artifact

pytestmark = pytest.mark.java


def test_the_terms_make_up_the_score(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        find = open_texts(searcher.manifest).find
        answers = answer_query(searcher, "the old cat \u4e2d", 5, find)
    assert answers.terms == ("the", "old", "cat")
    assert answers.ignored == ("\u4e2d",)
    assert answers.unmatched == ()
    assert [answer.rank for answer in answers.hits] == [1, 2, 3, 4, 5]
    for answer in answers.hits:
        assert sum(term.weight for term in answer.matched) == answer.score
        assert sum(term.share for term in answer.matched) == pytest.approx(1, abs=0.001)
        assert answer.title is not None and answer.snippet is not None
        words = f"{answer.title.text} {answer.snippet.text}".split()
        for term in answer.matched:
            assert term.in_text == (term.term in words)
        marked = {answer.snippet.text[start:end] for start, end in answer.snippet.marks}
        matched = {term.term for term in answer.matched}
        assert marked == matched.intersection(answer.snippet.text.split())


def test_added_terms_have_a_mark_and_a_note(tiny_index: Path) -> None:
    with ImpactSearcher(tiny_index) as searcher:
        answers = answer_query(searcher, "the old cat", 30, open_texts(searcher.manifest).find)
        without = answer_query(searcher, "the old cat", 30)
    added = [term for answer in answers.hits for term in answer.matched if not term.in_text]
    assert added
    shown = answers.as_text()
    assert shown.count("* ") == len(added) + 1
    assert shown.endswith("* not in the text: the model added it")
    assert "*" not in without.as_text()
    assert all(answer.snippet is None for answer in without.hits)


def test_bm25_answers_have_the_parts_of_their_scores(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = open_corpus(str(tiny_corpus))
    build_bm25_index(corpus, tmp_path / "bm25")
    with open_searcher(tmp_path / "bm25") as searcher:
        answers = answer_query(searcher, "cats sleep, cat zzqx", 5, Texts([corpus]).find)
    assert answers.terms == ("cat", "sleep", "zzqx")
    assert "zzqx" in answers.unmatched and "cat" not in answers.unmatched
    assert answers.hits
    for answer in answers.hits:
        assert sum(term.weight for term in answer.matched) == pytest.approx(answer.score, rel=1e-3)
        assert all(term.in_text for term in answer.matched)
        assert answer.title is not None and answer.snippet is not None
        assert answer.title.marks or answer.snippet.marks


@pytest.mark.java
def test_a_hit_that_the_index_does_not_find_again(
    tiny_index: Path, tmp_path: Path, run: Commands
) -> None:
    """The stored ids are damaged; the error names the index, not a wrong argument of the user."""
    index = copy_artifact(tiny_index, tmp_path)
    for path in index.glob("*.dvd"):
        path.write_bytes(path.read_bytes().replace(b"d1", b"D1").replace(b"d2", b"D2"))
    result = run("search", "--index", index, "--query", "the old cat", "--hits", 30, "--no-check")
    assert result.code == 1, result.err
    assert (
        "is damaged: it has no document 'D" in result.err and "spade index --verify" in result.err
    )
    checked = run("search", "--index", index, "--query", "the old cat")
    assert checked.code == 1 and ".dvd is damaged: its checksum is wrong" in checked.err
