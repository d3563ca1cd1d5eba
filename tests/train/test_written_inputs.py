from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini import Topic
from spade_pyserini.corpora.qrels import read_qrels
from spade_pyserini.corpora.topics import read_topics
from spade_pyserini.errors import OutputExistsError
from spade_pyserini.train.written_inputs import RESULTS, qrels_lines, topic_lines, write_inputs


@pytest.mark.parametrize("result", RESULTS)
def test_data_of_a_trained_run_stay(tmp_path: Path, result: str) -> None:
    path = tmp_path / "pairs" / "queries.tsv"
    for text in ("q1\tred\n", "q1\tblue\n"):  # without results, new data replace the old ones
        write_inputs({path: text}, tmp_path)
        assert path.read_text() == text
    (tmp_path / result).mkdir()
    write_inputs({path: "q1\tblue\n", tmp_path / "new.txt": "x"}, tmp_path)
    with pytest.raises(OutputExistsError, match=r"queries\.tsv would change; choose"):
        write_inputs({path: "q1\tgreen\n", tmp_path / "new.txt": "y"}, tmp_path)
    assert path.read_text() == "q1\tblue\n" and (tmp_path / "new.txt").read_text() == "x"


def test_lines_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text(topic_lines([Topic("1", "red\tfish\nold  cat")]))
    assert read_topics(tmp_path / "t.tsv") == [Topic("1", "red fish old cat")]
    (tmp_path / "q.txt").write_text(qrels_lines({"1": {"a": 2, "b": 0}}))
    assert read_qrels(tmp_path / "q.txt") == {"1": {"a": 2, "b": 0}}
