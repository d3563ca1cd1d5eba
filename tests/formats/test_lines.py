from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats import lines
from spade_pyserini.formats.lines import read_lines


def test_lines_are_numbered_and_ends_are_removed(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffone\r\ntwo\n\nfour".encode())
    assert list(read_lines(tmp_path / "a.txt")) == [(1, "one"), (2, "two"), (3, ""), (4, "four")]


def test_unicode_line_separators_do_not_split_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\u2028still one\x85\ntwo", encoding="utf-8")
    assert len(list(read_lines(tmp_path / "a.txt"))) == 2


def test_bytes_that_are_not_utf8_name_file_line_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nb\xe9d\n")
    with pytest.raises(InputError, match=r"a\.txt:2: byte 6 \(0xe9\) is not UTF-8"):
        list(read_lines(path))


def test_a_truncated_gz_is_an_error_not_a_short_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"line\n" * 10_000)[:-20])
    with pytest.raises(InputError, match="damaged or cut off"):
        list(read_lines(path))


def test_a_gz_file_that_is_not_compressed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(b"plain text")
    with pytest.raises(InputError, match="damaged or cut off"):
        list(read_lines(tmp_path / "a.gz"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        list(read_lines(tmp_path / "nowhere"))


def test_a_line_that_is_too_long_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small .gz file can contain a line of gigabytes."""
    monkeypatch.setattr(lines, "LONGEST_LINE", 1000)
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"short\n" + b"x" * 999 + b"\n" + b"x" * 5_000_000))
    read = lines.read_lines(path)
    assert [len(line) for _, line in (next(read), next(read))] == [5, 999]
    with pytest.raises(InputError, match=r"a\.jsonl\.gz:3: the line is longer than 1,000 bytes"):
        next(read)
