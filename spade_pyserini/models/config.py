"""The settings of a model, saved with it as ``config.json``."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from spade_pyserini.errors import InputError, NotFoundError, UsageError
from spade_pyserini.formats.files import read_json_file, write_json

FILE = "config.json"
MODEL_TYPE = "spade"


@dataclass(frozen=True)
class SpadeConfig:
    """What, beside the weights, decides a document's vector. The paper's symbols keep their names.

    alpha: share of the expansion encoder in the sum of both (Eq. 10).
    k: terms that the expansion encoder keeps for each token (Eq. 8).
    pooling: ``max`` (Eq. 6) or ``first``, the authors' released setting, for a repeated token.
    max_length: WordPieces of a document that are read, [CLS] and [SEP] included.
    bits: size of a quantized impact; 8 bits are impacts of 1 to 255.
    scale: impacts per unit of weight; None until it is calibrated.
    shared_backbone: both encoders stand on one transformer (untrained models only).
    trained: False while the heads are as they were initialised.
    adapter_rank: above 0, what is kept is low-rank adapters of this rank on a frozen ``base``.
    adapter_layers: the last layers of the backbone that have adapters, 0 for all.
    decoder_rank: above 0, the output weights of the masked-LM head differ from the embeddings by
        a matrix of this rank.
    corpus_idf: above 0, a document's weights are multiplied by this power of the terms' idf in the
        corpus it belongs to, see `SpadeModel.read_corpus`.
    saturate: the weights of a document become log(1 + weight), so that no single term decides.
    forms: above 0, a document has the other forms of its words, too, at this share of their weight.
    base: name or folder of that backbone; base_fingerprint: of its weights.
    backbone: the transformer's own configuration, Hugging Face's.
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
    base: str | None = None
    base_fingerprint: str | None = None
    backbone: dict[str, Any] | None = None
    model_type: str = MODEL_TYPE

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"alpha is a share from 0 to 1, not {self.alpha}")
        if self.k < 1:
            raise UsageError(f"k is 1 or more terms per token, not {self.k}")
        if self.pooling not in ("max", "first"):
            raise UsageError(f"pooling is max or first, not {self.pooling}")
        if self.max_length < 3:
            raise UsageError(f"max_length must leave room for a term, not {self.max_length}")
        if self.adapter_rank < 0 or (self.adapter_rank and self.shared_backbone):
            raise UsageError(f"adapter_rank is 0 or more, and 0 when shared: {self.adapter_rank}")
        layers = (self.backbone or {}).get("num_hidden_layers", math.inf)
        if not 0 <= self.adapter_layers <= layers:
            raise UsageError(f"adapter_layers is from 0 to {layers}, not {self.adapter_layers}")
        if self.decoder_rank < 0:
            raise UsageError(f"decoder_rank is 0 or more, not {self.decoder_rank}")
        if not 0 <= self.corpus_idf <= 1:
            raise UsageError(f"corpus_idf is a power from 0 to 1, not {self.corpus_idf}")
        if not 0 <= self.forms <= 1:
            raise UsageError(f"forms is a share from 0 to 1, not {self.forms}")
        if not 1 <= self.bits <= 16:
            raise UsageError(f"bits is from 1 to 16, not {self.bits}")
        if self.scale is not None and not 0 < self.scale < float("inf"):
            raise UsageError(f"scale is a positive number, not {self.scale}")

    def check_length(self) -> None:
        """Raise `UsageError` if ``max_length`` is more than the backbone can read."""
        positions = (self.backbone or {}).get("max_position_embeddings", math.inf)
        if self.max_length > positions:
            raise UsageError(
                f"max_length is {self.max_length}, but the backbone reads at most {positions} "
                "WordPieces"
            )

    def save(self, folder: Path) -> None:
        """Write ``config.json``."""
        write_json(folder / FILE, asdict(self))

    @classmethod
    def load(cls, folder: Path) -> SpadeConfig:
        """Read ``config.json``; a setting that this version does not know is an error."""
        path = folder / FILE
        if not path.is_file():
            raise NotFoundError(f"{path}: no such file; a model folder has one")
        values = read_json_file(path)
        if values.get("model_type") != MODEL_TYPE:
            found = json.dumps(values.get("model_type"))
            raise InputError(f"a SpaDE model was expected, model_type is {found}", path)
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise InputError(f"unknown settings {', '.join(unknown)}", path)
        for name, hint in get_type_hints(cls).items():
            kinds = tuple(get_origin(kind) or kind for kind in get_args(hint)) or (hint,)
            allowed = (*kinds, int) if float in kinds else kinds
            value = values.get(name, getattr(cls, name))
            if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in kinds):
                raise InputError(f"{name} is {value!r}, which is not of the right kind", path)
        try:
            return cls(**values)
        except UsageError as error:
            raise InputError(str(error), path) from None
