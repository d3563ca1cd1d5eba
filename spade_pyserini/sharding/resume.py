"""Decide whether a job continues or replaces the output of an earlier run, or raises an error."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Generic

from spade_pyserini.errors import ArtifactError, OutputExistsError, SpadeError, describe_differences
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.outputs import refuse_file
from spade_pyserini.formats.paths import is_local, remove, sibling
from spade_pyserini.formats.private_names import temporary_of
from spade_pyserini.sharding.bad_documents import list_bad_documents
from spade_pyserini.sharding.part import ALL_SHARDS, MANIFEST, Part, parts_of, shard_number
from spade_pyserini.sharding.protocols import M, Settings, ShardFiles, ShardRecord


@dataclass(frozen=True)
class Output(Generic[M]):
    """The folder that a job writes, or one part of it.

    ``parameter`` is the name of the caller's parameter for the folder, for error messages.
    """

    folder: Path
    files: ShardFiles[M]
    part: Part = ALL_SHARDS
    overwrite: bool = False
    parameter: str = "output"

    @property
    def cure(self) -> str:
        """What the user can do about an existing output: the last part of an error message."""
        return f"choose another {self.parameter}, or pass overwrite=True to replace it"

    @contextmanager
    def locked(self) -> Iterator[set[str]]:
        """Lock the output; yield a set for messages about bad documents. It is saved on exit."""
        refuse_file(self.folder, self.parameter)  # report this before a lock file is written
        path = self.part.errors_path(self.folder)
        with lock(self.part.lock_path(self.folder)), list_bad_documents(path) as bad_documents:
            yield bad_documents

    @contextmanager
    def setup_lock(self) -> Iterator[None]:
        """Let one part at a time prepare its run; other parts wait, then use the prepared files."""
        if self.part == ALL_SHARDS:
            yield
        else:
            with lock(self.folder, wait=True):
                yield

    def load_earlier(self, *, keep_complete: bool = False) -> M | None:
        """Return the manifest of the earlier run that this run continues; None if there is none.

        With ``overwrite``, a damaged manifest is ignored. So is the manifest of a finished output,
        unless ``keep_complete``.
        """
        if self.part != ALL_SHARDS and sibling(self.folder, MANIFEST).exists():
            message = f"{self.folder} belongs to a run without parts, or its parts were merged"
            raise OutputExistsError(f"{message}; choose another {self.parameter}")
        if not sibling(self.folder, self.part.manifest).exists():
            return None
        try:
            manifest = self.files.load(self.folder, self.part.manifest)
        except SpadeError:
            if self.overwrite:
                return None
            raise
        replaced = self.overwrite and manifest.complete and not keep_complete
        return None if replaced else manifest

    def refuse_changed_settings(
        self, earlier: M | None, settings: Settings, undecided: Collection[str] = ()
    ) -> None:
        """Raise `OutputExistsError` if the earlier run had other settings, unless ``overwrite``.

        Settings named in ``undecided`` are not compared.
        """
        if earlier is None or self.overwrite:
            return
        compared = {
            name: value for name, value in asdict(settings).items() if name not in undecided
        }
        if shown := describe_differences(asdict(earlier.settings), compared):
            raise self.other_settings(shown)

    def other_settings(self, differences: str) -> OutputExistsError:
        """Return the error for an output whose settings have these ``differences``."""
        message = f"{self.folder} was made with other settings ({differences})"
        return OutputExistsError(f"{message}; {self.cure}")

    def start(self, settings: Settings, earlier: M | None) -> M:
        """Save and return a manifest: ``earlier`` if its settings are the same, else a new one."""
        self.refuse_changed_settings(earlier, settings)
        if earlier is not None and earlier.settings == settings:
            manifest = earlier
        else:
            self._clear()
            manifest = self.files.new_manifest(settings)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._remove_unfinished()
        self.files.write_common(self.folder)
        manifest.save(self.folder, self.part.manifest)
        return manifest

    def can_keep(self, shard: ShardRecord, input_sha256: str) -> bool:
        """Whether a shard of an earlier run is intact and was made from the same documents.

        Raises `ArtifactError` if the documents differ, unless ``overwrite``.
        """
        if shard.input_sha256 != input_sha256:
            self.refuse_changed_documents(shard)
            return False
        return self.files.is_intact(self.folder, shard)

    def refuse_changed_documents(self, shard: ShardRecord) -> None:
        """Raise `ArtifactError` for a shard made from other documents, unless ``overwrite``."""
        if not self.overwrite:
            message = f"{self.folder / shard.file} was made from other documents than the corpus"
            raise ArtifactError(f"{message} has now; {self.cure}")

    def remove_stale(self, shard: ShardRecord) -> None:
        """Remove a shard past the end of the corpus.

        Raises `ArtifactError` instead, unless ``overwrite``.
        """
        self.refuse_changed_documents(shard)
        self.files.remove(self.folder, [shard.file])

    def _clear(self) -> None:
        """Remove the shards and the manifest of this part.

        Raises `OutputExistsError` if the folder has files that are not shards or, without
        ``overwrite``, if it has shards.
        """
        refuse_file(self.folder, self.parameter)
        names = [path.name for path in self.folder.iterdir()] if self.folder.is_dir() else []
        for name in names:
            if not self.files.is_shard_name(name):
                message = f"{self.folder} contains {name}, which this command did not write"
                raise OutputExistsError(f"{message}; choose another {self.parameter}")
        names = [name for name in names if self.part.has(shard_number(name))]
        if names and not self.overwrite:
            if self.part == ALL_SHARDS and parts_of(self.folder):
                message = f"{self.folder} contains parts; finish them and join them with merge=True"
                raise OutputExistsError(f"{message}, or pass overwrite=True to replace them")
            message = f"{self.folder} exists already and has no manifest"
            raise OutputExistsError(f"{message}; {self.cure}")
        self.files.remove(self.folder, None if self.part == ALL_SHARDS else names)
        remove(sibling(self.folder, self.part.manifest))
        for part in parts_of(self.folder) if self.part == ALL_SHARDS else ():
            remove(sibling(self.folder, part.manifest))

    def _remove_unfinished(self) -> None:
        """Remove temporary files that a killed run of this part left next to the folder."""
        start = sibling(self.folder, "docs")
        pattern = re.compile(rf"{re.escape(start.name)}(\d{{4,}})\.[\w.]+")
        for path in start.parent.iterdir() if is_local(start) else ():
            match = pattern.fullmatch(temporary_of(path.name) or "")
            if match and self.part.has(int(match[1])):
                remove(path)
