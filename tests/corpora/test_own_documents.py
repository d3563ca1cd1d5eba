"""Documents in common formats: tables, JSON, Parquet, saved datasets, folders of texts."""

from __future__ import annotations

import bz2
import gzip
import json
import logging
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spade_pyserini import Document, open_corpus
from spade_pyserini.corpora.checks import ErrorLimit
from spade_pyserini.corpora.columnar import STATE
from spade_pyserini.corpora.delimited import has_header
from spade_pyserini.corpora.text_files import path_id
from spade_pyserini.errors import InputError, UsageError
from spade_pyserini.formats import json_array

ROWS: list[dict[str, Any]] = [
    {"sku": "A1", "title": "Red house", "description": 'A "small" house,\nwith a tree', "price": 7},
    {"sku": "A2", "title": "Fish", "description": "Sleeps in the river", "price": 8},
]
EXPECTED = [
    Document("A1", "Red house", 'A "small" house,\nwith a tree'),
    Document("A2", "Fish", "Sleeps in the river"),
]
CSV = (
    'SKU,Title,Description,price\r\nA1,Red house,"A ""small"" house,\nwith a tree",7\r\n'
    "A2,Fish,Sleeps in the river,8\r\n"
)


def write_dataset(folder: Path, rows: list[dict[str, Any]] = ROWS) -> None:
    """Write a dataset as ``save_to_disk`` of Hugging Face's datasets does, in two files."""
    folder.mkdir(parents=True)
    names = []
    for number, row in enumerate(rows):
        table = pa.Table.from_pylist([row])
        names.append({"filename": f"data-0000{number}-of-00002.arrow"})
        with pa.ipc.new_stream(folder / names[-1]["filename"], table.schema) as stream:
            stream.write_table(table)
    (folder / STATE).write_text(json.dumps({"_data_files": names, "_split": None}))
    (folder / "dataset_info.json").write_text("{}")


def write_dataset_dict(folder: Path) -> None:
    write_dataset(folder / "train")
    (folder / "dataset_dict.json").write_text('{"splits": ["train"]}')


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


FORMS: dict[str, Callable[[Path], Any]] = {
    "a.csv": lambda path: path.write_text(CSV, newline=""),
    "bom.csv": lambda path: path.write_text(CSV, encoding="utf-8-sig", newline=""),
    "semicolon.csv": lambda path: path.write_text(
        'sku;title;description\nA1;Red house;"A ""small"" house,\nwith a tree"\n'
        "A2;Fish;Sleeps in the river\n"
    ),
    "a.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "a.csv.bz2": lambda path: path.write_bytes(bz2.compress(CSV.encode())),
    "a.csv.xz": lambda path: path.write_bytes(lzma.compress(CSV.encode())),
    "a.csv.zst": lambda path: path.write_bytes(zstd(CSV.encode())),
    "a.jsonl": lambda path: path.write_text("".join(json.dumps(row) + "\n" for row in ROWS)),
    "a.json": lambda path: path.write_text(json.dumps(ROWS, indent=2)),
    "one-line.json": lambda path: path.write_text(json.dumps(ROWS)),
    "a.json.gz": lambda path: path.write_bytes(gzip.compress(json.dumps(ROWS).encode())),
    "a.parquet": lambda path: pq.write_table(pa.Table.from_pylist(ROWS), path),
    "dataset": write_dataset,
    "splits": write_dataset_dict,
}


