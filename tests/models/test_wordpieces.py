from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import AutoTokenizer

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.models.minilm import minilm_folder
from spade_pyserini.models.wordpieces import WordPieces, without_punctuation
from tests.conftest import shared_data

MINILM = WordPieces.load(minilm_folder())


def test_a_query_is_a_boolean_bag_in_order() -> None:
    assert MINILM.query_terms("Delete the folder, DELETE it") == "del ##ete the folder , it".split()


def test_special_tokens_and_unknown_words_are_no_terms() -> None:
    assert MINILM.query_terms("[CLS] [MASK] hello \U0001f9ff\u1234 [SEP]") == ["hello"]
    assert MINILM.query_terms("") == []


def test_words_that_the_vocabulary_cannot_represent() -> None:
    text = "hello \U0001f9ff\u1234 world \u9fa5"
    assert MINILM.unknown_words(text) == ["\U0001f9ff\u1234", "\u9fa5"]
    assert MINILM.unknown_words("hello [SEP] deleting") == []


def test_terms_that_are_only_punctuation() -> None:
    assert without_punctuation(
        ["what", "?", "\u2026", "\u00bf", "##ing", "c++", "$", "\u20ac"]
    ) == [*("what", "##ing", "c++", "\u20ac")]


def test_spans_are_the_positions_of_wordpieces() -> None:
    text = "Deleting \u9fa5 [SEP] delete"
    spans = [(span.term, text[span.start : span.end]) for span in MINILM.spans(text)]
    assert spans == [
        *(("del", "Del"), ("##eti", "eti"), ("##ng", "ng"), (None, "\u9fa5")),
        *(("del", "del"), ("##ete", "ete")),
    ]


@given(st.text())
def test_terms_are_those_of_the_bert_tokenizer(text: str) -> None:
    tokens = TOKENIZER.tokenize(text)
    expected = [token for token in dict.fromkeys(tokens) if token not in MINILM.special_tokens]
    assert MINILM.query_terms(text) == expected


TOKENIZER = AutoTokenizer.from_pretrained(minilm_folder())


def test_anserinis_own_wordpiece_topics_have_the_same_terms() -> None:
    """Compare with the 6,980 MS MARCO dev queries that Anserini published as WordPieces."""
    folder = shared_data("msmarco-topics")
    ours = _tsv(folder / "topics.msmarco-passage.dev-subset.txt")
    theirs = _tsv(folder / "topics.msmarco-passage.dev-subset.wp.tsv.gz")
    assert len(theirs) == 6980
    for qid, tokens in theirs.items():
        assert set(MINILM.query_terms(ours[qid])) == set(tokens.split())


def _tsv(path: Path) -> dict[str, str]:
    return dict(line.split("\t", 1) for _, line in read_lines(path))


def test_documents_keep_their_special_tokens_and_are_cut() -> None:
    (ids,) = MINILM.document_ids(["hello " * 50], 10)
    assert len(ids) == 10
    assert (ids[0], ids[-1]) == (101, 102)


def test_a_query_is_never_cut() -> None:
    words = [term for term in MINILM.terms[3000:4000] if term.isalpha()]
    assert MINILM.query_terms(" ".join(words)) == words


def test_the_fingerprint_ignores_only_padding_and_truncation(tmp_path: Path) -> None:
    definition = json.loads((minilm_folder() / "tokenizer.json").read_text())
    same, other = tmp_path / "same.json", tmp_path / "other.json"
    same.write_text(json.dumps({**definition, "padding": None, "truncation": None}))
    definition["normalizer"]["lowercase"] = False
    other.write_text(json.dumps(definition))
    assert WordPieces.load(same).fingerprint == MINILM.fingerprint
    assert WordPieces.load(other).fingerprint != MINILM.fingerprint


def test_saving_keeps_the_fingerprint(tmp_path: Path) -> None:
    MINILM.save(tmp_path / "tokenizer.json")
    assert WordPieces.load(tmp_path).fingerprint == MINILM.fingerprint


def test_files_that_are_no_wordpiece_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"tokenizer\.json"):
        WordPieces.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=r"not a tokenizer\.json"):
        WordPieces.load(tmp_path)
    definition = json.loads((minilm_folder() / "tokenizer.json").read_text())
    for term in ("two words", "one ", " one"):
        vocabulary = definition["model"]["vocab"] | {term: 30_522}
        changed = {**definition, "model": {**definition["model"], "vocab": vocabulary}}
        (tmp_path / "tokenizer.json").write_text(json.dumps(changed))
        with pytest.raises(InputError, match=f"would split the term '{term}'"):
            WordPieces.load(tmp_path)


def test_unused_entries_are_known_and_in_no_text() -> None:
    assert len(MINILM.unused_ids) == 994
    assert not {MINILM.terms[term_id] for term_id in MINILM.unused_ids} & set(
        MINILM.query_terms("[unused80] [unused1]")
    )


def test_documents_are_cut_as_the_tokenizer_cuts_them() -> None:
    words = MINILM
    texts = ["", "cat", "deletes " * 9, "the [SEP] cat " * 50]
    for length in (3, 10, 32):
        tokenizer = Tokenizer.from_str(words._tokenizer.to_str())
        complete = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
        tokenizer.enable_truncation(length)
        cut = words.cut_documents(texts, length)
        assert [document.ids for document in cut] == [
            encoding.ids for encoding in tokenizer.encode_batch(texts)
        ]
        for document, ids in zip(cut, complete, strict=True):
            assert document.length == len(ids) - 2
            assert document.left_out == len(ids) - len(document.ids)


@pytest.mark.parametrize(
    "text", ["a Cat,  sat \u00e9t\u00e9", "  \t" * 50_000 + "cat sat on, it \n"]
)
def test_the_end_of_the_wordpieces_that_are_kept(text: str) -> None:
    for length in range(2, 10):
        (document,) = MINILM.cut_documents([text], length)
        end = MINILM.end_of(text, document)
        assert MINILM.document_ids([text[:end]], 100) == [document.ids]
        assert end == len(text) or (document.left_out and (not end or not text[end - 1].isspace()))


def test_a_special_token_that_is_not_defined(tmp_path: Path) -> None:
    """Without a check, the tokenizers library would end the process at the first text."""
    definition = json.loads((minilm_folder() / "tokenizer.json").read_text())
    del definition["post_processor"]["special_tokens"]["[CLS]"]
    (tmp_path / "tokenizer.json").write_text(json.dumps(definition))
    with pytest.raises(InputError, match=r"uses '\[CLS\]', which it does not define"):
        WordPieces.load(tmp_path)
