"""Temporary: the old home of these functions, until all imports name the new modules."""

from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.formats.digests import non_default_fields as chosen
from spade_pyserini.formats.digests import sha256
from spade_pyserini.formats.json_files import read_json_file, read_json_object, write_json
from spade_pyserini.formats.lines import open_binary, read_lines, write_lines
from spade_pyserini.formats.locks import lock
from spade_pyserini.formats.outputs import check_writable, refuse_existing
from spade_pyserini.formats.paths import (
    folder_bytes,
    is_local,
    location,
    remove,
    safe_file_name,
    sibling,
)
from spade_pyserini.formats.sealed_json import read_sealed, write_sealed
from spade_pyserini.formats.unicode import is_valid_unicode

__all__ = [
    "atomic_write",
    "check_writable",
    "chosen",
    "folder_bytes",
    "is_local",
    "is_valid_unicode",
    "location",
    "lock",
    "open_binary",
    "read_json_file",
    "read_json_object",
    "read_lines",
    "read_sealed",
    "refuse_existing",
    "remove",
    "safe_file_name",
    "sha256",
    "sibling",
    "write_json",
    "write_lines",
    "write_sealed",
]
