"""Join the parts of an encoding, see `spade_pyserini.sharding.part`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from spade_pyserini.encode.summary import log_summary
from spade_pyserini.errors import ArtifactError, OutputExistsError
from spade_pyserini.formats.lines import read_lines, write_lines
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.paths import location, remove, sibling
from spade_pyserini.formats.vector_manifest import MANIFEST, VectorManifest, manifest_path
from spade_pyserini.formats.vectors import verify
from spade_pyserini.sharding.part import ALL_SHARDS, Part, agreed_size, check_shards, parts_of


def merge_parts(output: str | Path) -> VectorManifest:
    """Check all files of all parts, then replace the manifests of the parts by a single manifest.

    Returns the new manifest. If an earlier merge was interrupted, it is completed.
    """
    folder = location(output)
    with lock(folder):
        parts = {part: VectorManifest.load(folder, part.manifest) for part in parts_of(folder)}
        if manifest_path(folder).exists():
            manifest = VectorManifest.load(folder)
            _refuse_other_parts(folder, parts, manifest)
            verify(folder, manifest)
        elif parts:
            manifest = _joined(folder, parts)
            _merge_errors(folder, list(parts))
            manifest.save(folder)
        else:
            message = f"{folder} has no parts to merge; encode them with shard_id=I and shard_num=N"
            raise ArtifactError(f"{message} first")
        for part in parts:
            remove(part.errors_path(folder))
            remove(sibling(folder, part.manifest))
        log_summary(manifest, folder, ALL_SHARDS)
    return manifest


def _refuse_other_parts(
    folder: Path, parts: dict[Part, VectorManifest], complete: VectorManifest
) -> None:
    """Raise an error if the parts next to a complete encoding do not belong to it.

    Parts of the same encoding are allowed: a merge that was killed leaves their manifests.
    """
    known = {shard.file: shard for shard in complete.shards}
    for manifest in parts.values():
        same = all(known.get(shard.file) == shard for shard in manifest.shards)
        if manifest.settings != complete.settings or not same:
            raise OutputExistsError(
                f"{folder} is complete, and the parts next to it belong to another encoding; to "
                f"keep the complete encoding, remove the files {folder.name}.part-*"
            )


def _joined(folder: Path, parts: dict[Part, VectorManifest]) -> VectorManifest:
    """Check all parts, and return a single manifest for them."""
    first = next(iter(parts.values()))
    _check_parts(folder, parts, first)
    shards = [shard for manifest in parts.values() for shard in manifest.shards]
    shards.sort(key=lambda shard: shard.number)
    joined = replace(first, shards=shards, complete=True, corpus_documents=None)
    size = agreed_size(folder, (manifest.corpus_documents for manifest in parts.values()))
    check_shards(folder, ALL_SHARDS, joined, joined.documents if size is None else size)
    return verify(folder, joined)


def _check_parts(folder: Path, parts: dict[Part, VectorManifest], first: VectorManifest) -> None:
    """Check that no part is missing or unfinished, and that all parts have the same settings."""
    numbers = {part.shard_num for part in parts}
    if len(numbers) > 1:
        shown = " and ".join(map(str, sorted(numbers)))
        raise ArtifactError(
            f"{folder} has parts of several encodings, divided into {shown} parts; keep only the "
            f"manifests of one encoding, such as {folder.name}.part-*-of-{max(numbers)}.{MANIFEST}"
        )
    (number,) = numbers
    if missing := sorted(set(range(number)) - {part.shard_id for part in parts}):
        raise ArtifactError(
            f"{folder}: the part shard_id={missing[0]} of {number} is missing; encode it"
        )
    for part, manifest in parts.items():
        if not manifest.complete:
            message = f"{folder}: the part shard_id={part.shard_id} of {number} is not finished"
            raise ArtifactError(f"{message}; run the encode command of this part again")
        if manifest.settings != first.settings:
            message = f"{folder}: the part shard_id={part.shard_id} was encoded with other settings"
            raise ArtifactError(f"{message} than the others; encode it again with overwrite=True")


def _merge_errors(folder: Path, parts: list[Part]) -> None:
    """Join the lists of bad documents; a document in several lists is written once."""
    paths = [path for part in parts if (path := part.errors_path(folder)).exists()]
    errors = sorted({line for path in paths for _, line in read_lines(path)})
    if errors:
        write_lines(ALL_SHARDS.errors_path(folder), errors)
