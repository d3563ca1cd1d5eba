"""What an output folder holds already, and whether a run may go on with it or replace it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from spade_pyserini.encode.part import WHOLE, Part, parts_of
from spade_pyserini.errors import ArtifactError, OutputExistsError, SpadeError, describe_differences
from spade_pyserini.formats.components import components_intact, remove_components
from spade_pyserini.formats.files import remove, sha256, sibling
from spade_pyserini.formats.vectors import (
    Shard,
    VectorManifest,
    VectorSettings,
    is_shard_name,
    manifest_path,
    remove_unfinished,
    shard_number,
    tokenizer_path,
)
from spade_pyserini.models import SpadeEncoder


def earlier_manifest(folder: Path, overwrite: bool, part: Part) -> VectorManifest | None:
    """What an earlier run left to go on with.

    With ``overwrite`` that is an unfinished encoding only: a finished one, or a damaged manifest,
    is to be replaced.
    """
    if part != WHOLE and manifest_path(folder).exists():
        message = f"{folder} is the whole of an encoding already"
        raise OutputExistsError(f"{message}; choose another --output, or leave --shard-id out")
    if not sibling(folder, part.manifest).exists():
        return None
    try:
        found = VectorManifest.load(folder, part.manifest)
    except SpadeError:
        if overwrite:
            return None
        raise
    return None if overwrite and found.complete else found


def start(
    folder: Path,
    settings: VectorSettings,
    model: SpadeEncoder,
    found: VectorManifest | None,
    overwrite: bool,
    part: Part,
) -> VectorManifest:
    """The manifest to go on with: the one that is there, or a new one."""
    if found and not overwrite:
        refuse_changed_settings(folder, found.settings, settings)
    if found and found.settings == settings:
        manifest = found
    else:
        _clear(folder, overwrite, part)
        manifest = VectorManifest(settings, model.config.trained)
    folder.mkdir(parents=True, exist_ok=True)
    remove_unfinished(folder, part.has)
    # Before the manifest: a folder with a manifest has its tokenizer.
    model.wordpieces.save(tokenizer_path(folder))
    manifest.save(folder, part.manifest)
    return manifest


def refuse_changed_settings(
    folder: Path,
    found: VectorSettings,
    asked: VectorSettings,
    unknown: dict[str, Any] | None = None,
) -> None:
    """Raise `OutputExistsError` with the difference; what is still ``unknown`` does not count."""
    old, new = asdict(found), asdict(asked)
    for name, value in (unknown or {}).items():
        if new[name] == value:
            del new[name]
    if shown := describe_differences(old, new):
        raise OutputExistsError(
            f"{folder} was encoded with other settings ({shown}); "
            "choose another --output, or pass --overwrite"
        )


def _clear(folder: Path, overwrite: bool, part: Part) -> None:
    """Make room, but never remove what is not vectors of ours."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if strange := [name for name in names if not is_shard_name(name)]:
        message = f"{folder} holds {strange[0]}, which is not of our making"
        raise OutputExistsError(f"{message}; choose another --output")
    names = [name for name in names if part.has(shard_number(name))]
    if names and not overwrite and part == WHOLE and parts_of(folder):
        message = f"{folder} holds parts of an encoding; complete them and join them with --merge"
        raise OutputExistsError(f"{message}, or pass --overwrite")
    if names and not overwrite:
        message = f"{folder} exists already and has no manifest of ours"
        raise OutputExistsError(f"{message}; choose another --output, or pass --overwrite")
    for name in names:
        remove(folder / name)
    remove(sibling(folder, part.manifest))
    if part == WHOLE:
        remove_components(folder)
        for other in parts_of(folder):
            remove(sibling(folder, other.manifest))


def intact(folder: Path, shard: Shard, digest: str, overwrite: bool, components: bool) -> bool:
    """Whether a shard of an earlier run can stay; the documents must not have changed."""
    path = folder / shard.file
    if shard.input_sha256 != digest:
        refuse_changed_documents(path, overwrite)
        return False
    if not path.is_file() or sha256(path) != shard.sha256:
        return False
    return not components or components_intact(folder, shard)


def refuse_changed_documents(path: Path, overwrite: bool) -> None:
    if not overwrite:
        message = f"{path} was made from other documents than the corpus has now"
        raise ArtifactError(f"{message}; choose another --output, or pass --overwrite")
