"""CIFF, the common index file format: what search engines of research hand each other.

A header, a message for each term with its postings, a message for each document; each message
after its length. Impacts are term frequencies there, and documents are given as differences.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, proto

from spade_pyserini.errors import InputError
from spade_pyserini.formats.files import atomic_write, refuse_existing
from spade_pyserini.formats.index_manifest import impact_manifest
from spade_pyserini.index.postings import Postings

PACKAGE = "io.osirrc.ciff"
INT32, INT64, DOUBLE, STRING, MESSAGE = 5, 3, 1, 9, 11  # of FieldDescriptorProto.Type
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
    """What a file holds: the vector of each document, and the header's description."""

    description: str
    vectors: dict[str, dict[str, int]]


def write_ciff(
    index: str | Path, path: str | Path, *, description: str = "", overwrite: bool = False
) -> int:
    """Write the impact index ``index`` to ``path``, atomically; returns the number of terms."""
    path = Path(path)
    refuse_existing(path, overwrite)
    impact_manifest(Path(index))
    with Postings(index) as postings, atomic_write(path) as stream:
        figures, docids = postings.figures(0), postings.documents()
        lengths = [0] * len(docids)
        total = sum(impact * number for impact, number in figures.impacts.items())
        header = _message("Header")(
            version=1,
            num_postings_lists=figures.terms,
            num_docs=len(docids),
            total_postings_lists=figures.terms,
            total_docs=len(docids),
            total_terms_in_collection=total,
            average_doclength=total / len(docids) if docids else 0.0,
            description=description,
        )
        proto.serialize_length_prefixed(header, stream)
        posting, postings_list = _message("Posting"), _message("PostingsList")
        for term, places, impacts in postings.terms():
            for place, impact in zip(places, impacts, strict=True):
                lengths[place] += impact
            gaps = [places[0], *(after - before for before, after in pairwise(places))]
            pairs = zip(gaps, impacts, strict=True)
            entries = [posting(docid=gap, tf=impact) for gap, impact in pairs]
            df, cf = len(places), sum(impacts)
            found = postings_list(term=term, df=df, cf=cf, postings=entries)
            proto.serialize_length_prefixed(found, stream)
        record = _message("DocRecord")
        for place, (docid, length) in enumerate(zip(docids, lengths, strict=True)):
            made = record(docid=place, collection_docid=docid, doclength=length)
            proto.serialize_length_prefixed(made, stream)
    return figures.terms


def read_ciff(path: str | Path) -> Ciff:
    """All of a CIFF file, as vectors; in memory, so for small ones."""
    path = Path(path)
    with path.open("rb") as stream:
        header = _read(stream, "Header", path)
        lists = [_read(stream, "PostingsList", path) for _ in range(header.num_postings_lists)]
        records = [_read(stream, "DocRecord", path) for _ in range(header.num_docs)]
        if stream.read(1):
            raise InputError("there is more in the file than its header says", path)
    names = {record.docid: record.collection_docid for record in records}
    vectors: dict[str, dict[str, int]] = {record.collection_docid: {} for record in records}
    for found in lists:
        place = 0
        for posting in found.postings:
            place += posting.docid
            vectors[names[place]][found.term] = posting.tf
    return Ciff(header.description, vectors)


def _read(stream: IO[bytes], kind: str, path: Path) -> Any:
    try:
        found = proto.parse_length_prefixed(_message(kind), stream)
    except Exception as error:  # protobuf's DecodeError, or what a cut-off file gives
        raise InputError(f"not a whole CIFF file ({error})", path) from None
    if found is None:
        raise InputError("the file ends before its header says", path)
    return found


@cache
def _message(kind: str) -> Any:
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{PACKAGE}.{kind}"))


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    """The messages of CIFF, as its ``.proto`` file describes them."""
    file = descriptor_pb2.FileDescriptorProto(name="ciff.proto", package=PACKAGE, syntax="proto3")
    for kind, fields in FIELDS.items():
        message = file.message_type.add(name=kind)
        for number, (name, type_) in enumerate(fields, start=1):
            field = message.field.add(name=name, number=number, type=type_, label=1)
            if type_ == MESSAGE:
                field.label, field.type_name = 3, f".{PACKAGE}.Posting"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool
