from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.errors import OutputExistsError
from spade_pyserini.formats.outputs import refuse_existing


def test_a_path_below_a_file_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputExistsError, match="file is not a folder that can be written to"):
        refuse_existing(tmp_path / "file" / "below" / "x.txt", overwrite=True)
    refuse_existing(tmp_path / "new" / "below" / "x.txt", overwrite=False)


def test_an_existing_file_is_replaced_only_with_overwrite(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputExistsError, match="exists already; pass overwrite=True"):
        refuse_existing(tmp_path / "file", overwrite=False)
    refuse_existing(tmp_path / "file", overwrite=True)
    with pytest.raises(OutputExistsError, match="is a folder, a file was expected"):
        refuse_existing(tmp_path, overwrite=True)
