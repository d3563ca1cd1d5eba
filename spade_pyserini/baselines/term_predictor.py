"""Predict terms for texts with TILDE, to expand documents for TILDEv2."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.baselines.query_generator import Sampling


class TermPredictor:
    """Predicts terms for texts with a TILDE model. It has the interface of `QueryGenerator`.

    The model predicts the ``sampling.per_doc`` likeliest terms of a text; terms that the text
    contains are then left out. The result does not depend on a seed.
    """

    def __init__(self, name: str, sampling: Sampling) -> None:
        import torch

        from spade_pyserini.models.systems.encoder import SystemEncoder
        from spade_pyserini.models.systems.loading import load_encoder
        from spade_pyserini.models.systems.tilde import Tilde

        self.sampling = sampling
        device = "cuda" if torch.cuda.is_available() else "cpu"
        encoder = load_encoder(name, device=device)
        assert isinstance(encoder, SystemEncoder) and isinstance(encoder.model, Tilde)
        self._tilde = encoder.model
        self._length = min(sampling.max_length, encoder.longest)

    @property
    def fingerprint(self) -> str:
        """Digest of the weights."""
        from spade_pyserini.models.fingerprint import weights_fingerprint

        return weights_fingerprint(self._tilde)

    def generate(self, texts: list[str], seed: int) -> list[list[str]]:
        """Return the new terms of each text, the likeliest first. An empty text has none."""
        terms: list[list[str]] = [[] for _ in texts]
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        order = [index for index in order if texts[index]]
        size, count = self.sampling.batch_size, self.sampling.per_doc
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            predicted = self._tilde.predict([texts[x] for x in batch], count, self._length)
            for index, own in zip(batch, predicted, strict=True):
                terms[index] = own
        return terms


def is_tilde(name: str) -> bool:
    """Return whether ``name`` is the folder of a TILDE model. Does not load torch."""
    from spade_pyserini.models.systems.checkpoint import CONFIG, Checkpoint
    from spade_pyserini.models.systems.recognise import has_layout_of_tilde

    return (Path(name) / CONFIG).is_file() and has_layout_of_tilde(Checkpoint(Path(name)))
