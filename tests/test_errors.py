"""Error messages that list changed settings."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import describe_differences
from tests.commands import Commands


def test_digests_are_last_and_short() -> None:
    old = {"model": "a", "model_fingerprint": "0" * 64, "counts_sha256": None, "k": 10}
    new = {"model": "b", "model_fingerprint": "1" * 64, "counts_sha256": "2" * 64, "k": 20}
    assert describe_differences(old, new) == (
        "model a, now b; k 10, now 20; model_fingerprint 00000000, now 11111111; "
        "counts_sha256 None, now 22222222"
    )


def test_changed_settings_of_an_encoding(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    flags = ("--corpus", tiny_corpus, "--model", tiny_model_folder, "--output", tmp_path / "x")
    assert run("encode", *flags).code == 0
    changed = run("encode", *flags, "--k", 2)
    assert changed.code == 1
    assert "was made with other settings (k 3, now 2" in changed.err
