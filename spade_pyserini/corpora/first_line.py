"""Recognize tables without a header, whose first line is a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from spade_pyserini.errors import InputError
from spade_pyserini.formats.lines import unpacked_name

DELIMITED = (".csv", ".tsv", ".txt")
LONGEST_NAME = 60  # a longer cell is a text, not the name of a column
NAMES = frozenset(
    (
        "_id id docid doc_id sku pid qid query query-id query_id corpus-id corpus_id title name "
        "text contents content body passage description question answer url price brand category "
        "score grade label"
    ).split()
)
MESSAGE = (
    "the first line looks like data, not like a header; add a line with the names of the columns"
)


def looks_like_data(cells: Sequence[str], source: Path | str) -> bool:
    """Whether the first line of a CSV or TSV file is a record.

    The line is a record if no cell is a usual name of a column, and if at least one cell is a
    number, is empty, or is longer than 60 characters. There are two exceptions, because pandas
    writes such headers: the first cell of a header may be empty, and the names of columns may be
    consecutive numbers.
    """
    if not unpacked_name(Path(source)).lower().endswith(DELIMITED):
        return False
    if any(cell.strip().casefold() in NAMES for cell in cells):
        return False
    offsets = [float(cell) - place for place, cell in enumerate(cells) if is_number(cell)]
    numbered = len(offsets) > 1 and len(set(offsets)) == 1
    has_number = bool(offsets) and not numbered
    return has_number or not all(cells[1:]) or any(len(cell) > LONGEST_NAME for cell in cells)


def refuse_data(cells: Sequence[str], source: Path | str, named: Iterable[str] = ()) -> None:
    """Raise `InputError` if the first line is a record.

    If the user ``named`` columns, raise the error only if one of these names is a number.
    """
    columns = list(named)
    if looks_like_data(cells, source) and (not columns or any(map(is_number, columns))):
        raise InputError(MESSAGE, source, 1)


def is_number(text: str) -> bool:
    """Whether a text is a number, such as ``740.04``."""
    try:
        float(text)
    except ValueError:
        return False
    return True
