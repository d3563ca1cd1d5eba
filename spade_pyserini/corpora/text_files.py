"""Read a folder of text files (``.txt``, ``.md``), or a single text file. Each file is a document.

The id of a document is the path of its file, relative to the folder. For a single file, the id is
the name of the file. Characters that ids cannot have (white space and unprintable characters) and
characters with a meaning in ids (``#`` and ``%``) are percent-encoded.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from spade_pyserini.corpora.checks import LocatedDocument, OnError
from spade_pyserini.errors import InputError
from spade_pyserini.formats.lines import RE_ENCODE, input_errors, open_binary
from spade_pyserini.records import Document


def read_text_files(
    folder: Path, files: list[Path], on_error: OnError
) -> Iterator[LocatedDocument]:
    """Yield a document for each file."""
    for path in files:
        with input_errors(path), open_binary(path) as stream:
            raw = stream.read()
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            byte = f"byte {error.start} (0x{raw[error.start]:02x})"
            on_error(InputError(f"{byte} is not UTF-8; {RE_ENCODE}", path))
            continue
        document = Document(path_id(path.relative_to(folder).as_posix()), "", text.strip())
        yield LocatedDocument(document, str(path), 1)


def describe_text_files(path: Path, files: list[Path]) -> str:
    """Return a message that says which files are documents and what their ids are."""
    if files == [path]:
        message = f"the file is one document with the id {path_id(path.name)}"
        return f"{message}; for a document on each line, use .tsv or .jsonl"
    number = "1 text file" if len(files) == 1 else f"{len(files)} text files"
    return f"{number}; the id of a document is the path of its file"


def path_id(path: str) -> str:
    """Return the id for a path: ``my notes/a.txt`` gives ``my%20notes/a.txt``."""
    return "".join(
        character
        if character.isprintable() and not character.isspace() and character not in "%#"
        # Surrogates stand for bytes of the name that are not UTF-8.
        else quote(character, safe="", errors="surrogateescape")
        for character in path
    )
