"""``spade encode``: encode documents into impact vectors."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini.cli import arguments
from spade_pyserini.cli.flags import command_line, flag_names, with_flags
from spade_pyserini.errors import NotFoundError, UsageError
from spade_pyserini.formats.outputs import refuse_file
from spade_pyserini.formats.paths import location, model_title, safe_file_name

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus
    from spade_pyserini.formats.vector_manifest import VectorManifest

EXAMPLE = """spade encode --corpus pydoc --output encode/pydoc.spade-mini
  spade encode --corpus my-corpus/ --processes 2 --estimate
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
        help="name or folder of a SpaDE model, SPLADE or another sparse encoder (default: "
        "spade-mini)",
    )
    add("--output", metavar="DIR", help="folder for the vectors (default: encode/CORPUS.MODEL)")
    add("--overwrite", action="store_true", help="replace an existing output")
    add(
        "--estimate",
        action="store_true",
        help="encode a sample of the documents and write nothing; print how long the encoding of "
        "all documents will take, and how large the vectors and the index will be",
    )
    add(
        "--components",
        action="store_true",
        help="also save the separate vectors of term weighting and expansion, for `spade sweep`",
    )
    add(
        "--counts",
        metavar="FILE",
        help="use the document frequencies of an existing encoding (OTHER.counts.json), so that "
        "the new vectors can be added to the index of that encoding",
    )
    add(
        "--max-errors",
        type=arguments.integer(0, 10**9),
        default=0,
        metavar="N",
        help="skip up to N invalid documents and list them in OUTPUT.errors.txt",
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
    add(
        "--alpha",
        type=float,
        metavar="A",
        help="weight of term expansion (default: the model's value)",
    )
    add(
        "--k",
        type=arguments.positive,
        help="expansion terms per token (default: the model's value)",
    )
    add(
        "--max-length",
        type=arguments.positive,
        metavar="N",
        help="maximum number of WordPieces read from a document (default: the model's value)",
    )
    add(
        "--prune-ratio",
        type=float,
        metavar="R",
        help="drop terms below R times the largest weight of their document (default: the model's "
        "value)",
    )
    gamma = group.add_mutually_exclusive_group()
    gamma.add_argument(
        "--corpus-gamma",
        type=float,
        metavar="G",
        help="remove expansion terms that the model would add to more than the share G of the "
        "documents, although few of the texts contain them (default: the model's value)",
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
        help="the model that will encode queries, or boolean for terms without weights (default: "
        "as --model specifies); the manifest of the vectors records this choice",
    )
    add(
        "--keep-query-weights",
        action="store_true",
        help="write the model's table of query term weights, such as idf, to a file next to the "
        "vectors; by default, the document vectors are multiplied by these weights",
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
    add(
        "--ray",
        metavar="ADDRESS",
        help="use a Ray cluster: its address, auto for the running cluster, or local to start Ray "
        "on this machine",
    )
    add(
        "--shard-id",
        type=int,
        metavar="I",
        help="encode only part I of --shard-num parts, which are numbered from 0",
    )
    add("--shard-num", type=arguments.positive, metavar="N", help="total number of parts")
    add("--merge", action="store_true", help="merge the parts that were encoded with --shard-id")


def run(options: argparse.Namespace) -> None:
    """Encode the corpus, or merge its parts, and print the folder of vectors."""
    _check(options)

    from spade_pyserini.models.hub import DEFAULT
    from spade_pyserini.models.systems.recognise import check_model

    only_merge = options.merge and options.output
    # Check names before loading torch, which takes seconds.
    corpus = None if only_merge else arguments.open_transformed(options)
    name = options.model or DEFAULT
    if not options.merge:
        check_model(name)
        if options.query_encoder not in (None, "boolean"):
            check_model(options.query_encoder)
    if options.counts and not location(options.counts).is_file():
        raise NotFoundError(
            f"{options.counts}: no such file; give the .counts.json next to the vectors"
        )

    from spade_pyserini.encode import EncodeOptions, Part, encode_corpus, merge_parts
    from spade_pyserini.encode.estimate import estimate_encoding, show_estimate
    from spade_pyserini.models.hub import local_folder
    from spade_pyserini.models.systems.loading import load_encoder

    if corpus is None:
        merge_parts(options.output)
        print(options.output)
        return
    model_name = safe_file_name(model_title(name))
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
    if not options.ray:  # the workers of a Ray cluster check the precision on their own devices
        encoder.check_precision()
    if not encoder.config.trained:
        logger.warning("%s is untrained: its rankings are not meaningful", name)
    copied = "shard_size batch_tokens overwrite components processes ray max_errors progress counts"
    values = {key: getattr(options, key) for key in copied.split()}
    folder = local_folder(name)
    settings = EncodeOptions(model_name=model_name, model_folder=folder, part=part, **values)
    if options.estimate:
        shown = show_estimate(estimate_encoding(corpus, encoder, settings), settings)
        print(with_flags(shown, flag_names(parser())))
        return
    manifest = encode_corpus(corpus, encoder, output, settings)
    _advise_passages(options, corpus, manifest, location(output))
    print(output)


def _advise_passages(
    options: argparse.Namespace, corpus: Corpus, manifest: VectorManifest, output: Path
) -> None:
    """If documents were cut, log the command that encodes them as shorter passages.

    ``--expansions`` and ``--pool`` name ids of the documents, so they do not fit the passages.
    """
    from spade_pyserini.encode.summary import shorter_segment

    segment = shorter_segment(corpus.segment)
    if not manifest.lengths.longer or options.expansions or options.pool:
        return
    passages = f"passages-{segment.partition(':')[0]}" if corpus.segment else "passages"
    name = f"{corpus.name}-{passages}.{manifest.settings.model}"
    changes = {"segment": segment, "output": output.parent / name, "overwrite": False}
    logger.info("to encode such passages: %s", command_line(parser(), options, changes))


def _check(options: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    if not options.corpus and not (options.merge and options.output):
        raise UsageError("give --corpus NAME|PATH; only --merge with --output works without it")
    if options.output and not options.merge:
        refuse_file(location(options.output))
    if options.estimate and (options.merge or options.ray):
        raise UsageError(
            "--estimate measures this machine; leave out --merge and --ray. For N machines like "
            "this one, give --shard-id 0 --shard-num N"
        )
    if options.ray and options.processes > 1:
        raise UsageError("--ray starts its own workers; leave out --processes")
