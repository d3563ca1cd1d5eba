"""Print the standard library's docstrings as JSON lines.

``spade_pyserini.corpora.pydoc`` runs this file in an isolated interpreter (``python -I -S``), where
importing a few hundred modules does not affect the caller, and site-packages are not visible. This
file therefore imports only the standard library.

    {"id": "shutil.rmtree", "title": "shutil.rmtree(path, ignore_errors=False, ...)", "text": "..."}

Modules:

- all modules in ``sys.stdlib_module_names`` and their submodules, except modules with a part of the
  name that starts with an underscore or is in ``EXCLUDED``;
- a module that this Python cannot import, for example because Python was built without it, is
  reported as missing.

Objects:

- the functions and classes in the module's ``__all__``; if there is no ``__all__``, the public
  functions and classes that the module defines itself;
- the public methods and properties that these classes define themselves.

If several modules export an object, the object is taken from only one of these modules, the first
in the order of `module_names`. An object without a docstring of its own is counted and skipped.
"""

from __future__ import annotations

import builtins
import importlib
import inspect
import json
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

EXCLUDED = {
    # They open a window, or need a terminal.
    *("tkinter", "turtle", "turtledemo", "idlelib", "curses", "readline", "rlcompleter"),
    # Importing them has side effects: one opens a browser, the other prints a poem.
    *("antigravity", "this"),
    # They exist only on some platforms.
    *("fcntl", "grp", "nis", "nt", "ntpath", "nturl2path", "posix", "posixpath", "pty", "pwd"),
    *("resource", "spwd", "syslog", "termios", "tty", "msvcrt", "winreg", "winsound"),
    *("gnu", "ndbm", "windows_events", "windows_utils", "unix_events", "popen_fork"),
    *("popen_forkserver", "popen_spawn_posix", "popen_spawn_win32", "msi", "msilib"),
    # Later versions of Python lack these modules (PEP 594 and others). Without them, all versions
    # of Python give similar documents.
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils"),
    *("imghdr", "imp", "lib2to3", "mailcap", "nntplib", "ossaudiodev", "pipes", "smtpd"),
    *("sndhdr", "sunau", "telnetlib", "uu", "xdrlib"),
    # Not for users: tests, codec tables, internals of installers.
    *("test", "tests", "encodings", "pydoc_data", "ensurepip", "lib2to3", "xxlimited"),
    *("xxlimited_35", "xxsubtype", "sre_compile", "sre_constants", "sre_parse", "genericpath"),
}
NOT_IN_A_PACKAGE = ("os.path",)
PLAIN_DEFAULTS = (type(None), bool, int, float)


def module_names() -> Iterator[str]:
    """Yield the names of all candidate modules, sorted by number of parts, then alphabetically."""
    names = {name for name in sys.stdlib_module_names if _wanted(name)}
    for name in sorted(names):
        module = _load(name)
        for path in getattr(module, "__path__", []):
            infos = pkgutil.walk_packages([path], name + ".", onerror=lambda _: None)
            names.update(info.name for info in infos if _wanted(info.name))
    names.update(NOT_IN_A_PACKAGE)
    yield from sorted(names, key=lambda name: (name.count("."), name))


def _wanted(name: str) -> bool:
    return not any(part.startswith("_") or part in EXCLUDED for part in name.split("."))


def _load(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def public_members(module: ModuleType) -> list[tuple[str, Any]]:
    """Return the public functions, then the classes; each list is sorted, with aliases last."""
    exported = getattr(module, "__all__", None)
    if exported is None:
        own = {module.__name__, "_" + module.__name__}
        if module is builtins:
            own.add(open.__module__)  # `open` belongs to io or _io
        exported = [
            name
            for name, value in vars(module).items()
            if getattr(value, "__module__", None) in own
        ]
    names = sorted({name for name in exported if not name.startswith("_")})
    members = [(name, getattr(module, name, None)) for name in names]
    members.sort(key=lambda item: getattr(item[1], "__name__", None) != item[0])  # aliases last
    functions = [item for item in members if inspect.isroutine(item[1])]
    return functions + [item for item in members if inspect.isclass(item[1])]


def class_members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that ``cls`` defines itself, alphabetically."""
    for name, attribute in sorted(vars(cls).items()):
        wrapped = isinstance(attribute, staticmethod | classmethod)
        value = attribute.__func__ if wrapped else attribute
        inside = getattr(value, "__qualname__", "").startswith(cls.__qualname__ + ".")
        if not name.startswith("_") and (
            isinstance(value, property) or (inspect.isroutine(value) and inside)
        ):
            yield name, value


def signature(value: Any) -> str:
    """Return a signature such as ``(path, ignore_errors=False)``, without annotations.

    Defaults other than None, numbers and short strings become ``...``, because some of them differ
    between machines.
    """
    try:
        parameters = inspect.signature(value).parameters.values()
    except Exception:  # inspect fails on the signatures of some C functions
        return ""
    shown = [
        parameter.replace(annotation=parameter.empty, default=_plain(parameter.default))
        for parameter in parameters
        if parameter.name not in ("self", "cls")
    ]
    try:
        return str(inspect.Signature(shown))
    except ValueError:
        return ""


class _Ellipsis:
    def __repr__(self) -> str:
        return "..."


def _plain(default: Any) -> Any:
    if default is inspect.Parameter.empty or isinstance(default, PLAIN_DEFAULTS):
        return default
    if isinstance(default, str | bytes) and len(default) < 20:
        return default
    return _Ellipsis()


def documents() -> Iterator[dict[str, str]]:
    """Yield the id, title and text of each object that has a docstring.

    An object with several names is yielded only once.

    At the end, print the missing modules and the number of objects without a docstring to stderr.
    """
    seen: set[int] = set()
    missing: list[str] = []
    undocumented = 0

    def document(docid: str, value: Any) -> dict[str, str] | None:
        nonlocal undocumented
        identity = id(getattr(value, "__func__", value))
        if identity in seen:
            return None
        seen.add(identity)
        doc = getattr(value, "__doc__", None)
        if not isinstance(doc, str) or not doc.strip():
            undocumented += 1
            return None
        return {"id": docid, "title": docid + signature(value), "text": inspect.cleandoc(doc)}

    for name in module_names():
        module = _load(name)
        if module is None:
            missing.append(name)
            continue
        prefix = "" if name == "builtins" else name + "."
        for member, value in public_members(module):
            if entry := document(prefix + member, value):
                yield entry
            if inspect.isclass(value) and id(value) in seen:
                for method, function in class_members(value):
                    if entry := document(f"{prefix}{member}.{method}", function):
                        yield entry
    print(json.dumps({"missing": missing, "undocumented": undocumented}), file=sys.stderr)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for item in documents():
        print(json.dumps(item))
