from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.errors import ArtifactError, InputError
from spade_pyserini.formats.json_files import read_json_file, read_json_object, write_json
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed


def test_an_object_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"é": [1, None]})
    assert read_json_file(tmp_path / "x.json") == {"é": [1, None]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("null", "a JSON object was expected, found null"),
        ("[1]", "a JSON object was expected, found list"),
        ('{"a": 1, "a": 2}', "the key 'a' occurs twice"),
        ('{"a": ', "not valid JSON"),
        ("{" + '"a":{' * 100_000, "not valid JSON|nested too deeply"),
    ],
)
def test_malformed_json_is_an_error(text: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"^x\.json:3: .*({message})"):
        read_json_object(text, Path("x.json"), 3)


def test_an_edit_of_a_sealed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_sealed(path, {"format": "x/1", "count": 3})
    assert read_sealed(path, "x/1") == {"format": "x/1", "count": 3}
    with pytest.raises(InputError, match="the format is 'x/1', expected 'x/2'"):
        read_sealed(path, "x/2")
    path.write_text(path.read_text().replace("3", "4", 1))
    with pytest.raises(ArtifactError, match="edited or damaged"):
        read_sealed(path, "x/1")
