"""What an output folder holds already, and whether a run may go on with it or replace it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from spade_pyserini.components import are_whole, remove_components
from spade_pyserini.errors import ArtifactError, OutputExistsError, SpadeError, differences
from spade_pyserini.files import remove, sha256
from spade_pyserini.models import SpadeModel
from spade_pyserini.vectors import (
    Shard,
    VectorManifest,
    VectorSettings,
    is_shard_name,
    manifest_path,
    tokenizer_path,
)


def found_manifest(folder: Path, overwrite: bool) -> VectorManifest | None:
    """What an earlier run left to go on with.

    With ``overwrite`` that is an unfinished encoding only: a finished one, or a damaged manifest,
    is to be replaced.
    """
    if not manifest_path(folder).exists():
        return None
    try:
        found = VectorManifest.load(folder)
    except SpadeError:
        if overwrite:
            return None
        raise
    return None if overwrite and found.complete else found


def start(
    folder: Path,
    settings: VectorSettings,
    model: SpadeModel,
    found: VectorManifest | None,
    overwrite: bool,
) -> VectorManifest:
    """The manifest to go on with: the one that is there, or a new one."""
    if found and found.settings == settings:
        manifest = found
    elif found and not overwrite:
        shown = differences(asdict(found.settings), asdict(settings))
        raise OutputExistsError(
            f"{folder} was encoded with other settings ({shown}); "
            "choose another --output, or pass --overwrite"
        )
    else:
        _clear(folder, overwrite)
        manifest = VectorManifest(settings, model.config.trained)
    folder.mkdir(parents=True, exist_ok=True)
    # Before the manifest: a folder with a manifest has its tokenizer.
    model.wordpieces.save(tokenizer_path(folder))
    manifest.save(folder)
    return manifest


def _clear(folder: Path, overwrite: bool) -> None:
    """Make room, but never remove what is not vectors of ours."""
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if strange := [name for name in names if not is_shard_name(name)]:
        message = f"{folder} holds {strange[0]}, which is not of our making"
        raise OutputExistsError(f"{message}; choose another --output")
    if names and not overwrite:
        message = f"{folder} exists already and has no manifest of ours"
        raise OutputExistsError(f"{message}; choose another --output, or pass --overwrite")
    for name in names:
        remove(folder / name)
    remove(manifest_path(folder))
    remove_components(folder)


def intact(folder: Path, shard: Shard, digest: str, overwrite: bool, components: bool) -> bool:
    """Whether a shard of an earlier run can stay; the documents must not have changed."""
    path = folder / shard.file
    if shard.input_sha256 != digest:
        refuse_other_documents(path, overwrite)
        return False
    if not path.is_file() or sha256(path) != shard.sha256:
        return False
    return not components or are_whole(folder, shard)


def refuse_other_documents(path: Path, overwrite: bool) -> None:
    if not overwrite:
        message = f"{path} was made from other documents than the corpus has now"
        raise ArtifactError(f"{message}; choose another --output, or pass --overwrite")
