"""``--overwrite`` replaces regular files only, not symbolic links, FIFOs and devices."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.commands import Commands

pytestmark = pytest.mark.java
COMMANDS = {
    "search": "search --index {index} --topics {topics} --overwrite --output {output}",
    "fuse": "fuse --run {run} {run} --overwrite --output {output}",
    "report": "report --qrels {qrels} --run {run} --overwrite --output {output}",
    "ciff": "export --index {index} --to ciff --overwrite --output {output}",
    "topics": "topics --topics {topics} --index {index} --overwrite --output {output}",
    "explain": "explain --text cat --model {model} --overwrite --html {output}",
    "dense": "dense --corpus {corpus} --topics {topics} --overwrite --output {output}",
    "expand": "expand --corpus {corpus} --model {model} --overwrite --output {output}",
}
ENDINGS = {"report": ".html", "topics": ".tsv", "explain": ".html", "expand": ".jsonl"}


def make_special(path: Path, kind: str, target: Path) -> None:
    target.write_text("keep")
    if kind == "link":
        path.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # the device of /dev/null
        except PermissionError:
            pytest.skip("needs the right to make a device")


@pytest.mark.parametrize("kind", ["link", "fifo", "device"])
@pytest.mark.parametrize("name", COMMANDS)
def test_only_regular_files_are_replaced(
    name: str,
    kind: str,
    tiny_index: Path,
    tiny_corpus: Path,
    tiny_model_folder: Path,
    tmp_path: Path,
    run: Commands,
) -> None:
    output, target = tmp_path / f"out{ENDINGS.get(name, '')}", tmp_path / "target"
    make_special(output, kind, target)
    paths = {
        "index": tiny_index,
        "corpus": tiny_corpus,
        "model": tiny_model_folder,
        "topics": tmp_path / "t.tsv",
        "qrels": tmp_path / "q.txt",
        "run": tmp_path / "r.txt",
    }
    paths["topics"].write_text("1\told cat\n")
    paths["qrels"].write_text("1 0 d1 1\n")
    paths["run"].write_text("1 Q0 d1 1 9 x\n")
    before, names = output.lstat(), sorted(tmp_path.iterdir())
    result = run(*(word.format(**paths, output=output) for word in COMMANDS[name].split()))
    assert result.code == 1, result.err
    expected = "is a symbolic link to" if kind == "link" else "is not a regular file but a device"
    assert expected in result.err and "Traceback" not in result.err
    after = output.lstat()
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    assert target.read_text() == "keep"
    assert sorted(tmp_path.iterdir()) == names
