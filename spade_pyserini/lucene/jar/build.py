"""Compile the Java sources into the jars: ``python -m spade_pyserini.lucene.jar.build [JAR ...]``.

Each JAR is a jar of Anserini, from the folder ``resources/jars`` of an installed pyserini. Its
version determines which jar of this package is written. The default is the jar of the pyserini in
this environment. After a change of the sources, all jars of this package must be written:

    make jar ANSERINI="anserini-1.7.1-fatjar.jar anserini-2.3.0-fatjar.jar"

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
from spade_pyserini.lucene.jar import DIGEST, jar_path, source_files, sources_digest
from spade_pyserini.lucene.runtime import MINIMUM, anserini_jar, lucene_version

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time stamp that a zip file can store


def build_jar(anserini: Path) -> Path:
    """Compile the sources for the Lucene in Anserini's jar; return the path of the written jar.

    The same sources and compiler give the same bytes.
    """
    lucene = lucene_version(anserini)
    if not anserini.is_file():
        raise NotFoundError(f"{anserini}: no such file")
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=str(Path(home, "bin")) if home else None)
    if javac is None:
        raise NotFoundError("no javac was found; install a JDK 21 or later and set JAVA_HOME to it")
    with tempfile.TemporaryDirectory() as classes:
        command = [javac, "-Xlint:all,-classfile", "-Werror", "--release", str(MINIMUM)]
        command += ["-cp", str(anserini), "-d", classes]
        process = subprocess.run([*command, *map(str, source_files(lucene))], check=False)
        if process.returncode:
            raise SpadeError("the Java sources do not compile; see the messages of javac above")
        _write_jar(Path(classes), jar_path(lucene), sources_digest(lucene))
    return jar_path(lucene)


def _write_jar(classes: Path, path: Path, digest: str) -> None:
    with atomic_write(path) as stream, zipfile.ZipFile(stream, "w") as jar:
        jar.writestr(zipfile.ZipInfo(DIGEST, EPOCH), digest)
        for file in sorted(classes.rglob("*.class")):
            entry = zipfile.ZipInfo(file.relative_to(classes).as_posix(), EPOCH)
            jar.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    try:
        for source in sys.argv[1:] or [str(anserini_jar())]:
            print(build_jar(Path(source)))
    except SpadeError as error:
        sys.exit(f"error: {error}")
