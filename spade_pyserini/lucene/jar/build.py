"""Compile the Java sources into ``spade.jar``: ``python -m spade_pyserini.lucene.jar.build``.

Needs a JDK 21 or later, at ``JAVA_HOME`` or on the path. Users of the package do not need one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from spade_pyserini.errors import NotFoundError, SpadeError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.lucene.jar import DIGEST, JAR, SOURCES, sources_digest
from spade_pyserini.lucene.runtime import MINIMUM, anserini_jar

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time stamp that a zip file can store


def build_jar() -> Path:
    """Compile all sources, write the jar, and return its path.

    The same sources and compiler give the same bytes.
    """
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=str(Path(home, "bin")) if home else None)
    if javac is None:
        raise NotFoundError("no javac was found; install a JDK 21 or later and set JAVA_HOME to it")
    with tempfile.TemporaryDirectory() as classes:
        command = [javac, "-Xlint:all,-classfile", "-Werror", "--release", str(MINIMUM)]
        command += ["-cp", str(anserini_jar()), "-d", classes]
        process = subprocess.run([*command, *map(str, sorted(SOURCES.glob("*.java")))], check=False)
        if process.returncode:
            raise SpadeError("the Java sources do not compile; see the messages of javac above")
        with atomic_write(JAR) as stream, zipfile.ZipFile(stream, "w") as jar:
            jar.writestr(zipfile.ZipInfo(DIGEST, EPOCH), sources_digest())
            for path in sorted(Path(classes).rglob("*.class")):
                name = path.relative_to(classes).as_posix()
                entry = zipfile.ZipInfo(name, EPOCH)
                jar.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return JAR


if __name__ == "__main__":
    try:
        print(build_jar())
    except SpadeError as error:
        sys.exit(f"error: {error}")