@pytest.mark.parametrize("name", FORMS)
def test_all_forms_give_the_same_documents(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    FORMS[name](tmp_path / name)
    corpus = open_corpus(str(tmp_path / name))
    assert list(corpus) == EXPECTED
    assert corpus.name == name.partition(".")[0]
    assert corpus.count() in (None, 2, 3)  # an estimate: a quoted line break counts as a line
    assert corpus.fields == ""
    assert "id from `sku`, title from `title`, text from `description`" in caplog.text.replace(
        "SKU", "sku"
    ).replace("Title", "title").replace("Description", "description")
    assert "not read: `price`" in caplog.text or "semicolon" in name


def test_a_dataset_that_the_library_saved(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(ROWS).save_to_disk(tmp_path / "saved")
    assert list(open_corpus(str(tmp_path / "saved"))) == EXPECTED


def test_several_splits_are_named(tmp_path: Path) -> None:
    write_dataset_dict(tmp_path / "d")
    (tmp_path / "d" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(InputError, match=r"several splits; give one of .*d/train, .*d/test"):
        open_corpus(str(tmp_path / "d"))
    assert list(open_corpus(str(tmp_path / "d" / "train"))) == EXPECTED


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.parquet", "dataset"])
def test_chosen_fields(tmp_path: Path, name: str) -> None:
    rows = [{"code": 7, "head": "Fish", "a": "one", "b": ["two", "three"], "text": "no"}]
    if name == "a.csv":
        (tmp_path / name).write_text("code,head,a,b,text\n7,Fish,one,two three,no\n")
    elif name == "a.parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name)
    elif name == "dataset":
        write_dataset(tmp_path / name, rows)
    else:
        text = json.dumps(rows if name == "a.json" else rows[0])
        (tmp_path / name).write_text(text)
    corpus = open_corpus(
        str(tmp_path / name), id_field="code", title_field="head", text_fields=["a", "b"]
    )
    assert list(corpus) == [Document("7", "Fish", "one two three")]
    assert corpus.fields == "id code; title head; text a, b"


def test_fields_equal_to_the_guess_are_no_change(tmp_path: Path) -> None:
    FORMS["a.jsonl"](tmp_path / "a.jsonl")
    fields: dict[str, Any] = {"id_field": "sku", "text_fields": ["description"]}
    corpus = open_corpus(str(tmp_path / "a.jsonl"), **fields)
    assert corpus.fields == ""
    assert list(corpus) == EXPECTED
    untitled = open_corpus(str(tmp_path / "a.jsonl"), **fields, title_field="")
    assert untitled.fields == "id sku; title ; text description"
    assert [document.title for document in untitled] == ["", ""]


def test_rows_without_ids_are_numbered_on_demand(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.csv").write_text("text\nred\nblue\n")
    (tmp_path / "b" / "2.csv").write_text("text\ngreen\n")
    with pytest.raises(InputError, match=r"no id column .* among the columns `text`.*:row"):
        open_corpus(str(tmp_path / "b"))
    numbered = open_corpus(str(tmp_path / "b"), id_field=":row")
    assert [document.docid for document in numbered] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "number,words\n1,red\n"),
        ("a.tsv", "number\tdetails\n1\tred\n"),
        ("a.jsonl", '{"number": 1, "words": "red"}\n'),
        ("a.json", '[{"number": 1, "words": "red"}]'),
    ],
)
def test_columns_that_do_not_fit_are_listed(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=r"among the columns `number`, `(words|details)`; name"):
        open_corpus(str(tmp_path / name))
    with pytest.raises(InputError, match=r"there is no column 'nr'; the columns are `number`"):
        open_corpus(str(tmp_path / name), id_field="nr")


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        (["id\ttext", "1\tred"], True),
        (["docId\tTitle\tbody", "1\tred\tblue"], True),
        (["product_code\tproduct_name\tdetails", "a\tred\tblue"], True),
        (["kod\tnazwa\topis", "1\tx\ty", "2\tx\ty", "3\tx\ty"], True),
        (["1\tred", "2\tblue"], False),
        (["d1\tSome text", "d2\ttitle"], False),
        (["D1\thttp://a.b/c\tTitle\tBody text.", "D2\thttp://a.b/d\tT\tB"], False),
        (["0\tThe presence of communication amid scientific minds was equally important."], False),
        (["red\tblue"], False),
        ([], False),
    ],
)
def test_headers_of_tsv_files(tmp_path: Path, lines: list[str], header: bool) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(line + "\n" for line in lines))
    assert has_header(path) == header


def test_tsv_with_a_header(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('id\ttitle\ttext\n1\tred\tthe "old" cat\n2\t"a ""b"""\tdog\n3\ttoo few\n')
    errors = ErrorLimit(1)
    documents = list(open_corpus(str(path)).documents(errors))
    assert documents == [Document("1", "red", 'the "old" cat'), Document("2", 'a "b"', "dog")]
    assert "a.tsv:4: the row has 2 cells, the header has 3" in str(errors.errors[0])


def test_a_header_in_a_later_file_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "1.tsv").write_text("1\tred\n")
    (tmp_path / "2.tsv").write_text("id\ttext\n2\tblue\n")
    with pytest.raises(InputError, match=r"2\.tsv:1: this line is a header"):
        list(open_corpus(str(tmp_path)))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x", "the row has 1 cells, the header has 2"),
        ('3,"a" b', "not valid CSV"),
        (",empty id", "the id in `id` is empty"),
        ("1,again", "was used before"),
        ("3 4,blank in the id", "white space"),
        ("3,caf\udce9", "not UTF-8"),
        ('3,"open', "not valid CSV"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"id,text\n1,red\n{row}\n", errors="surrogateescape")
    with pytest.raises(InputError, match=message) as error:
        list(open_corpus(str(path)))
    assert "a.csv:3: " in str(error.value)
    errors = ErrorLimit(1)
    assert list(open_corpus(str(path)).documents(errors)) == [Document("1", "", "red")]
    assert len(errors.errors) == 1


def test_missing_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [("1", "T", None), ("2", None, None), ("3", None, ""), (None, "T", "x")]
    names = ("id", "title", "text")
    records = [dict(zip(names, row, strict=True)) for row in rows]
    pq.write_table(pa.Table.from_pylist(records), path)
    errors = ErrorLimit(2)
    documents = list(open_corpus(str(path)).documents(errors))
    assert documents == [Document("1", "T", ""), Document("3", "", "")]
    assert "a.parquet:2: no text column has a value: `text`" in str(errors.errors[0])
    assert "a.parquet:4: the id in `id` is None" in str(errors.errors[1])


