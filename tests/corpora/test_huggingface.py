from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spade_pyserini import open_corpus
from spade_pyserini.corpora.checks import ErrorLimit
from spade_pyserini.errors import InputError, NotFoundError


def test_texts_on_hugging_face(tmp_path: Path) -> None:
    lines = [{"docid": f"d{n}", "title": "T", "passage": f"text {n}"} for n in range(3)]
    path = tmp_path / "set" / "train.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    documents = list(open_corpus(f"hf:{tmp_path / 'set'}"))
    assert documents[2] == ("d2", "T", "text 2")
    with pytest.raises(NotFoundError, match="has no split 'dev'; it has train"):
        list(open_corpus(f"hf:{tmp_path / 'set'}::dev"))
    path.write_text('{"x": 1}\n')
    with pytest.raises(InputError, match="no text column"):
        list(open_corpus(f"hf:{tmp_path / 'set'}"))
    path.write_text('{"text": null}\n{"text": "one"}\n')
    errors = ErrorLimit(1)
    assert list(open_corpus(f"hf:{tmp_path / 'set'}").documents(errors)) == [("1", "", "one")]
    assert ":1: no text column" in str(errors.errors[0])
    path.write_text('{"key": "a", "name": "Fish", "one": "red", "two": "blue"}\n')
    fields: dict[str, Any] = {"id_field": "key", "title_field": "name"}
    chosen = open_corpus(f"hf:{tmp_path / 'set'}", **fields, text_fields=["one", "two"])
    assert list(chosen) == [("a", "Fish", "red blue")]
    with pytest.raises(NotFoundError, match="cannot be loaded"):
        list(open_corpus("hf:nobody/nothing"))
    with pytest.raises(NotFoundError, match="hf://datasets/nobody/nothing: no such file or folder"):
        open_corpus("hf://datasets/nobody/nothing")  # an fsspec URL
