"""``spade encode``: encode documents into impact vectors."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from spade_pyserini.cli import arguments
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.outputs import refuse_file
from spade_pyserini.formats.paths import location, safe_file_name

EXAMPLE = """spade encode --corpus pydoc --output encode/pydoc.spade-mini
  spade encode --corpus my-corpus/ --processes 2
  spade encode --corpus my-products.csv --id-field sku --text-fields description brand"""
PRECISIONS = ("fp32", "bf16", "fp16")

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade encode``."""
    description = "Encode a corpus into impact vectors."
    parser = arguments.new_parser("encode", description, EXAMPLE)
    add = parser.add_argument
    arguments.add_corpus(parser)
    arguments.add_data_dir(parser)
    arguments.add_corpus_transforms(parser)
    add(
        "--model",
        metavar="NAME|PATH",
        help="model name or folder, of SpaDE or of another system (default: spade-mini)",
    )
    add("--output", metavar="DIR", help="folder for the vectors (default: encode/CORPUS.MODEL)")
    add("--overwrite", action="store_true", help="replace an existing output")
    add(
        "--components",
        action="store_true",
        help="also save both encoders' vectors, for `spade sweep`",
    )
    add(
        "--counts",
        metavar="FILE",
        help="use the document frequencies of other vectors (OTHER.counts.json), so that the new "
        "documents can be added to their index",
    )
    add(
        "--max-errors",
        type=arguments.integer(0, 10**9),
        default=0,
        metavar="N",
        help="skip up to N bad documents and list them in OUTPUT.errors.txt",
    )
    add(
        "--progress",
        choices=("bar", "json"),
        default="bar",
        help="a bar on terminals, or JSON lines on stderr",
    )
    _add_model_options(parser)
    _add_parallel_options(parser)
    return parser


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the model")
    add = group.add_argument
    add("--alpha", type=float, metavar="A", help="weight of term expansion (default: the model's)")
    add("--k", type=arguments.positive, help="expansion terms per token (default: the model's)")
    add(
        "--max-length",
        type=arguments.positive,
        metavar="N",
        help="maximum number of WordPieces read from a document (default: the model's)",
    )
    add(
        "--prune-ratio",
        type=float,
        metavar="R",
        help="drop terms below R times the largest weight of their document (default: the model's)",
    )
    gamma = group.add_mutually_exclusive_group()
    gamma.add_argument(
        "--corpus-gamma",
        type=float,
        metavar="G",
        help="remove expansion terms that the model would add to more than the share G of the "
        "documents, although few of the texts contain them (default: the model's)",
    )
    gamma.add_argument(
        "--no-corpus-pruning",
        action="store_true",
        help="keep all expansion terms; the same as --corpus-gamma 0",
    )
    add(
        "--batch-tokens",
        type=arguments.positive,
        default=2048,
        metavar="N",
        help="tokens per batch",
    )
    add(
        "--query-encoder",
        metavar="NAME|PATH|boolean",
        help="the model that will encode queries, or boolean (default: the model's own way); "
        "the manifest records it",
    )
    add(
        "--keep-query-weights",
        action="store_true",
        help="keep the table of query term weights of a model, such as idf, in a file next to the "
        "vectors; by default, document vectors are multiplied by it",
    )
    add("--device", default="cpu", help="torch device; cuda with --processes N uses N GPUs")
    add(
        "--precision",
        choices=PRECISIONS,
        default="fp32",
        help="fp16 needs a GPU; bf16 needs a GPU, or a CPU with AMX or AVX512-BF16",
    )


def _add_parallel_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("shards and workers").add_argument
    add(
        "--shard-size",
        type=arguments.positive,
        default=2000,
        metavar="N",
        help="documents per file",
    )
    add(
        "--processes",
        type=arguments.positive,
        default=1,
        metavar="N",
        help="worker processes on this machine",
    )
    add("--ray", metavar="ADDRESS", help="use a Ray cluster: its address, auto, or local")
    add(
        "--shard-id",
        type=int,
        metavar="I",
        help="encode part I of --shard-num parts; the first is 0",
    )
    add("--shard-num", type=arguments.positive, metavar="N", help="total number of parts")
    add("--merge", action="store_true", help="merge the parts of all --shard-id into the output")


def run(options: argparse.Namespace) -> None:
    """Encode the corpus, or merge its parts, and print the folder of vectors."""
    if not options.corpus and not (options.merge and options.output):
        raise UsageError("give --corpus NAME|PATH; only --merge with --output works without it")
    if options.model == "":
        raise UsageError("--model is empty; give the name or folder of a model, or leave it out")
    if options.output and not options.merge:
        refuse_file(location(options.output))
    if options.ray and options.processes > 1:
        raise UsageError("--ray starts its own workers; leave out --processes")

    from spade_pyserini.models.hub import DEFAULT
    from spade_pyserini.models.systems.recognise import check_model

    only_merge = options.merge and options.output
    # Mistakes in names are found before torch is loaded, which takes seconds.
    corpus = None if only_merge else arguments.open_transformed(options)
    name = options.model or DEFAULT
    if not options.merge:
        check_model(name)
        if options.query_encoder not in (None, "boolean"):
            check_model(options.query_encoder)
    if options.counts and not location(options.counts).is_file():
        raise NotFoundError(f"{options.counts}: no such file; --counts takes OTHER.counts.json")

    from spade_pyserini.encode import EncodeOptions, Part, encode_corpus, merge_parts
    from spade_pyserini.models.systems.loading import load_encoder

    if corpus is None:
        merge_parts(options.output)
        print(options.output)
        return
    model_name = safe_file_name(Path(name).name)
    output = options.output or Path("encode", f"{corpus.name}.{model_name}")
    part = Part.of(options.shard_id, options.shard_num)
    if options.merge:
        merge_parts(output)
        print(output)
        return
    encoder = load_encoder(
        name,
        device=options.device,
        query_encoder=options.query_encoder,
        fold=not options.keep_query_weights,
    )
    names = ("alpha", "k", "max_length", "prune_ratio", "corpus_gamma")
    changes = {key: getattr(options, key) for key in names}
    if options.no_corpus_pruning:
        changes["corpus_gamma"] = 0.0
    encoder = encoder.with_settings(
        **{key: value for key, value in changes.items() if value is not None}
    )
    encoder = encoder.unchecked_precision(options.precision)
    if not options.ray:  # the workers of a cluster check it on their own devices
        encoder.check_precision()
    if not encoder.config.trained:
        logger.warning("%s is untrained: its rankings are not meaningful", name)
    copied = "shard_size batch_tokens overwrite components processes ray max_errors progress counts"
    values = {key: getattr(options, key) for key in copied.split()}
    settings = EncodeOptions(model_name=model_name, part=part, **values)
    encode_corpus(corpus, encoder, output, settings)
    print(output)