def test_files_that_are_not_what_their_name_says(tmp_path: Path) -> None:
    for name in ("a.parquet", "a.csv.bz2", "a.csv.xz", "a.csv.zst"):
        (tmp_path / name).write_text("id,text\n1,red\n")
        with pytest.raises(InputError, match=r"cannot be read|damaged or cut off"):
            open_corpus(str(tmp_path / name))
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(InputError, match="the file is empty"):
        open_corpus(str(tmp_path / "a.csv"))
    (tmp_path / "a.csv").write_text("id,text\n")
    with pytest.raises(InputError, match="contains no document"):
        list(open_corpus(str(tmp_path / "a.csv")))
    (tmp_path / "a.csv").write_text("id,text,id\n")
    with pytest.raises(InputError, match="the column 'id' twice"):
        open_corpus(str(tmp_path / "a.csv"))
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(InputError, match=r"must end in \.jsonl, \.json, .*, \.txt or \.md"):
        open_corpus(str(tmp_path / "a.xlsx"))
    (tmp_path / "a.parquet.gz").write_bytes(b"x")
    with pytest.raises(InputError, match="decompress this file first"):
        open_corpus(str(tmp_path / "a.parquet.gz"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"id": 1, "text": "a"} {"id": 2}]', r"expected , or \], found {"),
        ('[{"id": 1, "text": "a"},\n{"id": 2, "text": ]', r":2: not valid JSON"),
        ('[{"id": 1, "text": "a"}', "found the end"),
        ('[{"id": 1, "text": "a"}] x', "more text after the end"),
        ('[{"id": 1, "text": "a"},\n{"id": 2, "id": 3}]', ":2: .*the key 'id' occurs twice"),
        ('[{"id": 1, "text": "a"},\n7]', ":2: a JSON object was expected in the array, found int"),
    ],
)
def test_bad_arrays(
    tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_array, "CHUNK", 3)
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InputError, match=message):
        list(open_corpus(str(tmp_path / "a.json")))


def test_arrays_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": n, "text": "long " * n} for n in range(50)]
    path = tmp_path / "a.json"
    path.write_text("\n " + json.dumps(rows, indent=1))
    for chunk in (1, 7, 1000):
        monkeypatch.setattr(json_array, "CHUNK", chunk)
        values = list(json_array.read_json_array(path))
        assert [value for _, value in values] == rows
        assert [line for line, _ in values[:3]] == [3, 7, 11]
    path.write_text(" [ ] ")
    assert list(json_array.read_json_array(path)) == []


def test_a_folder_of_texts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    (tmp_path / "sub dir").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text("hidden")
    (tmp_path / "a.md").write_text("# Cats\n\nThe cat sleeps.\n")
    (tmp_path / "sub dir" / "b.txt").write_text("One dog.\n", encoding="utf-8-sig")
    (tmp_path / "sub dir" / "c.txt.gz").write_bytes(gzip.compress(b"Fish"))
    (tmp_path / "z.png").write_bytes(b"\x89PNG")
    corpus = open_corpus(str(tmp_path))
    assert list(corpus) == [
        Document("a.md", "", "# Cats\n\nThe cat sleeps."),
        Document("sub%20dir/b.txt", "", "One dog."),
        Document("sub%20dir/c.txt.gz", "", "Fish"),
    ]
    assert corpus.count() == 3
    assert "2 other files are not part of the corpus" in caplog.text
    assert "the id of a document is the path of its file" in caplog.text
    with pytest.raises(UsageError, match="have no columns"):
        open_corpus(str(tmp_path), id_field="x")
    caplog.clear()
    assert list(open_corpus(str(tmp_path / "a.md"))) == [next(iter(corpus))]
    assert "the file is one document with the id a.md; for a document on each line" in caplog.text
    (tmp_path / "bad.txt").write_bytes(b"caf\xe9")
    with pytest.raises(InputError, match=r"bad\.txt: byte 3 \(0xe9\) is not UTF-8"):
        list(open_corpus(str(tmp_path)))
    (tmp_path / "t.csv").write_text("id,text\n1,x\n")
    with pytest.raises(InputError, match=r"the folder has both t\.csv and a\.md"):
        open_corpus(str(tmp_path))


def test_ids_of_paths() -> None:
    assert path_id("a b#c%d/\u00e9.txt") == "a%20b%23c%25d/\u00e9.txt"
    assert path_id("caf\udce9") == "caf%E9"


def test_documentation_next_to_json_is_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    (tmp_path / "docs.jsonl").write_text('{"id": "1", "contents": "x"}\n')
    (tmp_path / "README.md").write_text("about")
    assert [document.docid for document in open_corpus(str(tmp_path))] == ["1"]
    assert "1 other file is not part of the corpus, such as README.md" in caplog.text


def test_named_collections_have_fixed_fields() -> None:
    with pytest.raises(UsageError, match="pydoc has fixed fields"):
        open_corpus("pydoc", id_field="x")
