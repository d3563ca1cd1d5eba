"""Check the sizes in a model's configuration before memory is allocated for them.

A configuration of a few bytes can state any number of layers and any size of a matrix. The sizes
must fit the number of bytes of the files with the weights.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spade_pyserini.errors import InputError
from spade_pyserini.formats.json_files import read_json_file

CONFIG = "config.json"
MOST_BYTES = 1 << 24  # largest size of a config.json
MOST_LAYERS = 1000
LAYERS = re.compile(r"layers?$")
# Names such as hidden_size, dim, d_model, n_heads, num_layers, max_position_embeddings
SIZES = re.compile(r"size|dim$|rank$|position|embd|layers?$|heads?$|^d_|^n_")
MORE = "more weights than the model has; copy or download the model again"


def check_sizes(config: Mapping[str, Any], weights: int, path: Path) -> None:
    """Raise `InputError` if a size in a configuration is too large for the weights.

    weights: the number of bytes of the weights. path: the file of the configuration.
    """
    for name, value in _numbers(config):
        if LAYERS.search(name) and value > MOST_LAYERS:
            message = f"{name} is {value:,}, but models have at most {MOST_LAYERS:,} layers"
            raise InputError(f"{message}; copy or download the model again", path)
        if SIZES.search(name) and value > weights:
            raise InputError(f"{name} is {value:,}, which needs {MORE}", path)


def check_folder(folder: Path, suffix: str) -> None:
    """Check every ``config.json`` in the folder of a model and in its subfolders.

    suffix: the end of the names of the files with the weights.
    """
    files = [*folder.glob(f"*{suffix}"), *folder.glob(f"*/*{suffix}")]
    weights = sum(path.stat().st_size for path in files)
    if not weights:
        return  # the folder has only a tokenizer, or weights in a format that is refused later
    for path in (folder / CONFIG, *folder.glob(f"*/{CONFIG}")):
        if path.is_file():
            check_sizes(read_json_file(path, MOST_BYTES), weights, path)


def _numbers(config: Mapping[str, Any]) -> Iterator[tuple[str, int | float]]:
    """Yield the names and values of all numbers in a configuration and in its nested mappings."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield name, value
