from __future__ import annotations

import subprocess
import sys

import pytest

from spade_pyserini import Document, open_corpus, read_qrels, read_topics


@pytest.fixture(scope="module")
def documents() -> dict[str, Document]:
    return {document.docid: document for document in open_corpus("pydoc")}


def test_common_functions_are_there_by_their_usual_names(
    documents: dict[str, Document],
) -> None:
    names = "open len str.split os.path.join shutil.rmtree pathlib.Path.mkdir json.dumps time.sleep"
    for name in names.split():
        assert name in documents
    assert documents["shutil.rmtree"].title.startswith("shutil.rmtree(path, ignore_errors=False")
    assert documents["shutil.rmtree"].text.startswith("Recursively delete a directory tree.")


def test_excluded_modules(documents: dict[str, Document]) -> None:
    heads = {docid.split(".")[0] for docid in documents}
    assert not heads & {"tkinter", "turtle", "antigravity", "this", "test", "winreg", "termios"}
    assert not [
        docid for docid in documents if any(part.startswith("_") for part in docid.split("."))
    ]
    assert all(document.text.strip() for document in documents.values())


def test_two_readings_are_equal_and_without_addresses(documents: dict[str, Document]) -> None:
    assert {document.docid: document for document in open_corpus("pydoc")} == documents
    assert not [doc.docid for doc in documents.values() if " at 0x" in doc.title]


def test_reading_imports_nothing_in_this_process() -> None:
    code = (
        "import sys; from spade_pyserini.corpora import open_corpus; before = set(sys.modules); "
        "list(open_corpus('pydoc')); print(sorted(set(sys.modules) - before))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "telnetlib" not in process.stdout
    assert "imaplib" not in process.stdout


def test_topics_and_judgements_agree(documents: dict[str, Document]) -> None:
    assert len(read_topics("pydoc")) == 120
    unknown = []
    for split, count in (("dev", 40), ("test", 80)):
        topics, qrels = read_topics(f"pydoc-{split}"), read_qrels(f"pydoc-{split}")
        assert len(topics) == count
        assert {topic.qid for topic in topics} == set(qrels)
        for qid, judged in qrels.items():
            assert 2 in judged.values(), f"topic {qid} has no answer"
            assert set(judged.values()) <= {0, 1, 2}
            unknown += [docid for docid in judged if docid not in documents]
    if sys.version_info[:2] == (3, 11):
        assert len(unknown) <= 10  # of 2,429 judgements; docstrings differ between versions 3.11.x
    dev = {topic.text for topic in read_topics("pydoc-dev")}
    assert not dev & {topic.text for topic in read_topics("pydoc-test")}
