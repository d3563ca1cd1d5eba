"""Long texts are cut before they are tokenized, and their WordPieces stay the same."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from spade_pyserini.errors import InputError
from spade_pyserini.models.minilm import minilm_folder
from spade_pyserini.models.wordpieces import WordPieces

MINILM = WordPieces.load(minilm_folder())
PLAIN = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
PLAIN.no_padding()
PARTS = st.one_of(
    st.sampled_from(
        [" ", "\n", "\t\r", "\x0b", "\x0c", "\x85", "\xa0", "\u3000", "\u2028", "\x00"]
    ),
    st.sampled_from(["[MASK]", "[CLS] ", " [SEP", "##ing", "\u0301", "\u4e2d\u6587", "\U0001f600"]),
    st.sampled_from(["a" * 99, "b" * 100, "c" * 101, "D9" * 80, "\xe9" * 120, "e\u0301" * 70]),
    st.text(max_size=12),
)


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(PARTS, max_size=60), repeat=st.integers(1, 4), length=st.integers(3, 12))
def test_the_wordpieces_are_those_of_the_complete_text(
    parts: list[str], repeat: int, length: int
) -> None:
    text = "".join(parts * repeat).encode(errors="ignore").decode()
    PLAIN.enable_truncation(length)
    assert MINILM.document_ids([text, "a cat"], length)[0] == PLAIN.encode(text).ids


@pytest.mark.parametrize("part", ["the old cat sleeps. ", "x", " \n", "word\u0301, "])
def test_a_document_of_megabytes_takes_no_time(part: str) -> None:
    text = part * (20_000_000 // len(part))
    began = time.process_time()
    (ids,) = MINILM.document_ids([text], 64)
    assert time.process_time() - began < 15
    assert len(ids) in (2, 3, 64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab": {}}, "has no vocabulary"),
        ({"vocab": {"a": 0, "b": 0}}, "have the same id"),
        ({"vocab": {"a": 0, "b": 4_000_000_000}}, "one has the id 4,000,000,000; ids must be 0 to"),
        ({"vocab": {"a": 0, "b": "1"}}, "no integer as its id"),
    ],
)
def test_hostile_vocabularies(tmp_path: Path, change: dict[str, object], message: str) -> None:
    definition = json.loads((minilm_folder() / "tokenizer.json").read_text())
    definition |= {"added_tokens": [], "post_processor": None}
    definition["model"] |= change
    (tmp_path / "tokenizer.json").write_text(json.dumps(definition))
    with pytest.raises(InputError, match=message):
        WordPieces.load(tmp_path)
