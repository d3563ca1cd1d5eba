"""Which columns of a table, or fields of JSON objects, are the id, the title and the text.

Columns that the user does not name are guessed by their names. Every guess is logged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.errors import InputError
from spade_pyserini.records import Document

ROW = ":row"  # as `id_field`: the number of the row is the id
IDS = ("_id", "id", "docid", "doc_id", "sku", "passage_id", "pid")
TITLES = ("title",)
TEXTS = ("text", "contents", "passage", "body", "content", "description")
CURE = f"name columns with id_field=COLUMN (or id_field={ROW!r} to number the rows)"
OPTIONS = f"{CURE}, title_field=COLUMN and text_fields=COLUMN"


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
        """Whether the user named a column."""
        return self != NO_CHOICE

    @property
    def names(self) -> list[str]:
        """The columns that must exist."""
        named = [self.id_field if self.id_field != ROW else None, self.title_field]
        return [name for name in (*named, *self.text_fields) if name]


NO_CHOICE = FieldChoice()


class Columns(NamedTuple):
    """The columns that documents are made of. ``docid`` may be ``:row``."""

    docid: str
    title: str | None
    texts: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The columns to read, each once."""
        named = [self.docid if self.docid != ROW else None, self.title, *self.texts]
        return list(dict.fromkeys(name for name in named if name))


class Chosen(NamedTuple):
    """Columns, and a description of them that is empty if they are the guessed ones."""

    columns: Columns
    changed: str


def choose_columns(
    names: Sequence[str], choice: FieldChoice, source: Path | str, *, number_rows: bool = False
) -> Chosen:
    """Choose among the columns ``names`` of ``source``; raise `InputError` if none fits.

    With ``number_rows``, the numbers of the rows are the ids if no column fits.
    """
    if missing := [name for name in choice.names if name not in names]:
        message = f"there is no column {missing[0]!r}; the columns are {listed(names)}"
        raise InputError(message, source)
    guess = _resolve(names, NO_CHOICE, number_rows)
    docid, title, texts = _resolve(names, choice, number_rows)
    if not texts:
        message = f"no text column ({', '.join(TEXTS)}) among the columns {listed(names)}"
        raise InputError(f"{message}; {OPTIONS}", source)
    if docid is None:
        message = f"no id column ({', '.join(IDS)}) among the columns {listed(names)}"
        raise InputError(f"{message}; {OPTIONS}", source)
    columns = Columns(docid, title, texts)
    same = (docid, title, texts) == guess
    return Chosen(columns, "" if same else _setting(columns))


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
    """The first known name among ``names``; upper case letters do not matter."""
    by_name = {name.strip().casefold(): name for name in reversed(names)}
    by_name |= {name: name for name in names if name in known}
    return next((by_name[name] for name in known if name in by_name), None)


def describe(columns: Columns, names: Iterable[str]) -> str:
    """Say which columns are read, and which are not."""
    docid = "the number of the row" if columns.docid == ROW else f"`{columns.docid}`"
    texts = " and ".join(f"`{name}`" for name in columns.texts)
    title = f", title from `{columns.title}`" if columns.title else ", no title"
    unread = [name for name in names if name not in columns.names]
    rest = f"; not read: {listed(unread)}" if unread else ""
    return f"id from {docid}{title}, text from {texts}{rest}"


def listed(names: Sequence[str], most: int = 30) -> str:
    """The names of columns for a message: ```a`, `b` and 3 more``."""
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown or "(none)"


def _setting(columns: Columns) -> str:
    """The columns as a setting of an output, for its manifest."""
    parts = {"id": [columns.docid], "title": [columns.title or ""], "text": columns.texts}
    return "; ".join(f"{part} {', '.join(names)}" for part, names in parts.items())


def to_document(values: Mapping[str, Any], columns: Columns, row: int) -> Document:
    """Make a document of the values of row number ``row``, from 0.

    Raises `ValueError` if the row has no id or no text. A row with a title, or with an empty text,
    is a document.
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
    """The value of a column as an id; raises `ValueError` if it is none."""
    value = values.get(name)
    if isinstance(value, float) and value.is_integer():  # integers, in a column with missing values
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"the id in `{name}` is {value!r}; it must be a string or an integer")
    if not (docid := str(value).strip()):
        raise ValueError(f"the id in `{name}` is empty")
    return docid


def text_value(values: Mapping[str, Any], name: str) -> str | None:
    """The value of a column as text; None for null or a column that the row lacks."""
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
            raise ValueError(f"`{name}` must hold text or a list of texts, found {kind}")
    return " ".join(texts) if texts else None
