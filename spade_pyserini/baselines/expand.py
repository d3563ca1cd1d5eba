"""Predict texts that expand the documents of a corpus: docT5query's queries or TILDE's terms.

::

    X.jsonl                  {"id": ..., "predicted_queries": [...]}, a line per expanded document
    X.jsonl.manifest.json    settings and digest

While a run is unfinished, its shards are in the folder ``X.jsonl.shards``, with a manifest next to
it. The random seed of a shard is the seed of the run plus the number of the shard. A run that is
interrupted and continued therefore gives the same queries as an uninterrupted run.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from spade_pyserini.baselines.query_generator import TOP_K, QueryGenerator, Sampling
from spade_pyserini.baselines.term_predictor import TermPredictor, is_tilde
from spade_pyserini.corpora.expansions import FORMAT
from spade_pyserini.errors import SpadeError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.outputs import refuse_existing
from spade_pyserini.formats.paths import remove, sibling
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.records import Document
from spade_pyserini.sharding.job import RunOptions, run_job
from spade_pyserini.sharding.part import MANIFEST
from spade_pyserini.sharding.plain import PlainFiles, PlainManifest
from spade_pyserini.sharding.protocols import Advance, Written
from spade_pyserini.sharding.resume import Output
from spade_pyserini.sharding.worker import Job

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus

SHARDS_FORMAT = "spade_pyserini.expansion_shards/1"
DEFAULT_SAMPLING = Sampling()
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ExpansionSettings(Sampling):
    """All settings that, together with the documents, determine the predicted queries."""

    corpus: str = ""
    model: str = ""
    model_fingerprint: str = ""
    top_k: int = TOP_K


class QueryFiles(PlainFiles):
    """The shard files ``docs0000.jsonl``, ``docs0001.jsonl``, ..."""

    def __init__(self) -> None:
        super().__init__(SHARDS_FORMAT, ".jsonl", ExpansionSettings)

    def is_shard_name(self, name: str) -> bool:
        """Whether ``name`` is the name of a shard. Older versions put a digest into the name."""
        return re.fullmatch(r"docs\d{4,}(\.[0-9a-f]{16})?\.jsonl", name) is not None


def expand_corpus(
    corpus: Corpus,
    model_name: str,
    output: str | Path,
    sampling: Sampling = DEFAULT_SAMPLING,
    overwrite: bool = False,
) -> int:
    """Write predicted queries for ``corpus`` to the file ``output``; return the number of lines.

    If an earlier call with the same arguments was interrupted, its finished shards are kept. It is
    an error if the output is complete, or if an unfinished run had other settings or other
    documents; with ``overwrite``, the output is replaced.
    """
    output = Path(output)
    files = QueryFiles()
    target = Output(sibling(output, "shards"), files, overwrite=overwrite)
    if output.is_file() and not overwrite and _has_leftovers(target.folder):
        with target.locked():
            _settle(output, target.folder)
    refuse_existing(output, overwrite)
    with target.locked() as bad_documents:
        kind = TermPredictor if is_tilde(model_name) else QueryGenerator
        generator = kind(model_name, sampling)
        settings = ExpansionSettings(
            **asdict(sampling),
            corpus=corpus.name,
            model=model_name,
            model_fingerprint=generator.fingerprint,
        )
        manifest = target.start(settings, target.load_earlier(keep_complete=True))
        earlier = {shard.number: shard for shard in manifest.shards}
        task = QueryTask(generator, files)
        job = Job(corpus, task, target, sampling.shard_size, dict(earlier))
        manifest = run_job(job, manifest, bad_documents, RunOptions(description="expanding"))
        return _finish(output, target.folder, manifest)


def _has_leftovers(folder: Path) -> bool:
    """Return whether an unfinished run left its folder of shards, a manifest or a lock."""
    return folder.is_dir() or any(sibling(folder, x).exists() for x in (MANIFEST, "lock"))


def _settle(output: Path, folder: Path) -> None:
    """Complete a run whose process was killed after it had joined the shards."""
    with suppress(SpadeError, OSError):  # there are no shards, or they belong to another run
        manifest = QueryFiles().load(folder, MANIFEST)
        joined = hashlib.sha256()
        for shard in manifest.shards:
            joined.update((folder / shard.file).read_bytes())
        if manifest.complete and joined.hexdigest() == sha256(output):
            _finish(output, folder, manifest)
    with suppress(SpadeError, OSError):
        written = read_sealed(sibling(output, MANIFEST), FORMAT)
        shards = QueryFiles().load(folder, MANIFEST)
        if written["sha256"] == sha256(output) and written["settings"] == asdict(shards.settings):
            _remove_shards(folder)


def _finish(output: Path, folder: Path, manifest: PlainManifest) -> int:
    """Join the shards, write the manifest, remove the shards; return the number of lines."""
    with atomic_write(output) as stream:
        for shard in manifest.shards:
            with (folder / shard.file).open("rb") as lines:
                shutil.copyfileobj(lines, stream)
    with output.open("rb") as stream:
        count = sum(1 for _ in stream)
    values = {"settings": asdict(manifest.settings), "documents": count, "sha256": sha256(output)}
    write_sealed(sibling(output, MANIFEST), {"format": FORMAT, **values})
    _remove_shards(folder)
    return count


def _remove_shards(folder: Path) -> None:
    """Remove the shards of a finished run, then their manifest, which identifies the run."""
    QueryFiles().remove(folder, None)
    with suppress(OSError):  # the folder stays if the user has put a file into it
        folder.rmdir()
    remove(sibling(folder, "json"))  # settings that an older version wrote
    remove(sibling(folder, MANIFEST))


class _Queries(NamedTuple):
    """The documents of a shard; ``queries`` is empty before ``compute``."""

    number: int
    documents: list[Document]
    input_sha256: str
    queries: list[list[str]]


@dataclass(frozen=True)
class QueryTask:
    """Samples predicted queries for the documents of a shard."""

    generator: QueryGenerator | TermPredictor
    files: QueryFiles

    def prepare(self, number: int, documents: list[Document], input_sha256: str) -> _Queries:
        """Return the documents unchanged: `compute` tokenizes them in batches."""
        return _Queries(number, documents, input_sha256, [])

    def compute(self, prepared: _Queries, advance: Advance) -> _Queries:
        """Sample queries for each document of the shard."""
        texts = [document.contents for document in prepared.documents]
        seed = self.generator.sampling.seed + prepared.number
        queries = self.generator.generate(texts, seed)
        advance(len(texts), 0)
        return prepared._replace(queries=queries)

    def write(self, folder: Path, computed: _Queries) -> Written:
        """Write a line for each document that has queries."""
        number, documents, input_sha256, queries = computed
        name = self.files.shard_name(number)
        if without := sum(not sampled for sampled in queries):
            logger.warning("%s: %d documents got no query and are left out", name, without)
        with self.files.write(folder, number) as stream:
            for document, sampled in zip(documents, queries, strict=True):
                line = {"id": document.docid, "predicted_queries": sampled}
                if sampled:
                    stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        return Written(self.files.record(folder, number, len(documents), input_sha256))
