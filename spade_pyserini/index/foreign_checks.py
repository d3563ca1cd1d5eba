"""Checks of vectors that another tool made.

The direct builder makes the same or stricter checks in Java while it reads the files
(``spade.ForeignChecks``). If a line fails in Java, it is checked again here, so that all error
messages are in one module.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spade_pyserini.errors import InputError
from spade_pyserini.formats.ids import id_problem
from spade_pyserini.formats.json_files import read_json_object
from spade_pyserini.formats.lines import read_lines
from spade_pyserini.formats.unicode import is_valid_unicode
from spade_pyserini.formats.vectors import read_shard
from spade_pyserini.models.wordpieces import MAX_TERM_LENGTH
from spade_pyserini.records import ImpactVector

LARGEST_IMPACT = 65_535  # the largest integer of 16 bits


@dataclass(frozen=True)
class ForeignChecks:
    """Checks of single vectors; if ``vocabulary`` is given, a term outside it is an error."""

    vocabulary: frozenset[str] | None = None

    def check(self, vector: ImpactVector, path: Path, line: int) -> None:
        """Raise `InputError` if something is wrong with the vector in this line."""
        if problem := id_problem(vector.docid):
            raise InputError(problem, path, line)
        for term, impact in vector.impacts.items():
            if impact > LARGEST_IMPACT:
                message = f"the impact of {term!r} is {impact:,}, the maximum is {LARGEST_IMPACT:,}"
                raise InputError(f"{message}; quantize to fewer bits, 8 are usual", path, line)
            if len(term) > MAX_TERM_LENGTH:
                message = f"the term {term[:40]!r}... is longer than {MAX_TERM_LENGTH} characters"
                cure = "shorten or remove it, because Lucene would split it"
                raise InputError(f"{message}; {cure}", path, line)
            if not is_valid_unicode(term):
                half = "half of a surrogate pair (\\ud800 to \\udfff)"
                message = f"the term {term!r} contains {half}"
                raise InputError(f"{message}; repair or remove it", path, line)
            if self.vocabulary is not None and term not in self.vocabulary:
                message = f"the term {term!r} is not in the vocabulary of the tokenizer"
                cure = "give tokenizer=PATH, the tokenizer of the model that made the vectors"
                raise InputError(f"{message}; {cure}", path, line)

    def check_file(self, path: Path, first: int = 1) -> None:
        """Check the lines of a file from the line ``first``; raise `InputError` for a bad line."""
        for line, vector in enumerate(read_shard(path, first), start=first):
            self.check(vector, path, line)


def find_repeated(files: list[Path], docid: str) -> None:
    """Raise `InputError` for the second line with the id ``docid``."""
    found = 0
    for path in files:
        for line, text in read_lines(path):
            if docid not in text and "\\" not in text:  # a backslash may be part of an escaped id
                continue
            found += read_json_object(text, path, line).get("id") == docid
            if found == 2:
                raise repeated_id(docid, path, line)


def repeated_id(docid: str, path: Path, line: int) -> InputError:
    """Return the error for an id that occurs twice."""
    message = f"the id {docid!r} occurs twice, and Lucene would index both lines"
    return InputError(f"{message}; remove one of them", path, line)
