"""``python -m spade_pyserini.jar.build``: compile our Java. Needs a JDK, which users do not."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from spade_pyserini.cli import command
from spade_pyserini.errors import NotFoundError, SpadeError
from spade_pyserini.formats.files import atomic_write
from spade_pyserini.lucene import jvm
from spade_pyserini.lucene.jar import DIGEST, JAR, SOURCES, sources_digest

MODULE = "spade_pyserini.jar.build"
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file knows


def main(arguments: list[str]) -> None:
    parser = command.parser(MODULE, "Compile our Java into spade.jar.", f"python -m {MODULE}")
    parser.parse_args(arguments)
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=str(Path(home, "bin")) if home else None)
    if javac is None:
        raise NotFoundError("no javac was found; set JAVA_HOME to a JDK 21 or later")
    with tempfile.TemporaryDirectory() as classes:
        command = [javac, "-Xlint:all,-classfile", "-Werror", "--release", str(jvm.MINIMUM)]
        command += ["-cp", str(jvm.anserini_jar()), "-d", classes]
        done = subprocess.run([*command, *map(str, sorted(SOURCES.glob("*.java")))], check=False)
        if done.returncode:
            raise SpadeError("the sources do not compile")
        with atomic_write(JAR) as stream, zipfile.ZipFile(stream, "w") as jar:
            jar.writestr(zipfile.ZipInfo(DIGEST, EPOCH), sources_digest())
            for path in sorted(Path(classes).rglob("*.class")):
                name = path.relative_to(classes).as_posix()
                entry = zipfile.ZipInfo(name, EPOCH)
                jar.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    print(JAR)


if __name__ == "__main__":
    command.run(main)
