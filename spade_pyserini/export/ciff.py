"""Write and read CIFF, the Common Index File Format, with which search engines exchange indexes.

A file consists of length-prefixed protobuf messages: a header, a ``PostingsList`` per term, and a
``DocRecord`` per document. Impacts are stored as term frequencies. The document number of a posting
is stored as the difference from the previous posting of the term.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, proto

from spade_pyserini.errors import InputError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.index.opening import open_postings
from spade_pyserini.index.postings import IndexStatistics, Postings

PACKAGE = "io.osirrc.ciff"
INT32, INT64, DOUBLE, STRING, MESSAGE = 5, 3, 1, 9, 11  # values of FieldDescriptorProto.Type
OPTIONAL, REPEATED = 1, 3  # values of FieldDescriptorProto.Label
FIELDS = {
    "Header": [
        *(("version", INT32), ("num_postings_lists", INT32), ("num_docs", INT32)),
        *(("total_postings_lists", INT32), ("total_docs", INT32)),
        *(("total_terms_in_collection", INT64), ("average_doclength", DOUBLE)),
        ("description", STRING),
    ],
    "Posting": [("docid", INT32), ("tf", INT32)],
    "PostingsList": [("term", STRING), ("df", INT64), ("cf", INT64), ("postings", MESSAGE)],
    "DocRecord": [("docid", INT32), ("collection_docid", STRING), ("doclength", INT32)],
}


class Ciff(NamedTuple):
    """The contents of a CIFF file: the header's description, and a vector for each docid."""

    description: str
    vectors: dict[str, dict[str, int]]


def write_ciff(
    index: str | Path, path: str | Path, *, description: str = "", overwrite: bool = False
) -> int:
    """Write the impact index ``index`` to ``path``, atomically; return the number of terms."""
    path = Path(path)
    refuse_existing(path, overwrite)
    with open_postings(index) as postings, atomic_write(path) as stream:
        statistics, docids = postings.statistics(0), postings.documents()
        header = _header(statistics, len(docids), description)
        proto.serialize_length_prefixed(header, stream)
        lengths = _write_postings(postings, len(docids), stream)
        record = _message("DocRecord")
        for number, (docid, length) in enumerate(zip(docids, lengths, strict=True)):
            document = record(docid=number, collection_docid=docid, doclength=length)
            proto.serialize_length_prefixed(document, stream)
    return statistics.terms


def _header(statistics: IndexStatistics, documents: int, description: str) -> Any:
    total = statistics.sum_of_impacts
    return _message("Header")(
        version=1,
        num_postings_lists=statistics.terms,
        num_docs=documents,
        total_postings_lists=statistics.terms,
        total_docs=documents,
        total_terms_in_collection=total,
        average_doclength=total / documents if documents else 0.0,
        description=description,
    )


def _write_postings(postings: Postings, documents: int, stream: IO[bytes]) -> list[int]:
    """Write the postings of all terms; return the sum of impacts of each document."""
    lengths = [0] * documents
    posting, postings_list = _message("Posting"), _message("PostingsList")
    for term, numbers, impacts in postings.terms():
        for number, impact in zip(numbers, impacts, strict=True):
            lengths[number] += impact
        gaps = [numbers[0], *(after - before for before, after in pairwise(numbers))]
        entries = [posting(docid=gap, tf=impact) for gap, impact in zip(gaps, impacts, strict=True)]
        message = postings_list(term=term, df=len(numbers), cf=sum(impacts), postings=entries)
        proto.serialize_length_prefixed(message, stream)
    return lengths


def read_ciff(path: str | Path) -> Ciff:
    """Read a CIFF file into memory; suitable for small files only."""
    path = Path(path)
    with path.open("rb") as stream:
        header = _read(stream, "Header", path)
        lists = [_read(stream, "PostingsList", path) for _ in range(header.num_postings_lists)]
        records = [_read(stream, "DocRecord", path) for _ in range(header.num_docs)]
        if stream.read(1):
            raise InputError("the file is longer than its header says; write it again", path)
    names = {record.docid: record.collection_docid for record in records}
    vectors: dict[str, dict[str, int]] = {record.collection_docid: {} for record in records}
    for postings_list in lists:
        number = 0
        for posting in postings_list.postings:
            number += posting.docid
            vectors[names[number]][postings_list.term] = posting.tf
    return Ciff(header.description, vectors)


def _read(stream: IO[bytes], kind: str, path: Path) -> Any:
    """Read the next message of the file."""
    try:
        message = proto.parse_length_prefixed(_message(kind), stream)
    except Exception as error:  # DecodeError, or other errors if the file is truncated
        raise InputError(f"not a complete CIFF file ({error}); write it again", path) from None
    if message is None:
        raise InputError("the file is shorter than its header says; write it again", path)
    return message


@cache
def _message(kind: str) -> Any:
    """Return the class of a protobuf message."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{kind}"))


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    """Return descriptors of the messages, as in CIFF's ``.proto`` file."""
    file = descriptor_pb2.FileDescriptorProto(name="ciff.proto", package=PACKAGE, syntax="proto3")
    for kind, fields in FIELDS.items():
        message = file.message_type.add(name=kind)
        for number, (name, type_) in enumerate(fields, start=1):
            field = message.field.add(name=name, number=number, type=type_, label=OPTIONAL)
            if type_ == MESSAGE:
                field.label, field.type_name = REPEATED, f".{PACKAGE}.Posting"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool
