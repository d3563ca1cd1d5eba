"""Check a ``tokenizer.json`` from an unknown source before this process loads it.

The tokenizers library is written in Rust. Some files make it end the process, or raise an exception
that ``except Exception`` does not catch. So the numbers in a file are checked first, and then a
child process tries to use the file. This takes a few hundredths of a second.
"""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.formats.known_files import identity

NAME = "tokenizer.json"
MOST_BYTES = 1 << 28  # largest size of a tokenizer.json
MOST_TOKENS = 10**7  # all ids must be below this number, in tokenizers of all kinds
SECONDS = 60
CURE = "copy or download the tokenizer again"
# The texts have known and unknown words, special tokens and several scripts.
TRIAL = r"""
import sys
path, *sys.path = sys.argv[1:]
try:
    from tokenizers import Tokenizer
except ImportError:
    sys.exit(0)
tokenizer = Tokenizer.from_file(path)
tokenizer.no_padding()
tokenizer.no_truncation()
texts = "", "a", "The old cat, [MASK] \u4e2d\u6587 e\u0301 \U0001f600 " * 20, "x" * 300
for text in texts:
    tokenizer.encode(text)
    tokenizer.encode(text, add_special_tokens=False)
tokenizer.encode_batch([(text, text) for text in texts])
tokenizer.enable_truncation(8)
tokenizer.encode_batch(list(texts))
Tokenizer.from_str(tokenizer.to_str())
"""


def check_tokenizer(file: Path) -> None:
    """Raise `InputError` if a ``tokenizer.json`` cannot be used, or would end the process."""
    _check_definition(file)
    if reason := _trial(str(file.absolute()), *identity(file)):
        message = f"this is not a {NAME} of Hugging Face that can be used ({reason})"
        raise InputError(f"{message}; {CURE}", file)


def is_panic(error: BaseException) -> bool:
    """Return whether an exception is a panic of Rust, which does not derive from `Exception`."""
    return type(error).__name__ == "PanicException"


@lru_cache(maxsize=64)
def _trial(path: str, *_: int) -> str | None:
    """Use a tokenizer in a child process; return the reason if this fails, else None.

    The result is cached. The other arguments identify the file, so that an unchanged file is tried
    only once per process.
    """
    if not sys.executable:
        return None  # Python is embedded in another program: no child process can be started
    command = [sys.executable, "-B", "-S", "-c", TRIAL, path, *sys.path]
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"the tokenization of a few words takes longer than {SECONDS} seconds"
    except OSError:  # no child process can be started
        return None
    if not done.returncode:
        return None
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    if done.returncode < 0:
        first = lines[0] if lines else f"signal {-done.returncode}"
        return f"the tokenizers library crashes: {first}"
    return lines[-1].partition(": ")[2] or lines[-1] if lines else f"exit code {done.returncode}"


def _check_definition(file: Path) -> None:
    """Check the vocabulary of a ``tokenizer.json`` before the library allocates memory for it."""
    definition = read_json_file(file, MOST_BYTES)
    model = definition.get("model")
    if not isinstance(model, dict):
        return  # the library reports this error
    added = definition.get("added_tokens") or []
    tokens = [token for token in added if isinstance(token, dict)] if type(added) is list else []
    vocabulary = model.get("vocab")
    if model.get("type") in (None, "WordPiece"):
        _check_wordpieces(vocabulary, tokens, file)
    _check_ids(vocabulary if isinstance(vocabulary, dict) else {}, tokens, file)
    _check_template(definition.get("post_processor"), file)


def _check_ids(vocabulary: dict[str, Any], added: list[dict[str, Any]], file: Path) -> None:
    """Check that all ids are integers in the allowed range, for a tokenizer of any kind."""
    for term_id in [*vocabulary.values(), *(token.get("id") for token in added)]:
        if type(term_id) is not int:
            raise InputError(f"the id of a token of the vocabulary is not an integer; {CURE}", file)
        if not 0 <= term_id < MOST_TOKENS:
            message = f"a token of the vocabulary has the id {term_id:,}"
            raise InputError(f"{message}; ids must be 0 to {MOST_TOKENS - 1:,}", file)


def _check_wordpieces(vocabulary: Any, added: list[dict[str, Any]], file: Path) -> None:
    """Check that the ids of WordPieces and added tokens are 0, 1, 2, ... without a gap."""
    if not isinstance(vocabulary, dict) or not vocabulary:
        raise InputError("the tokenizer has no vocabulary", file)
    ids = dict(vocabulary)
    for token in added:
        term = str(token.get("content"))
        if ids.setdefault(term, token.get("id")) != token.get("id"):
            message = f"the token {term!r} has two ids, in vocab and in added_tokens"
            raise InputError(f"{message}; {CURE}", file)
    if any(type(term_id) is not int for term_id in ids.values()):
        raise InputError("the id of a token of the vocabulary is not an integer", file)
    numbers = set(ids.values())
    if len(numbers) != len(ids):
        raise InputError("two tokens of the vocabulary have the same id", file)
    if (least := min(numbers)) < 0 or max(numbers) >= len(ids):
        wrong = least if least < 0 else max(numbers)
        message = f"the vocabulary has {len(ids):,} tokens, but one has the id {wrong:,}"
        raise InputError(f"{message}; ids must be 0 to {len(ids) - 1:,}", file)


def _check_template(processor: Any, file: Path) -> None:
    """Check the special tokens that are put around a text.

    The library ends the process if one of these tokens is not defined.
    """
    if not isinstance(processor, dict) or processor.get("type") != "TemplateProcessing":
        return
    defined, pieces = processor.get("special_tokens"), processor.get("single")
    if not isinstance(defined, dict) or not isinstance(pieces, list):
        return  # the library reports this error
    tokens = [piece.get("SpecialToken") for piece in pieces if isinstance(piece, dict)]
    for token in tokens:
        if isinstance(token, dict) and str(token.get("id")) not in defined:
            message = f"the post_processor uses {token.get('id')!r}, which it does not define"
            raise InputError(f"{message}; {CURE}", file)
