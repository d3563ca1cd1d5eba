"""The settings of a model, which are saved with it in ``config.json``."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from spade_pyserini.errors import InputError, NotFoundError, UsageError
from spade_pyserini.formats.json_files import read_json_file, write_json
from spade_pyserini.formats.numbers import is_finite

FILE = "config.json"
MODEL_TYPE = "spade"
MOST_BYTES = 1 << 20  # largest size of a config.json
# The sizes of BERT-base, which a BERT configuration may leave out
BERT_SIZES = {"hidden_size": 768, "num_hidden_layers": 12, "max_position_embeddings": 512}


@dataclass(frozen=True)
class SpadeConfig:
    """The settings of a model. Together with the weights, they determine document vectors.

    Settings of the paper, with the paper's symbols:

    alpha: weight of the expansion encoder in the aggregation (Eq. 10).
    k: terms that the expansion encoder keeps for each token (Eq. 8); 0 for all terms, as in SPLADE.
    pooling: ``max`` (Eq. 6), or ``first`` as in the authors' released code, where only the first
        of several equal tokens counts.
    max_length: WordPieces of a document that are read, including [CLS] and [SEP].
    bits: size of a quantized impact; 8 bits give impacts from 1 to 255.
    scale: impact of a weight of 1, or None before calibration.
    shared_backbone: True if both encoders use one transformer (untrained models only).
    trained: False if the heads are untrained.
    backbone: the configuration of the transformer, in the format of Hugging Face.

    Settings beyond the paper:

    adapter_rank: above 0, the model has low-rank adapters of this rank on a frozen ``base``.
    adapter_layers: number of last layers that have adapters, 0 for all layers.
    base: name or folder of the frozen transformer.
    base_fingerprint: digest of the weights of ``base``.
    decoder_rank: the output weights of the masked-LM head are the input embeddings. With a value
        above 0, a matrix of this rank is added to these output weights.
    corpus_idf: above 0, the weight of a term is multiplied by the term's idf in the corpus, raised
        to this power, see `extensions.corpus_weights`.
    saturate: weights become log(1 + weight), so that no single term dominates.
    forms: above 0, the other forms of a document's words (English words with the same stem) are
        added to its vector, with this fraction of the word's weight.
    whole_word_forms: only tokens that are a complete word pass on weight to the other forms. A
        WordPiece of a longer word does not: "call" in "call ##ous" gives no weight to "calls".
    prune_ratio: above 0, terms below this fraction of the document's largest weight are dropped,
        before quantization.
    corpus_gamma: above 0, a term is removed from the expansion vectors of a corpus if the expansion
        encoder would add it to more than this share of the documents, although few documents
        contain it, see `spade_pyserini.encode.corpus_pruning`. It has no effect on single texts.
    corpus_few: what "few documents" means for ``corpus_gamma``. Let e be the share of documents to
        which the encoder would add a term, and c the share of documents that contain it: the term
        is removed only if c is below ``corpus_few`` times e.
    """

    alpha: float = 0.5
    k: int = 5
    pooling: str = "max"
    max_length: int = 256
    bits: int = 8
    scale: float | None = None
    shared_backbone: bool = False
    trained: bool = False
    adapter_rank: int = 0
    adapter_layers: int = 0
    decoder_rank: int = 0
    corpus_idf: float = 0.0
    saturate: bool = False
    forms: float = 0.0
    whole_word_forms: bool = False
    prune_ratio: float = 0.0
    corpus_gamma: float = 0.0
    corpus_few: float = 0.2
    base: str | None = None
    base_fingerprint: str | None = None
    backbone: dict[str, Any] | None = None
    model_type: str = MODEL_TYPE

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"alpha must be a fraction from 0 to 1, not {self.alpha}")
        if self.k < 0:
            raise UsageError(f"k must be 1 or more terms per token, or 0 for all, not {self.k}")
        if self.pooling not in ("max", "first"):
            raise UsageError(f"pooling must be max or first, not {self.pooling}")
        if self.max_length < 3:
            raise UsageError(
                f"max_length must be 3 or more, for [CLS], a term and [SEP], not {self.max_length}"
            )
        if self.adapter_rank < 0 or (self.adapter_rank and self.shared_backbone):
            raise UsageError(
                f"adapter_rank is {self.adapter_rank}; it must be 0 or more, and 0 if "
                "shared_backbone is true"
            )
        layers = _number(self.backbone, "num_hidden_layers")
        if not 0 <= self.adapter_layers <= layers:
            raise UsageError(
                f"adapter_layers must be from 0 to {layers}, not {self.adapter_layers}"
            )
        if self.decoder_rank < 0:
            raise UsageError(f"decoder_rank must be 0 or more, not {self.decoder_rank}")
        width = _number(self.backbone, "hidden_size")
        for name in ("adapter_rank", "decoder_rank"):
            if getattr(self, name) > width:  # a larger rank only needs more memory
                raise UsageError(
                    f"{name} is {getattr(self, name)}; it must be at most {width}, the hidden "
                    "size of the backbone"
                )
        if not 0 <= self.corpus_idf <= 1:
            raise UsageError(f"corpus_idf must be a power from 0 to 1, not {self.corpus_idf}")
        if not 0 <= self.forms <= 1:
            raise UsageError(f"forms must be a fraction from 0 to 1, not {self.forms}")
        if not 0 <= self.prune_ratio < 1:
            raise UsageError(f"prune_ratio must be from 0 to below 1, not {self.prune_ratio}")
        for name in ("corpus_gamma", "corpus_few"):
            if not 0 <= getattr(self, name) <= 1:
                raise UsageError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if not 1 <= self.bits <= 16:
            raise UsageError(f"bits must be from 1 to 16, not {self.bits}")
        if self.scale is not None and not (is_finite(self.scale) and self.scale > 0):
            raise UsageError(f"scale must be a positive number, not {self.scale}")

    def check_length(self) -> None:
        """Raise `UsageError` if ``max_length`` is more than the backbone can read."""
        positions = _number(self.backbone, "max_position_embeddings")
        if self.max_length > positions:
            raise UsageError(
                f"max_length is {self.max_length}, but the backbone reads at most {positions} "
                "WordPieces"
            )

    def save(self, folder: Path) -> None:
        """Write ``config.json`` to ``folder``."""
        write_json(folder / FILE, asdict(self))

    @classmethod
    def load(cls, folder: Path) -> SpadeConfig:
        """Read ``config.json``. Unknown settings and wrong types are errors."""
        path = folder / FILE
        if not path.is_file():
            raise NotFoundError(f"{path}: no such file; a model folder must contain it")
        values = read_json_file(path, MOST_BYTES)
        if values.get("model_type") != MODEL_TYPE:
            model_type = json.dumps(values.get("model_type"))
            raise InputError(f"this is not a SpaDE model: its model_type is {model_type}", path)
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise InputError(
                f"unknown settings: {', '.join(unknown)}; update spade_pyserini, or remove them",
                path,
            )
        for name, hint in get_type_hints(cls).items():
            types = tuple(get_origin(part) or part for part in get_args(hint)) or (hint,)
            allowed = (*types, int) if float in types else types
            value = values.get(name, getattr(cls, name))
            if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in types):
                raise InputError(
                    f"{name} is {value!r}, which has the wrong type; `SpadeConfig` lists the types",
                    path,
                )
        try:
            return cls(**values)
        except UsageError as error:
            raise InputError(str(error), path) from None


def _number(backbone: dict[str, Any] | None, name: str) -> float:
    """Return a number from the configuration of a transformer; infinity if it is not known."""
    settings = backbone or {}
    usual = BERT_SIZES.get(name, math.inf) if settings.get("model_type") == "bert" else math.inf
    value = settings.get(name, usual)
    if not isinstance(value, int | float):
        raise UsageError(f"{name} of the backbone must be a number, not {value!r}")
    return value
