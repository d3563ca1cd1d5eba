"""The BERT WordPiece tokenizer, which is all that SpaDE needs on the query side.

Training, search and the export of topics all turn queries into terms with
`WordPieces.query_terms`, which returns each distinct WordPiece of a query once (psi(q) of Eq. 1).
"""

from __future__ import annotations

import hashlib
import json
import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tokenizers import Tokenizer

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.paths import trained_model
from spade_pyserini.models.cutting import cutter_of
from spade_pyserini.models.tokenizer_files import check_tokenizer, is_panic

SLICE = 1 << 16  # characters that are tokenized at once to count the WordPieces of a text
MAX_TERM_LENGTH = 255  # Lucene's analyzers split longer terms
PRETRAINED = Path(__file__).with_name("pretrained")  # models that ship with the package


class DocumentIds(NamedTuple):
    """The vocabulary ids of a document, cut to a maximum length.

    ids: the ids, with [CLS] and [SEP]. length: the number of WordPieces of the complete text,
    without [CLS] and [SEP]. left_out: the number of WordPieces that were cut off.
    """

    ids: list[int]
    length: int
    left_out: int


class TermSpan(NamedTuple):
    """A WordPiece at its position in a text; ``term`` is None for an unknown word."""

    term: str | None
    start: int
    end: int


class Word(NamedTuple):
    """A word of a document; its WordPieces have the positions ``start`` to ``end`` - 1."""

    text: str
    start: int
    end: int


