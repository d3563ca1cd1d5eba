"""The commands encode, index and search files of users in common formats."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.commands import Commands

pytestmark = pytest.mark.java

ROWS = [
    {"sku": "A1", "title": "Red house", "description": "a small house with a tree"},
    {"sku": "A2", "title": "Fish", "description": "sleeps in the river"},
]
ODD = [
    {"nr": "A1", "head": "Red house", "info": "a tree"},
    {"nr": "A2", "head": "Fish", "info": "river"},
]
ODD_FIELDS = ["--id-field", "nr", "--title-field", "head", "--text-fields", "info", "head"]


def table(rows: list[dict[str, str]], mark: str) -> str:
    return "".join(f"{mark.join(cells)}\n" for cells in [rows[0], *(row.values() for row in rows)])


def write_notes(folder: Path) -> None:
    folder.mkdir()
    (folder / "A1").mkdir()
    (folder / "A1" / "house.md").write_text("# Red house\n\na small house with a tree")
    (folder / "A2.md").write_text("# Fish\n\nsleeps in the river")


def write_saved(folder: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(ROWS).save_to_disk(folder)


FILES: dict[str, Callable[[Path], Any]] = {
    "a.csv": lambda path: path.write_text(table(ROWS, ",")),
    "a.tsv": lambda path: path.write_text(table(ROWS, "\t")),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(table(ROWS, ";").encode())),
    "a.jsonl": lambda path: path.write_text("".join(json.dumps(row) + "\n" for row in ROWS)),
    "a.json": lambda path: path.write_text(json.dumps(ROWS)),
    "a.parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "notes": write_notes,
    "saved": write_saved,
}


@pytest.mark.parametrize("name", FILES)
def test_own_files_are_indexed_and_found(
    name: str, tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    FILES[name](Path(name))
    built = run("index", "--bm25", "--corpus", name)
    assert built.code == 0, built.err
    if name == "notes":
        assert "2 text files; the id of a document is the path of its file" in built.err
    else:
        assert "id from `sku`, title from `title`, text from `description`" in built.err
    assert "2 documents" in built.err  # the header is not a document
    shown = run("search", "--index", built.out.strip(), "--query", "river")
    docid, title = ("A2.md", "# Fish") if name == "notes" else ("A2", "Fish")
    assert f"1. {docid}  " in shown.out and title in shown.out and "in the river" in shown.out


def test_a_table_without_a_header_is_reported(
    tmp_path: Path, run: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.tsv").write_text("alpha\tlamp\nbeta\tdesk\n")
    built = run("index", "--bm25", "--corpus", "a.tsv")
    assert built.code == 0, built.err
    assert "a.tsv: the lines are `id <tab> text`, without a header; if the first line" in built.err


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.json"])
def test_own_columns_are_encoded_and_remembered(
    name: str,
    tmp_path: Path,
    tiny_model_folder: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    texts = {".csv": table(ODD, ","), ".tsv": table(ODD, "\t"), ".json": json.dumps(ODD)}
    lines = "".join(json.dumps(row) + "\n" for row in ODD)
    Path(name).write_text(texts.get(Path(name).suffix, lines))
    model = ("--model", tiny_model_folder)
    if name.endswith("json"):  # the title is not guessed from `head`
        guessed = run("encode", "--corpus", name, *model)
        assert guessed.code == 1 and "name columns with --id-field COLUMN" in guessed.err
    encoded = run("encode", "--corpus", name, *ODD_FIELDS, *model)
    assert encoded.code == 0, encoded.err
    assert "id from `nr`, title from `head`, text from `info` and `head`" in encoded.err
    built = run("index", "--input", encoded.out.strip())
    assert built.code == 0, built.err
    shown = run("search", "--index", built.out.strip(), "--query", "river fish")
    assert "A2" in shown.out and "river Fish" in shown.out  # the text joins both columns


@pytest.mark.parametrize("kind", ["bm25", "impact"])
def test_ids_are_searched_only_if_their_column_is_a_text_field(
    kind: str,
    tmp_path: Path,
    tiny_model_folder: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("sku,description\nbird,a red house\ndog,the old river\n")

    def terms_in_texts(*fields: str) -> dict[str, bool]:
        """Search for an id; return, for each hit, whether its text contains the id."""
        corpus = ("--corpus", "a.csv", *fields)
        if kind == "bm25":
            built = run("index", "--bm25", *corpus, "--overwrite")
        else:
            encoded = run("encode", *corpus, "--model", tiny_model_folder, "--overwrite")
            built = run("index", "--input", encoded.out.strip(), "--overwrite")
        assert built.code == 0, built.err
        found = run("search", "--index", built.out.strip(), "--query", "bird", "--json")
        hits = json.loads(found.out)["hits"]
        return {hit["docid"]: hit["matched"][0]["in_text"] for hit in hits}

    assert True not in terms_in_texts().values()
    assert terms_in_texts("--text-fields", "sku", "description")["bird"]
