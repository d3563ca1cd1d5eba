"""Log the exceptions that Java's threads print, instead of showing them in the terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from spade_pyserini.lucene import jvm

logger = logging.getLogger(__name__)


@contextmanager
def captured_stderr() -> Iterator[None]:
    """Log the text that Java prints to standard error in the ``with`` block, at level DEBUG.

    Lucene's merge threads print the stack trace of an exception that the caller gets anyway.
    """
    system = jvm.java_class("java.lang.System")
    buffer = jvm.java_class("java.io.ByteArrayOutputStream")()
    original = system.err
    system.setErr(jvm.java_class("java.io.PrintStream")(buffer, True))
    try:
        yield
    finally:
        system.setErr(original)
        if buffer.size():
            logger.debug("%s", buffer.toString())
