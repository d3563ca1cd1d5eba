"""Checks of the installation: versions, Java, the backbone and its tokenizer, the disk."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import SpadeError
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.runtime import anserini_jar

LEAST_DISK = 1_000_000_000  # free disk space in bytes; the check fails below it


class Finding(NamedTuple):
    """The result of a check; ``cure`` says how to solve the problem, or is None if all is well."""

    what: str
    state: str
    cure: str | None = None


def examine() -> list[Finding]:
    """Run all checks."""
    return [_run(what, check) for what, check in CHECKS.items()]


def _run(what: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except SpadeError as error:
        return Finding(what, "not usable", str(error))
    except Exception as error:
        # A broken installation may raise any exception; the other checks still run.
        return Finding(what, f"broken: {type(error).__name__}: {error}", "reinstall it")


def _python() -> Finding:
    state = f"{platform.python_version()} at {sys.executable}"
    too_old = sys.version_info < (3, 11)
    return Finding("Python", state, "use Python 3.11 or later" if too_old else None)


def _java() -> Finding:
    java = jvm.start()
    return Finding("Java", f"{java.version} from {java.source} at {java.home}")


def _pyserini() -> Finding:
    return Finding("pyserini", _installed("pyserini"))


def _jar() -> Finding:
    jar = anserini_jar()
    jvm.java_class("io.anserini.search.SimpleImpactSearcher")
    return Finding("Anserini", jar.name)


def _torch() -> Finding:
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return Finding("torch", f"{torch.__version__}, {device}, {torch.get_num_threads()} threads")


def _transformers() -> Finding:
    return Finding("transformers", _installed("transformers"))


def _backbone() -> Finding:
    from spade_pyserini.models.minilm import minilm_folder

    return Finding("MiniLM", str(minilm_folder()))


def _tokenizer() -> Finding:
    from spade_pyserini.models.minilm import minilm_folder
    from spade_pyserini.models.wordpieces import WordPieces

    wordpieces = WordPieces.load(minilm_folder())
    state = f"tokenizers {_installed('tokenizers')}, {wordpieces.vocabulary_size} WordPieces"
    return Finding("tokenizer", state)


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    cure = "free some space" if free < LEAST_DISK else None
    return Finding("disk", f"{free / 1e9:.1f} GB free in the current folder", cure)


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise SpadeError(f"pip install {package}") from None


CHECKS: dict[str, Callable[[], Finding]] = {
    "Python": _python,
    "Java": _java,
    "pyserini": _pyserini,
    "Anserini": _jar,
    "torch": _torch,
    "transformers": _transformers,
    "MiniLM": _backbone,
    "tokenizer": _tokenizer,
    "disk": _disk,
}
