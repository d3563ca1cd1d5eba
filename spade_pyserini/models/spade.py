"""`SpadeModel`: the dual encoder with the loading, saving and encoding calls that users expect."""

from __future__ import annotations

from pathlib import Path
from typing import Self, overload

from spade_pyserini.models import persistence
from spade_pyserini.models.config import SpadeConfig
from spade_pyserini.models.dual_encoder import DualEncoder
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.explanation import Expansion


class SpadeModel(DualEncoder):
    """A SpaDE model.

        model = SpadeModel.from_pretrained("spade-mini")
        model.encode(["Recursively delete a directory tree."])   # [{"delete": 87, ...}]

    `DualEncoder` implements the equations, and `persistence` reads and writes the files. `encode`
    and `expand` call `SpadeEncoder`, which has more options: precision, device, and the document
    frequencies of a corpus.
    """

    @classmethod
    def from_backbone(
        cls, name: str | Path, config: SpadeConfig | None = None, seed: int = 0
    ) -> Self:
        """Build a model with untrained heads on a pre-trained transformer.

        ``name`` is a folder, a Hugging Face name or ``minilm``.
        """
        return persistence.build_model(cls, name, config, seed)

    @classmethod
    def from_pretrained(cls, name: str | Path, *, merge: bool = True) -> Self:
        """Load a model by its folder, its Hugging Face name, or the name of a shipped model.

        Adapters are merged into the weights. Pass ``merge=False`` to train them further.
        """
        return persistence.load_model(cls, name, merge=merge)

    def save_pretrained(self, folder: str | Path, *, half: bool = False) -> None:
        """Write ``config.json``, ``model.safetensors``, ``tokenizer.json`` and ``digests.json``.

        ``half`` stores the weights in 16 bits. ``README.md`` is written as a model card: the base
        model, the settings, where the model was loaded from, and the licence of that model.
        """
        persistence.save_model(self, Path(folder), half=half)

    def push_to_hub(
        self,
        name: str,
        *,
        private: bool | None = None,
        token: str | None = None,
        message: str = "Upload a SpaDE model",
        half: bool = False,
    ) -> str:
        """Upload the files of `save_pretrained` to the Hugging Face hub.

        ``name`` is the name of the repository, in the form OWNER/MODEL. Returns the address of the
        commit. ``SpadeModel.from_pretrained(name)`` loads the model. For a repository that
        ``SparseEncoder(name)`` loads as well, upload the encoder that
        `spade_pyserini.integrations.sentence_transformers.sparse_encoder` returns.
        """
        from spade_pyserini.models.upload import push_model

        return push_model(self, name, private=private, token=token, message=message, half=half)

    @overload
    def encode(self, texts: str, batch_size: int = 32) -> dict[str, int]: ...

    @overload
    def encode(self, texts: list[str], batch_size: int = 32) -> list[dict[str, int]]: ...

    def encode(
        self, texts: str | list[str], batch_size: int = 32
    ) -> dict[str, int] | list[dict[str, int]]:
        """Return the impacts of each text by term. See `SpadeEncoder.encode`."""
        return SpadeEncoder(self).encode(texts, batch_size)

    def expand(self, text: str) -> Expansion:
        """Return the terms of a text's vector, grouped by the effect of expansion.

        The groups are the terms that expansion added to the text, the terms whose impact expansion
        raised, and all other terms. For example::

            print(model.expand("Recursively delete a directory tree."))
        """
        return SpadeEncoder(self).expand(text)
