"""The MS MARCO v1 passage collection, through ir_datasets."""

from __future__ import annotations

from collections.abc import Iterator

from spade_pyserini.errors import NotFoundError
from spade_pyserini.records import Document


def documents() -> Iterator[Document]:
    """The 8,841,823 passages, downloaded by ir_datasets on first use."""
    import ir_datasets
    import requests

    try:
        for passage in ir_datasets.load("msmarco-passage").docs_iter():
            yield Document(passage.doc_id, "", passage.text)
    except (requests.RequestException, OSError, RuntimeError) as error:
        raise NotFoundError(
            "the MS MARCO passages are not on this machine and ir_datasets could not download "
            "them; get collection.tsv (or .tsv.gz) and pass --corpus-path PATH/collection.tsv"
        ) from error
