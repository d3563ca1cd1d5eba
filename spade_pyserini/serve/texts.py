"""Read the texts of the documents into memory, in a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping

from spade_pyserini.errors import SpadeError
from spade_pyserini.records import Document
from spade_pyserini.search.texts import Texts

PATIENCE = 2.0  # seconds that a request waits for the texts


class LoadedTexts:
    """Finds documents by id. No document is found until all texts are read, or if reading failed.

    ``open_texts`` returns the texts, or raises a `SpadeError`.
    """

    def __init__(self, open_texts: Callable[[], Texts]) -> None:
        self._open = open_texts
        self._texts: Texts | None = None
        self._done = threading.Event()
        self.problem: str | None = None
        threading.Thread(target=self._load, name="texts", daemon=True).start()

    def _load(self) -> None:
        try:
            texts = self._open()
            texts.find(())  # this call reads all documents
            self._texts = texts
        except (SpadeError, OSError) as error:
            self.problem = str(error)
        except Exception as error:  # a bug in a reader must not leave requests waiting
            self.problem = f"the texts could not be read ({type(error).__name__}: {error})"
        finally:
            self._done.set()

    @property
    def state(self) -> str:
        """Return the state of the texts: ``ready``, ``loading`` or ``missing``."""
        if self._texts is not None:
            return "ready"
        return "missing" if self._done.is_set() else "loading"

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the texts are read, but at most ``seconds``; return whether they are read."""
        self._done.wait(seconds)
        return self._texts is not None

    def find(self, docids: Collection[str]) -> Mapping[str, Document]:
        """Return the documents with these ids; ids without a text are left out."""
        return self._texts.find(docids) if self.wait(PATIENCE) and self._texts else {}
