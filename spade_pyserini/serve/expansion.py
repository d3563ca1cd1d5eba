"""Expand a text with a model. The model is loaded when it is needed for the first time."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.errors import SpadeError
from spade_pyserini.serve.limits import RefusedError
from spade_pyserini.serve.records import ExpandAnswer, ExpandedTerm

if TYPE_CHECKING:
    from spade_pyserini.models import SpadeEncoder

PATIENCE = 4.0  # seconds that a request waits for the model

logger = logging.getLogger(__name__)


class Expander:
    """Expands texts with a model, given by its name or folder.

    ``counts`` is the file with the document frequencies of the corpus, which some models need.

    The model is loaded in a background thread, so that no request waits long for the model.
    """

    def __init__(self, model: str, counts: Path | None = None) -> None:
        self.model, self._counts = model, counts
        self._encoder: SpadeEncoder | None = None
        self._problem: str | None = None
        self._lock, self._started = threading.Lock(), False
        self._done = threading.Event()

    def expand(self, text: str) -> ExpandAnswer:
        """Return the terms of a text; raise `RefusedError` if the model is not ready yet."""
        encoder = self._ready()
        from spade_pyserini.serve.documents import text_pieces

        start = time.perf_counter()
        terms = encoder.explain(text)
        (cut,) = encoder.wordpieces.cut_documents([text], encoder.config.max_length)
        milliseconds = round(1000 * (time.perf_counter() - start), 1)
        own = {term.term: term.impact for term in terms if term.in_document}
        described = [
            ExpandedTerm(
                term.term,
                term.in_document,
                round(term.weighting, 1),
                round(term.expansion, 1),
                term.impact,
            )
            for term in terms
        ]
        pieces = text_pieces(text, own, encoder.wordpieces)
        return ExpandAnswer(self.model, milliseconds, cut.left_out, pieces, described)

    def _ready(self) -> SpadeEncoder:
        with self._lock:
            if not self._started:
                self._started = True
                threading.Thread(target=self._load, name="model", daemon=True).start()
        self._done.wait(PATIENCE)
        if self._problem:
            raise RefusedError(503, f"the model {self.model} cannot be used: {self._problem}")
        if self._encoder is None:
            raise RefusedError(503, f"the model {self.model} is being loaded; try again", 1)
        return self._encoder

    def _load(self) -> None:
        try:
            from spade_pyserini.encode.counts_file import fit_encoder
            from spade_pyserini.models import SpadeEncoder

            encoder = SpadeEncoder.from_pretrained(self.model)
            if encoder.needs_counts and self._counts is not None:
                encoder = fit_encoder(encoder, self._counts)
            self._encoder = encoder
        except (SpadeError, OSError) as error:
            self._problem = str(error)
        except Exception as error:
            logger.exception("the model could not be loaded")
            self._problem = type(error).__name__
        finally:
            self._done.set()
