from __future__ import annotations

import pytest

from spade_pyserini import Document
from spade_pyserini.corpora.checks import ErrorLimit, check_documents, number_documents
from spade_pyserini.errors import InputError, SpadeError

DOCUMENTS = [Document(docid, "", "text") for docid in ("a", "a", "b b", "c")]


def test_the_first_bad_document_is_an_error() -> None:
    with pytest.raises(InputError, match=r"^source:2: the id 'a' was used before"):
        list(check_documents(number_documents(DOCUMENTS, "source")))


def test_up_to_the_limit_bad_documents_are_skipped() -> None:
    messages: set[str] = set()
    errors = ErrorLimit(2, messages)
    documents = check_documents(number_documents(DOCUMENTS, "source"), errors)
    assert [document.docid for document in documents] == ["a", "c"]
    assert [error.line for error in errors.errors] == [2, 3]
    assert messages == {str(error) for error in errors.errors}


def test_more_bad_documents_than_the_limit_are_an_error() -> None:
    with pytest.raises(SpadeError, match="more bad documents than max_errors=1 allows"):
        list(check_documents(number_documents(DOCUMENTS, "source"), ErrorLimit(1)))
