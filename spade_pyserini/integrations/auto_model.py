"""SpaDE models as classes of transformers, so that sentence-transformers can load them.

Importing this module registers the model type ``spade`` with transformers. A saved model can then
be loaded without ``trust_remote_code``: its folder has settings, weights and a tokenizer, and all
code is in this package.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from tokenizers import Tokenizer
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from spade_pyserini.errors import UsageError
from spade_pyserini.formats.atomic import atomic_write
from spade_pyserini.models.config import MODEL_TYPE
from spade_pyserini.models.encoder import SpadeEncoder
from spade_pyserini.models.hub import download
from spade_pyserini.models.spade import SpadeModel
from spade_pyserini.models.wordpieces import WordPieces

OUTPUT = "sentence_embedding"
DOWNLOAD_OPTIONS = ("revision", "token", "cache_dir", "local_files_only")
NAMES = {f"{name.lower()}_token": f"[{name}]" for name in ("PAD", "UNK", "CLS", "SEP", "MASK")}


class SpadeAutoConfig(PretrainedConfig):  # type: ignore[no-untyped-call]
    """The configuration class for transformers. `SpadeModel` itself reads the model's settings.

    hidden_size: the size of the vocabulary, which is the size of the vectors.
    """

    model_type = MODEL_TYPE

    def __init__(self, hidden_size: int = 0, **settings: Any) -> None:
        super().__init__()
        self.name_or_path = str(settings.get("name_or_path", ""))
        self.hidden_size = hidden_size


class SpadeAutoModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """A SpaDE model for transformers; maps the WordPiece ids of documents to vectors."""

    config_class = SpadeAutoConfig

    def __init__(self, config: SpadeAutoConfig, encoder: SpadeEncoder) -> None:
        config.hidden_size = len(encoder.model.kept)
        super().__init__(config)
        self.spade = encoder.model
        self.encoder = encoder

    @classmethod
    def from_pretrained(  # type: ignore[override]
        cls,
        name: str,
        *_: Any,
        config: SpadeAutoConfig,
        subfolder: str = "",
        encoder: SpadeEncoder | None = None,
        **options: Any,
    ) -> Self:
        """Load a model from a folder or the hub; if ``encoder`` is given, use it instead."""
        if encoder is None:
            chosen = {key: options[key] for key in DOWNLOAD_OPTIONS if options.get(key)}
            folder = Path(name) if Path(name).is_dir() else download(name, **chosen)
            encoder = SpadeEncoder(SpadeModel.from_pretrained(folder / subfolder))
        model = cls(config, encoder)
        model.train(False)
        return model

    def forward(self, input_ids: Tensor, attention_mask: Tensor, **_: Any) -> dict[str, Tensor]:
        """Return the vectors of documents, [batch, |V|], before quantization."""
        rows = zip(input_ids, attention_mask, strict=True)
        batch = [ids[mask.bool()].tolist() for ids, mask in rows]
        # The weights may have been moved to another device since the last call.
        encoder = self.encoder.for_corpus(self.encoder.counts, self.encoder.removed)
        return {OUTPUT: encoder.weigh(batch)}

    def save_pretrained(self, folder: str | Path, **_: Any) -> None:  # type: ignore[override]
        """Write the SpaDE model with the digests of its files; `SpadeModel` can load it, too."""
        if self.encoder.counts is not None:
            message = "an encoder with the counts of a corpus cannot be saved"
            raise UsageError(f"{message}; save one that was made without counts=FILE")
        if not isinstance(self.spade, SpadeModel):
            kind = type(self.spade).__name__
            raise UsageError(
                f"save_pretrained writes SpaDE models only, not a model of type {kind}; "
                "load the model with SpadeModel.from_pretrained"
            )
        self.spade.save_pretrained(folder)


class SpadeTokenizer(PreTrainedTokenizerFast):
    """The tokenizer of a SpaDE model for transformers."""

    @classmethod
    def of(cls, wordpieces: WordPieces, max_length: int) -> Self:
        """Return the tokenizer of a model."""
        names = {key: token for key, token in NAMES.items() if token in wordpieces.special_tokens}
        return cls(
            tokenizer_object=Tokenizer.from_str(wordpieces.definition),
            model_max_length=max_length,
            **names,
        )

    def save_pretrained(  # type: ignore[override]
        self, save_directory: str | Path, **options: Any
    ) -> tuple[str, ...]:
        """Write the tokenizer files of transformers; an existing ``tokenizer.json`` is kept.

        `SpadeModel` has written ``tokenizer.json`` and its digest, so that file must not change.
        """
        path = Path(save_directory, "tokenizer.json")
        before = path.read_bytes() if path.exists() else None
        written = super().save_pretrained(str(save_directory), **options)
        if before is not None:
            with atomic_write(path) as stream:
                stream.write(before)
        return tuple(written)


AutoConfig.register(MODEL_TYPE, SpadeAutoConfig)
AutoModel.register(SpadeAutoConfig, SpadeAutoModel)
AutoTokenizer.register(  # type: ignore[no-untyped-call]
    SpadeAutoConfig, tokenizer_class=SpadeTokenizer
)
