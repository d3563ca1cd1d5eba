"""What is here, what is wrong, and the cure."""

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

LEAST_DISK = 1_000_000_000


class Finding(NamedTuple):
    """One line of the report; ``cure`` is None where all is well."""

    what: str
    found: str
    cure: str | None = None


def examine() -> list[Finding]:
    """Look at everything the road needs."""
    return [_safely(what, look) for what, look in CHECKS.items()]


def _safely(what: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except SpadeError as error:
        return Finding(what, "not usable", str(error))
    except Exception as error:
        # A broken installation may raise anything; the doctor reports it and goes on.
        return Finding(what, f"broken: {type(error).__name__}: {error}", "install it again")


def _python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}"
    too_old = sys.version_info < (3, 11)
    return Finding("Python", found, "use Python 3.11 or later" if too_old else None)


def _java() -> Finding:
    found = jvm.start()
    return Finding("Java", f"{found.version} from {found.source} at {found.home}")


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
    found = f"tokenizers {_installed('tokenizers')}, {wordpieces.vocabulary_size} WordPieces"
    return Finding("tokenizer", found)


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    cure = "free some space" if free < LEAST_DISK else None
    return Finding("disk", f"{free / 1e9:.1f} GB free here", cure)


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
