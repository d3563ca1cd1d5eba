"""CSV and TSV files whose first line names the columns.

In a CSV file, cells in quotes may contain line breaks. In a TSV file, each line is a row; quotes
around a complete cell are removed, and any other quote is an ordinary character.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from spade_pyserini.corpora.checks import OnError
from spade_pyserini.corpora.rows import Row, require_columns
from spade_pyserini.errors import InputError
from spade_pyserini.formats.lines import RE_ENCODE, open_binary, read_lines, read_raw_lines
from spade_pyserini.formats.unicode import is_valid_unicode

LONGEST_CELL = 2**31 - 1
DELIMITERS = (",", ";", "\t", "|")
NAME = re.compile(r"[^\W\d][\w.()/-]*(?: [\w.()/-]+){0,3}")
LONGEST_NAME = 40
# Words of usual column names, to recognize the header of a TSV file.
HEADER_WORDS = frozenset(
    (
        "id ids key code sku isbn doi number nr name title headline heading subject text texts "
        "body content contents description desc details abstract summary passage paragraph "
        "document doc docid pid question answer url link date time year author category label "
        "tag tags type lang language price brand"
    ).split()
)


class Csv:
    """Comma-separated values; other delimiters are ``;``, ``|`` and tabs.

    The delimiter is the one that occurs most often in the header.
    """

    def columns(self, path: Path) -> list[str]:
        """The cells of the first line."""
        return next(_parse_csv(path))[1]

    def rows(self, path: Path, names: Sequence[str], on_error: OnError) -> Iterator[Row]:
        """Yield the rows after the header.

        Rows with the wrong number of cells, or with bytes that are not UTF-8, are reported.
        """
        records = _parse_csv(path, on_error)
        _, header = next(records)
        require_columns(names, header, path)
        for line, cells in records:
            if not cells:
                continue
            if len(cells) != len(header):
                on_error(_wrong_number(cells, header, path, line, "check the quotes"))
            elif not all(map(is_valid_unicode, cells)):
                on_error(InputError(f"the row is not UTF-8; {RE_ENCODE}", path, line))
            else:
                yield Row(dict(zip(header, cells, strict=True)), line)

    def count(self, path: Path) -> int | None:
        """The number of rows. It is smaller than the number of lines if cells have line breaks."""
        return max(0, sum(1 for _, cells in _parse_csv(path, lambda _: None) if cells) - 1)


class Tsv:
    """Tab-separated values with a header."""

    def columns(self, path: Path) -> list[str]:
        """The cells of the first line."""
        for _, line in read_lines(path):
            return _header(_split(line), path)
        raise InputError("the file is empty; its first line must name the columns", path)

    def rows(self, path: Path, names: Sequence[str], on_error: OnError) -> Iterator[Row]:
        """Yield the rows after the header: each line is a row.

        Rows with the wrong number of cells, or with bytes that are not UTF-8, are reported.
        """
        header = self.columns(path)
        require_columns(names, header, path)
        for number, line in islice(read_lines(path, on_error), 1, None):
            if not line:
                continue
            cells = _split(line)
            if len(cells) != len(header):
                cure = "if cells in quotes contain line breaks, rename the file to .csv"
                on_error(_wrong_number(cells, header, path, number, cure))
            else:
                yield Row(dict(zip(header, cells, strict=True)), number)

    def count(self, path: Path) -> int | None:
        """The number of lines after the header."""
        with open_binary(path) as stream:
            return max(0, sum(1 for _ in stream) - 1)


def has_header(path: Path) -> bool:
    """Whether the first line of a TSV file names columns.

    All cells of the line must look like names. In addition, one of these conditions must hold:

    - Each cell contains a word that is usual in column names, as ``product_id`` and ``title`` do.
    - At least three of the next 20 lines have as many cells as the first line, and the first cells
      of all these lines contain a digit.
    """
    lines = [line for _, line in islice(read_lines(path, lambda _: None), 21)]
    if not lines:
        return False
    first, *others = [_split(line) for line in lines]
    if is_header(first):
        return True
    ids = [cells[0] for cells in others if len(cells) == len(first)]
    return _are_names(first) and len(ids) > 2 and all(map(_has_digit, ids))


def is_header(cells: list[str]) -> bool:
    """Whether all cells look like column names, and each contains one of the `HEADER_WORDS`."""
    return _are_names(cells) and all(HEADER_WORDS & _words(cell) for cell in cells)


def _words(name: str) -> set[str]:
    """The words of a name: ``productId`` and ``product_id`` give ``product`` and ``id``."""
    return set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()))


def _are_names(cells: list[str]) -> bool:
    return (
        len(cells) > 1
        and len(set(cells)) == len(cells)
        and all(NAME.fullmatch(cell) and len(cell) <= LONGEST_NAME for cell in cells)
        and not _has_digit(cells[0])
    )


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def _parse_csv(path: Path, on_error: OnError | None = None) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) for the header, then for each row. The rows are not checked."""
    csv.field_size_limit(LONGEST_CELL)  # applies to the entire process; the default is 128 kB
    lines = _decoded_lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError("the file is empty; its first line must name the columns", path)
    delimiter = max(DELIMITERS, key=first.count)  # a comma if none occurs
    reader = csv.reader(_chain(first, lines), delimiter=delimiter, strict=True)
    start = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            fault = InputError(f"not valid CSV ({error}); check the quotes", path, start)
            if on_error is None or start == 1:
                raise fault from None
            on_error(fault)
        else:
            yield start, _header(cells, path) if start == 1 else cells
        start = reader.line_num + 1


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _decoded_lines(path: Path) -> Iterator[str]:
    """Yield the lines, each with its line break. Bytes that are not UTF-8 become surrogates."""
    for number, raw in read_raw_lines(path):
        yield raw.decode("utf-8-sig" if number == 1 else "utf-8", errors="surrogateescape")


def _header(cells: list[str], path: Path) -> list[str]:
    header = [cell.strip() for cell in cells]
    repeated = [name for name in header if name and header.count(name) > 1]
    if repeated:
        raise InputError(f"the header has the column {repeated[0]!r} twice; rename one", path, 1)
    if not all(map(is_valid_unicode, header)):
        raise InputError(f"the header is not UTF-8; {RE_ENCODE}", path, 1)
    return header


def _split(line: str) -> list[str]:
    """The cells of a TSV line; quotes around a complete cell are removed."""
    return [_unquoted(cell) for cell in line.split("\t")]


def _unquoted(cell: str) -> str:
    inside = cell[1:-1]
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inside.replace('""', "")
    return inside.replace('""', '"') if quoted else cell


def _wrong_number(
    cells: list[str], header: list[str], path: Path, line: int, cure: str
) -> InputError:
    message = f"the row has {len(cells)} cells, the header has {len(header)}; {cure}"
    return InputError(message, path, line)
