from __future__ import annotations

from pathlib import Path

from spade_pyserini.corpora.qrels_tables import QrelsColumns
from spade_pyserini.corpora.topic_tables import TopicColumns
from spade_pyserini.serve.judgements import read_judgements


def test_tables_with_named_columns(tmp_path: Path) -> None:
    (tmp_path / "fragen.csv").write_text("frage,nr\nRed fish,1\n")
    (tmp_path / "urteile.csv").write_text("note,artikel,anfrage\n2,d1,1\n")
    judged = read_judgements(
        [str(tmp_path / "urteile.csv")],
        str(tmp_path / "fragen.csv"),
        topic_columns=TopicColumns("nr", "frage"),
        qrels_columns=QrelsColumns("anfrage", "artikel", "note"),
    ).find("red  FISH")
    assert judged is not None
    assert (judged.qid, judged.grades) == ("1", {"d1": 2})
