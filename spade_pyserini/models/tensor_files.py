"""Read safetensors files, and write them atomically."""

from __future__ import annotations

import errno
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file, save_model
from torch import Tensor, nn

from spade_pyserini.errors import ArtifactError
from spade_pyserini.formats.atomic import atomic_path
from spade_pyserini.formats.digests import sha256


def write_tensors(path: Path, tensors: dict[str, Tensor] | nn.Module) -> str:
    """Write tensors, or all tensors of a module, to a file; return the SHA-256 of the file.

    Tensors that several layers of a module share are written once.
    """
    with atomic_path(path) as unfinished:
        try:
            if isinstance(tensors, nn.Module):
                save_model(tensors, str(unfinished))
            else:
                save_file(tensors, unfinished)
        except SafetensorError as error:
            # The library reports errors of the operating system as text: "... (os error 28)".
            if f"os error {errno.ENOSPC}" in str(error):
                raise OSError(errno.ENOSPC, "No space left on device", str(path)) from None
            raise OSError(errno.EIO, str(error).strip().splitlines()[0], str(path)) from None
        return sha256(unfinished)


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read all tensors of a file. Floating-point tensors are converted to 32 bits."""
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        message = f"{path}: the file is damaged or incomplete ({error})"
        raise ArtifactError(f"{message}; copy or download the model again") from None
    return {name: x.float() if x.is_floating_point() else x for name, x in tensors.items()}