class WordPieces:
    """A WordPiece tokenizer, which maps queries to terms and documents to vocabulary ids."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer = tokenizer
        self._definition = json.loads(tokenizer.to_str())
        self.vocabulary_size: int = tokenizer.get_vocab_size()
        special = [token for token in self._definition["added_tokens"] if token["special"]]
        self.special_tokens = frozenset(token["content"] for token in special)
        self.special_ids = frozenset(token["id"] for token in special)
        vocabulary = tokenizer.get_vocab()
        # BERT's vocabulary has about a thousand reserved entries that no text contains.
        self.unused_ids = frozenset(
            term_id for term, term_id in vocabulary.items() if re.fullmatch(r"\[unused\d+\]", term)
        )
        # WordPieces inside a word, such as "##ing"
        self._prefix: str = self._definition["model"].get("continuing_subword_prefix") or "##"
        self.continuation_ids = frozenset(
            term_id for term, term_id in vocabulary.items() if term.startswith(self._prefix)
        )
        self._cutter = cutter_of(self._definition)
        self.mask_id: int = vocabulary.get("[MASK]", -1)
        self.terms = sorted(vocabulary, key=vocabulary.__getitem__)

    @classmethod
    def load(cls, path: str | Path) -> WordPieces:
        """Load a ``tokenizer.json``; ``path`` is the file or a model folder that contains it."""
        path = Path(path)
        file = path / "tokenizer.json" if path.is_dir() else path
        if not file.is_file():
            raise NotFoundError(f"{file}: no such file; a model folder must contain it")
        if PRETRAINED not in file.parents:
            check_tokenizer(file)
        try:
            wordpieces = cls(Tokenizer.from_file(str(file)))
        except BaseException as error:  # a plain Exception, or a panic of Rust
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            raise InputError(
                f"this is not a tokenizer.json of Hugging Face ({error})", file
            ) from None
        wordpieces.check(file)
        return wordpieces

    def check(self, source: str | Path) -> None:
        """Raise `InputError` if this is not a WordPiece tokenizer, or if Lucene would split a term.

        ``source`` names the tokenizer in the message.
        """
        kind = self._definition["model"].get("type")
        if kind != "WordPiece":
            raise InputError(
                f"the tokenizer is of type {kind}; a WordPiece tokenizer is needed", source
            )
        for term in self.terms:
            if term.split() != [term] or len(term) > MAX_TERM_LENGTH:
                raise InputError(
                    f"Lucene would split the term {term!r} of the vocabulary, because it contains "
                    f"whitespace or more than {MAX_TERM_LENGTH} characters; use another tokenizer",
                    source,
                )

    def save(self, path: Path, near: Path | None = None) -> None:
        """Write a ``tokenizer.json`` file; see `atomic_write` for ``near``."""
        with atomic_write(path, near) as stream:
            stream.write(self.definition.encode())

    @property
    def definition(self) -> str:
        """The contents of a ``tokenizer.json`` file."""
        return self._tokenizer.to_str()

    @cached_property
    def fingerprint(self) -> str:
        """A digest of the vocabulary and of the rules for splitting text, but not of truncation."""
        parts = ("model", "added_tokens", "normalizer", "pre_tokenizer")
        definition = json.dumps({part: self._definition[part] for part in parts}, sort_keys=True)
        return hashlib.sha256(definition.encode()).hexdigest()

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct WordPieces of a query in their order, without special tokens."""
        terms: dict[str, None] = {}
        for part in self._slices(text):
            tokens = self._tokenizer.encode(part, add_special_tokens=False).tokens
            terms |= dict.fromkeys(tokens)
        return [term for term in terms if term not in self.special_tokens]

    def words(self, text: str) -> list[str]:
        """Return the words of a text in their order, before they are split into WordPieces.

        Punctuation is left out. Systems whose terms are words use this method.
        """
        normalizer, splitter = self._tokenizer.normalizer, self._tokenizer.pre_tokenizer
        normalized = normalizer.normalize_str(text) if normalizer else text
        pieces = splitter.pre_tokenize_str(normalized) if splitter else []
        return [word for word, _ in pieces if not is_punctuation(word)]

    def words_of(self, ids: Sequence[int]) -> list[Word]:
        """Join the WordPieces of a document, given as ids, into words.

        A word with an unknown or special token is left out, and so is punctuation.
        """
        words: list[Word] = []
        for position, term_id in enumerate(ids):
            if term_id in self.continuation_ids:
                if words and words[-1].end == position:
                    piece = self.terms[term_id].removeprefix(self._prefix)
                    words[-1] = Word(words[-1].text + piece, words[-1].start, position + 1)
            elif term_id not in self.special_ids:
                words.append(Word(self.terms[term_id], position, position + 1))
        return [word for word in words if not is_punctuation(word.text)]

    def unknown_words(self, text: str) -> list[str]:
        """Return the words of a query that the vocabulary cannot represent. They have no terms."""
        return [text[span.start : span.end] for span in self.spans(text) if span.term is None]

    def spans(self, text: str) -> list[TermSpan]:
        """Return all WordPieces of a query with their positions, including repetitions.

        Special tokens are left out, except the token for unknown words.
        """
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        unknown = self._definition["model"]["unk_token"]
        return [
            TermSpan(None if token == unknown else token, start, end)
            for token, (start, end) in zip(encoding.tokens, encoding.offsets, strict=True)
            if token == unknown or token not in self.special_tokens
        ]

    @cached_property
    def term_ids(self) -> dict[str, int]:
        """The vocabulary id of each term."""
        return {term: term_id for term_id, term in enumerate(self.terms)}

    def query_ids(self, text: str) -> list[int]:
        """Return the vocabulary ids of the terms that `query_terms` returns."""
        return [self.term_ids[term] for term in self.query_terms(text)]

    def document_ids(self, texts: list[str], max_length: int) -> list[list[int]]:
        """Return the vocabulary ids of documents with [CLS] and [SEP], cut to ``max_length``."""
        self._tokenizer.enable_truncation(max_length)
        try:
            if self._cutter is None:
                return [encoding.ids for encoding in self._tokenizer.encode_batch(texts)]
            attempts = [self._cutter.prefixes(text, max_length) for text in texts]
            firsts = [next(attempt) for attempt in attempts]
            ids = [encoding.ids for encoding in self._tokenizer.encode_batch(firsts)]
            for number, attempt in enumerate(attempts):
                while len(ids[number]) < max_length and (text := next(attempt, None)) is not None:
                    ids[number] = self._tokenizer.encode(text).ids
            return ids
        finally:
            self._tokenizer.no_truncation()

    def cut_documents(self, texts: list[str], max_length: int) -> list[DocumentIds]:
        """Tokenize documents and cut them to ``max_length`` ids, see `DocumentIds`.

        The WordPieces of a cut text are counted in slices of about `SLICE` characters, because the
        tokenizer's memory grows with its input.
        """
        documents = []
        for text, ids in zip(texts, self.document_ids(texts, max_length), strict=True):
            length = len(ids) - self._specials
            # The text was probably cut, so ``ids`` does not have all of its WordPieces.
            if len(ids) == max_length:
                length = self._count_wordpieces(text)
            documents.append(DocumentIds(ids, length, length + self._specials - len(ids)))
        return documents

    def end_of(self, text: str, document: DocumentIds) -> int:
        """Return the position in ``text`` after the last WordPiece that was kept.

        ``document`` is what `cut_documents` returned for this text. The position is the length of
        the text if no WordPiece was cut off.
        """
        kept = document.length - document.left_out
        if not document.left_out:
            return len(text)
        if not kept:
            return 0
        start = 0
        for part in [text] if self._cutter is None else self._cutter.parts(text, SLICE):
            offsets = self._tokenizer.encode(part, add_special_tokens=False).offsets
            if kept <= len(offsets):
                return start + int(offsets[kept - 1][1])
            kept -= len(offsets)
            start += len(part)
        return len(text)

    def _count_wordpieces(self, text: str) -> int:
        return sum(
            len(self._tokenizer.encode(part, add_special_tokens=False).ids)
            for part in self._slices(text)
        )

    def _slices(self, text: str) -> Iterable[str]:
        """Divide a text into parts that can be tokenized one after the other.

        If the tokenizer might treat whitespace differently from BERT's tokenizer, the complete text
        is the only part.
        """
        return [text] if self._cutter is None else self._cutter.slices(text, SLICE)

    @cached_property
    def _specials(self) -> int:
        """The number of special tokens, [CLS] and [SEP], that the tokenizer adds to a text."""
        return len(self._tokenizer.encode("").ids)


def is_punctuation(word: str) -> bool:
    """Return whether a word is a single ASCII punctuation character."""
    return len(word) == 1 and word in string.punctuation


def without_punctuation(terms: Iterable[str]) -> list[str]:
    """Return the terms that have more than punctuation, ASCII or not."""
    return [term for term in terms if not all(map(_is_mark, term))]


def _is_mark(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char).startswith("P")


def resolve_tokenizer(name: str | Path) -> Path:
    """Return the path of a tokenizer: a shipped model, the path ``name`` itself, or a download.

    A name is looked up in the same order as the name of a model, so that a model and its tokenizer
    fit together.
    """
    if any(folder.name == str(name) for folder in PRETRAINED.iterdir() if folder.is_dir()):
        return PRETRAINED / str(name)
    if Path(name).exists():
        return trained_model(Path(name))
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download(str(name), "tokenizer.json"))
    except Exception as error:  # errors of the hub, such as offline, no repository, bad name
        raise NotFoundError(
            f"there is no tokenizer {str(name)!r}: it is not a file, not a folder, and not "
            f"available from the Hugging Face hub ({type(error).__name__})"
        ) from error
