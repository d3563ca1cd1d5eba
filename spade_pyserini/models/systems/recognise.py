"""Find out from the files of a model which system it belongs to. Does not load torch."""

from __future__ import annotations

from pathlib import Path

from spade_pyserini.errors import InputError
from spade_pyserini.models.config import MODEL_TYPE
from spade_pyserini.models.hub import UNTRAINED, resolve_model
from spade_pyserini.models.systems.checkpoint import CONFIG, Checkpoint
from spade_pyserini.models.systems.sparse_encoder_files import MODULES, read_sparse_encoder

SPADE, SPARSE_ENCODER = "spade", "sparse-encoder"
SPLADE, UNICOIL, TILDEV2 = "splade", "unicoil", "tildev2"
DEEPIMPACT, DEEPCT = "deepimpact", "deepct"
TILDE, SPARTERM = "tilde", "sparterm"
PROJECTION = "tok_proj.weight"  # the layer of uniCOIL and TILDEv2 that weighs tokens
KNOWN = """the known systems:
  SpaDE           config.json with model_type spade
  SparseEncoder   modules.json of sentence-transformers: Transformer and SpladePooling, or a Router
  SPLADE          a masked-LM model of transformers (architectures: ...ForMaskedLM); a model that
                  has idf.json, too, is a document encoder of OpenSearch
  uniCOIL         tok_proj.weight of one row (architectures: UniCoilEncoder)
  TILDEv2         tok_proj.weight of one row (architectures: TILDEv2)
  TILDE           architectures: BertLMHeadModel, without is_decoder
  SparTerm        architectures: SparTerm, as `spade train` saves it
  DeepImpact      tensors impact_score_encoder.*
  DeepCT          ...ForTokenClassification with one label"""


def recognise(folder: Path) -> str:
    """Return the system that the model in ``folder`` belongs to, a constant of this module.

    Raises `InputError` if the model belongs to no known system, or if it needs its own code.
    """
    if (folder / MODULES).is_file():
        read_sparse_encoder(folder)
        return SPARSE_ENCODER
    checkpoint = Checkpoint(folder)
    if checkpoint.config.get("model_type") == MODEL_TYPE:
        return SPADE
    if "auto_map" in checkpoint.config:
        message = "auto_map is set: the model needs code of its own, which is never run"
        raise InputError(f"{message}; use another model", folder / CONFIG)
    names, architecture = checkpoint.shapes, checkpoint.architecture
    if any(name.startswith("impact_score_encoder.") for name in names):
        return DEEPIMPACT
    if PROJECTION in names:
        return _token_weights(checkpoint)
    if architecture == "SparTerm":
        return SPARTERM
    if has_layout_of_tilde(checkpoint):
        return TILDE
    if architecture.endswith("ForMaskedLM"):
        return SPLADE
    if architecture.endswith("ForTokenClassification"):
        rows = names.get("classifier.weight", [0])[0]
        if rows == 1:
            return DEEPCT
        message = f"this is a token classifier with {rows} labels; DeepCT has one"
        raise InputError(f"{message}; {KNOWN}", folder)
    raise InputError(f"{_describe(architecture)}; {KNOWN}", folder)


def has_layout_of_tilde(checkpoint: Checkpoint) -> bool:
    """Return whether a model is a `BertLMHeadModel` without ``is_decoder``, as TILDE is saved."""
    decoder = checkpoint.config.get("is_decoder")
    return checkpoint.architecture == "BertLMHeadModel" and not decoder


def check_model(name: str | Path) -> None:
    """Raise `NotFoundError` if a model does not exist, `InputError` if its system is unknown."""
    if str(name) != UNTRAINED:
        recognise(resolve_model(name))


def _token_weights(checkpoint: Checkpoint) -> str:
    """Return `UNICOIL` or `TILDEV2`: the name of the architecture decides.

    The tensors of both systems have the same names and shapes.
    """
    rows = checkpoint.shapes[PROJECTION][0]
    if rows != 1:
        message = f"this is COIL, with {rows} dimensions for each token, which an impact index"
        raise InputError(
            f"{message} cannot store; use another model, such as uniCOIL",
            checkpoint.folder,
        )
    architecture = checkpoint.architecture.lower()
    if "tilde" in architecture:
        return TILDEV2
    if "coil" in architecture:
        return UNICOIL
    message = "uniCOIL and TILDEv2 have the same tensors: write UniCoilEncoder or TILDEv2 as"
    raise InputError(f"{message} `architectures` into config.json", checkpoint.folder / CONFIG)


def _describe(architecture: str) -> str:
    """Describe a model that gives no sparse vectors."""
    if not architecture:
        return "config.json does not say what the model is (no `architectures`)"
    if architecture.endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")):
        return f"{architecture} is a generative model, which gives no sparse vectors"
    if architecture.endswith("ForSequenceClassification"):
        return f"{architecture} is a classifier or a re-ranker, see `spade rerank`"
    return f"{architecture} is a transformer without a head for sparse vectors, or a dense model"
