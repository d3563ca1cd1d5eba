"""Choose the columns of a table, or fields of JSON objects, for the id, the title and the text.

If the user does not choose a column, usual column names are tried. The caller logs the guess.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.corpora.first_line import refuse_data
from spade_pyserini.errors import InputError
from spade_pyserini.records import Document

ROW = ":row"  # as `id_field`: the number of the row is the id
IDS = ("_id", "id", "docid", "doc_id", "sku", "passage_id", "pid")
TITLES = ("title",)
TEXTS = ("text", "contents", "passage", "body", "content", "description")
CURE = f"name columns with id_field=COLUMN (or id_field={ROW!r} to number the rows)"
OPTIONS = f"{CURE}, title_field=COLUMN and text_fields=COLUMN"
TEXT_OPTIONS = "name columns with text_fields=COLUMN and, if there are titles, title_field=COLUMN"


@dataclass(frozen=True)
class FieldChoice:
    """The columns that the user names.

    id_field: the column of the ids, or ``:row`` for the number of the row, from 0.
    title_field: the column of the titles, or an empty string for no title.
    text_fields: the columns of the text; their values are joined with a space.
    """

    id_field: str | None = None
    title_field: str | None = None
    text_fields: tuple[str, ...] = ()

    @property
    def given(self) -> bool:
        """Whether the user named a column, or chose ``:row`` or no title."""
        return self != NO_CHOICE

    @property
    def names(self) -> list[str]:
        """The columns that the user named, which must exist."""
        named = [self.id_field if self.id_field != ROW else None, self.title_field]
        return [name for name in (*named, *self.text_fields) if name]


NO_CHOICE = FieldChoice()


class Columns(NamedTuple):
    """The columns of a document's id, title and text. ``docid`` may be ``:row``, the row number."""

    docid: str
    title: str | None
    texts: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The columns to read, without repetitions."""
        named = [self.docid if self.docid != ROW else None, self.title, *self.texts]
        return list(dict.fromkeys(name for name in named if name))


class Chosen(NamedTuple):
    """The chosen columns.

    changed: a description of the columns; empty if the same columns would be chosen by default.
    """

    columns: Columns
    changed: str


def choose_columns(
    names: Sequence[str], choice: FieldChoice, source: Path | str, *, number_rows: bool = False
) -> Chosen:
    """Choose the id, title and text columns from ``names``, the columns of ``source``.

    Raises `InputError` if there is no id or text column, or if a column in ``choice`` is missing.
    With ``number_rows``, a missing id column is no error: the row numbers are then the ids.
    """
    if missing := [name for name in choice.names if name not in names]:
        message = f"there is no column {missing[0]!r}; the columns are {listed(names)}"
        raise InputError(f"{message}{_comma_hint(missing[0], names)}", source)
    refuse_data(names, source, choice.names)
    guess = _resolve(names, NO_CHOICE, number_rows)
    docid, title, texts = _resolve(names, choice, number_rows)
    if not texts:
        message = f"no text column ({', '.join(TEXTS)}) among the columns {listed(names)}"
        raise InputError(f"{message}; {OPTIONS if docid is None else TEXT_OPTIONS}", source)
    if docid is None:
        message = f"no id column ({', '.join(IDS)}) among the columns {listed(names)}"
        raise InputError(f"{message}; {OPTIONS}", source)
    columns = Columns(docid, title, texts)
    same = (docid, title, texts) == guess
    return Chosen(columns, "" if same else _setting(columns))


def _comma_hint(name: str, names: Sequence[str]) -> str:
    """Return a hint if ``name`` is a list of columns with commas, else an empty string."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) < 2 or not any(part in names for part in parts):
        return ""
    return f"; separate names by spaces, not by commas: {' '.join(parts)}"


def _resolve(
    names: Sequence[str], choice: FieldChoice, number_rows: bool
) -> tuple[str | None, str | None, tuple[str, ...]]:
    docid = choice.id_field or guess_column(names, IDS) or (ROW if number_rows else None)
    texts = choice.text_fields
    if not texts:
        text = guess_column([name for name in names if name != choice.title_field], TEXTS)
        texts = () if text is None else (text,)
    title = choice.title_field
    if title is None:
        title = guess_column([name for name in names if name not in texts], TITLES)
    return docid, title or None, texts


def guess_column(names: Sequence[str], known: Sequence[str]) -> str | None:
    """Return the first column of ``known`` that is in ``names``, or None. Case is ignored."""
    by_name = {name.strip().casefold(): name for name in reversed(names)}
    by_name |= {name: name for name in names if name in known}
    return next((by_name[name] for name in known if name in by_name), None)


def describe(columns: Columns, names: Iterable[str]) -> str:
    """Return a message that says which columns are read and which are not."""
    docid = "the number of the row" if columns.docid == ROW else f"`{columns.docid}`"
    texts = " and ".join(f"`{name}`" for name in columns.texts)
    title = f", title from `{columns.title}`" if columns.title else ", no title"
    unread = [name for name in names if name not in columns.names]
    rest = f"; not read: {listed(unread)}" if unread else ""
    return f"id from {docid}{title}, text from {texts}{rest}"


def listed(names: Sequence[str], most: int = 30) -> str:
    """Return the names of columns for a message: ```a`, `b` and 3 more``."""
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "(none)"


def _setting(columns: Columns) -> str:
    """Describe the columns for the manifest of an output."""
    parts = {"id": [columns.docid], "title": [columns.title or ""], "text": columns.texts}
    return "; ".join(f"{part} {', '.join(names)}" for part, names in parts.items())


def to_document(values: Mapping[str, Any], columns: Columns, row: int) -> Document:
    """Make a document from the values of a row. ``row`` is the number of the row, from 0.

    Raises `ValueError` if the row has no valid id, or has neither a title nor a text value. An
    empty string is a text value.
    """
    docid = str(row) if columns.docid == ROW else id_value(values, columns.docid)
    texts = [text_value(values, name) for name in columns.texts]
    title = None if columns.title is None else text_value(values, columns.title)
    if not title and all(text is None for text in texts):
        names = " and ".join(f"`{name}`" for name in columns.texts)
        raise ValueError(f"no text column has a value: {names}")
    joined = " ".join(text for text in texts if text)
    return Document(docid, title or "", joined)


def id_value(values: Mapping[str, Any], name: str) -> str:
    """Return the value of a column as an id.

    Raises `ValueError` if the value is empty, or if it is not a string or an integer.
    """
    value = values.get(name)
    # pandas writes integers as floats if values are missing in their column.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"the id in `{name}` is {value!r}; it must be a string or an integer")
    if not (docid := str(value).strip()):
        raise ValueError(f"the id in `{name}` is empty")
    return docid


def text_value(values: Mapping[str, Any], name: str) -> str | None:
    """Return the value of a column as text; the items of a list are joined.

    Returns None if the value is missing, null or NaN. Raises `ValueError` for other types.
    """
    value = values.get(name)
    items = value if isinstance(value, list) else [value]
    texts = []
    for item in items:
        if isinstance(item, str):
            texts.append(item)
        elif isinstance(item, int | float) and not isinstance(item, bool):
            texts += [] if math.isnan(item) else [str(item)]  # NaN is a missing value
        elif item is not None:
            kind = type(item).__name__
            raise ValueError(f"`{name}` must hold text, a number, or a list of these, found {kind}")
    return " ".join(texts) if texts else None
