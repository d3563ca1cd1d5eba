"""Long texts are cut before they are tokenized, and their WordPieces stay the same."""

from __future__ import annotations

import json
import subprocess
import sys
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
    st.sampled_from(["\u3042" * 150, "\uac00" * 99, "\u017f" * 101, "\u0130" * 60, "_" * 30]),
    st.sampled_from(["...", "[[", "]]][", "\u3002", "\uff08\u4e2d", "-\u0301", "\u037e", "\u2260"]),
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


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(PARTS, max_size=60), repeat=st.integers(1, 4), size=st.integers(1, 40))
def test_the_wordpieces_of_slices_are_those_of_the_complete_text(
    parts: list[str], repeat: int, size: int
) -> None:
    text = "".join(parts * repeat).encode(errors="ignore").decode()
    PLAIN.no_truncation()
    complete = PLAIN.encode(text, add_special_tokens=False).ids
    assert MINILM._cutter is not None
    slices = MINILM._cutter.slices(text, size)
    assert [x for part in slices for x in PLAIN.encode(part, add_special_tokens=False).ids] == (
        complete
    )


@pytest.mark.parametrize("token", ["abc", "a.", ".a", "!!", "\xe9"])
def test_added_tokens_are_not_cut(token: str) -> None:
    """Special tokens that contain letters or punctuation are recognised in long texts, too."""
    tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
    tokenizer.add_special_tokens([token])
    wordpieces = WordPieces(tokenizer)
    text = f"{'x' * 150}{token}{'.' * 40}{token}!" * 8
    complete = tokenizer.encode(text, add_special_tokens=False).ids
    for length in range(3, 60):
        assert wordpieces.document_ids([text], length)[0][1:-1] == complete[: length - 2]
    assert wordpieces._cutter is not None
    slices = wordpieces._cutter.slices(text, 7)
    parts = [tokenizer.encode(part, add_special_tokens=False).ids for part in slices]
    assert [term_id for part in parts for term_id in part] == complete


LONG = ["the old cat sleeps. ", "x", " \n", "word\u0301, ", ".", "[", "\u4e2d", "\xe9", "\uac00"]


@pytest.mark.parametrize("part", LONG)
def test_a_document_of_megabytes_takes_no_time(part: str) -> None:
    text = part * (20_000_000 // len(part))
    began = time.process_time()
    (ids,) = MINILM.document_ids([text], 64)
    assert time.process_time() - began < 15
    assert len(ids) in (2, 3, 64)


COUNT = """
import resource, sys
from spade_pyserini.models.minilm import minilm_folder
from spade_pyserini.models.wordpieces import WordPieces
wordpieces = WordPieces.load(minilm_folder())
resource.setrlimit(resource.RLIMIT_DATA, (600 << 20, 600 << 20))
text = "a b c " + sys.argv[1] * 1_500_000
print(wordpieces.cut_documents([text], 5)[0].length, len(wordpieces.query_terms(text)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
@pytest.mark.parametrize(
    ("part", "expected"), [("x", "4 3"), (".", "1500003 4"), ("\u4e2d", "1500003 4")]
)
def test_long_texts_are_counted_in_little_memory(part: str, expected: str) -> None:
    """600 MB are enough; to tokenize a million words at once would need more memory."""
    command = [sys.executable, "-c", COUNT, part]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == expected, done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab": {}}, "has no vocabulary"),
        ({"vocab": {"a": 0, "b": 0}}, "have the same id"),
        ({"vocab": {"a": 0, "b": 4_000_000_000}}, "one has the id 4,000,000,000; ids must be 0 to"),
        ({"vocab": {"a": 0, "b": "1"}}, "id of a token of the vocabulary is not an integer"),
    ],
)
def test_hostile_vocabularies(tmp_path: Path, change: dict[str, object], message: str) -> None:
    definition = json.loads((minilm_folder() / "tokenizer.json").read_text())
    definition |= {"added_tokens": [], "post_processor": None}
    definition["model"] |= change
    (tmp_path / "tokenizer.json").write_text(json.dumps(definition))
    with pytest.raises(InputError, match=message):
        WordPieces.load(tmp_path)
