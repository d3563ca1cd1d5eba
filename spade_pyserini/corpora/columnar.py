"""Read Parquet files, and folders that Hugging Face's ``save_to_disk`` wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spade_pyserini.corpora.checks import OnError
from spade_pyserini.corpora.rows import Row, require_columns
from spade_pyserini.errors import InputError
from spade_pyserini.formats.json_files import read_json_file
from spade_pyserini.formats.lines import PACKED

BATCH = 1000  # number of rows in memory at a time
STATE = "state.json"
SPLITS = "dataset_dict.json"


class Parquet:
    """A Parquet file; only the columns that are needed are read."""

    def columns(self, path: Path) -> list[str]:
        """The names in the file's schema."""
        with _parquet(path) as file:
            return [str(name) for name in file.schema_arrow.names]

    def rows(self, path: Path, names: Sequence[str], on_error: OnError) -> Iterator[Row]:
        """Yield the rows; the ``line`` of a row is its number, from 1."""
        require_columns(names, self.columns(path), path)
        with _parquet(path) as file:
            yield from _numbered(file.iter_batches(batch_size=BATCH, columns=list(names)))

    def count(self, path: Path) -> int | None:
        """The number of rows, read from the file's metadata."""
        with _parquet(path) as file:
            return int(file.metadata.num_rows)


class SavedDataset:
    """A folder that ``save_to_disk`` wrote. It has a dataset or one split of a dataset."""

    def columns(self, path: Path) -> list[str]:
        """The names in the schema of the first file."""
        for schema, _ in _arrow_streams(path):
            return [str(name) for name in schema.names]
        return []

    def rows(self, path: Path, names: Sequence[str], on_error: OnError) -> Iterator[Row]:
        """Yield the rows; the ``line`` of a row is its number, from 1."""
        require_columns(names, self.columns(path), path)
        batches = (batch.select(list(names)) for _, file in _arrow_streams(path) for batch in file)
        yield from _numbered(batches)

    def count(self, path: Path) -> int | None:
        """The number of rows."""
        return sum(int(batch.num_rows) for _, file in _arrow_streams(path) for batch in file)


def is_saved_dataset(folder: Path) -> bool:
    """Whether ``save_to_disk`` wrote this folder."""
    return all((folder / name).is_file() for name in (STATE, "dataset_info.json"))


def saved_splits(folder: Path) -> list[str]:
    """The names of the splits of a ``DatasetDict`` that was saved to this folder."""
    path = folder / SPLITS
    if not path.is_file():
        return []
    splits = read_json_file(path).get("splits")
    return splits if isinstance(splits, list) else []


def _numbered(batches: Iterable[Any]) -> Iterator[Row]:
    number = 0
    for batch in batches:
        for start in range(0, batch.num_rows, BATCH):
            for values in batch.slice(start, BATCH).to_pylist():
                number += 1
                yield Row(values, number)


@contextmanager
def _arrow_errors(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, EOFError) as error:
        message = f"the file cannot be read ({str(error).splitlines()[0]})"
        raise InputError(f"{message}; fetch or write it again", path) from None


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    import pyarrow.parquet as pq

    if path.suffix in PACKED:
        raise InputError("decompress this file first; .parquet files are compressed inside", path)
    with _arrow_errors(path), path.open("rb") as stream:
        yield pq.ParquetFile(stream)


def _arrow_streams(folder: Path) -> Iterator[tuple[Any, Any]]:
    """Yield the schema and the batches of each file."""
    import pyarrow as pa

    state = read_json_file(folder / STATE)
    if state.get("_indices_files") or state.get("_indices_data_files"):
        message = "the dataset selects its rows by an index file, which is not supported"
        raise InputError(f"{message}; call flatten_indices() and save the dataset again", folder)
    for record in state.get("_data_files", []):
        path = folder / Path(str(record["filename"])).name
        with _arrow_errors(path), path.open("rb") as stream:
            reader = pa.ipc.open_stream(stream)
            yield reader.schema, reader
