"""``spade encode``: encode documents into impact vectors."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path

from spade_pyserini.cli import arguments
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.files import safe_file_name

EXAMPLE = """spade encode --corpus pydoc --output encode/pydoc.spade-mini
  spade encode --corpus my-corpus/ --processes 2"""
PRECISIONS = ("fp32", "bf16", "fp16")

logger = logging.getLogger(__name__)


def parser() -> argparse.ArgumentParser:
    """Build the parser of ``spade encode``."""
    description = "Encode a corpus into impact vectors."
    parser = arguments.new_parser("encode", description, EXAMPLE)
    add = parser.add_argument
    add("--corpus", metavar="NAME|PATH", help=arguments.CORPUS_HELP)
    arguments.add_data_dir(parser)
    arguments.add_corpus_transforms(parser)
    add("--model", metavar="NAME|PATH", help="model name or folder (default: spade-mini)")
    add("--output", metavar="DIR", help="folder for the vectors (default: encode/CORPUS.MODEL)")
    add("--overwrite", action="store_true", help="replace an existing output")
    add("--components", action="store_true", help="also save both encoders' vectors, for sweep")
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
    add = parser.add_argument_group("the model").add_argument
    add("--alpha", type=float, metavar="A", help="weight of term expansion (default: the model's)")
    add("--k", type=arguments.positive, help="expansion terms per token (default: the model's)")
    add(
        "--max-length",
        type=arguments.positive,
        metavar="N",
        help="maximum number of WordPieces read from a document (default: the model's)",
    )
    add(
        "--batch-tokens",
        type=arguments.positive,
        default=2048,
        metavar="N",
        help="tokens per batch",
    )
    add("--device", default="cpu", help="torch device; cuda with --processes uses all GPUs")
    add("--precision", choices=PRECISIONS, default="fp32", help="bf16 and fp16 need a GPU")


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
    add("--shard-id", type=int, metavar="I", help="encode part I of --shard-num parts, from 0 on")
    add("--shard-num", type=arguments.positive, metavar="N", help="total number of parts")
    add("--merge", action="store_true", help="merge the parts of all --shard-id into the output")


def run(options: argparse.Namespace) -> None:
    """Encode the corpus, or merge its parts, and print the folder of vectors."""
    from spade_pyserini.encode import encode_corpus, merge_parts
    from spade_pyserini.encode.part import Part
    from spade_pyserini.models import SpadeModel
    from spade_pyserini.models.hub import DEFAULT

    if options.merge and options.output:
        merge_parts(options.output)
        print(options.output)
        return
    if not options.corpus:
        raise UsageError("give --corpus NAME|PATH; only --merge with --output works without it")
    corpus = arguments.open_transformed(options)
    name = options.model or DEFAULT
    model_name = safe_file_name(Path(name).name)
    output = options.output or Path("encode", f"{corpus.name}.{model_name}")
    if options.ray and options.processes > 1:
        raise UsageError("--ray starts its own workers; leave out --processes")
    part = Part.of_flags(options.shard_id, options.shard_num)
    if options.merge:
        merge_parts(output)
        print(output)
        return
    model = SpadeModel.from_pretrained(name)
    changes = {key: getattr(options, key) for key in ("alpha", "k", "max_length")}
    model.reconfigure(**{key: value for key, value in changes.items() if value is not None})
    try:
        if not options.device.startswith(("cpu", "cuda", "mps")):
            raise RuntimeError("expected cpu, cuda, cuda:N or mps")
        model.to(options.device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"the device {options.device!r} cannot be used: {reason}") from None
    if options.ray:
        model.precision = options.precision  # the workers check it, on their devices
    else:
        model.use_precision(options.precision)
    if not model.config.trained:
        logger.warning("%s is untrained: its rankings are not meaningful", name)
    encode_corpus(
        corpus,
        model,
        output,
        model_name=model_name,
        shard_size=options.shard_size,
        batch_tokens=options.batch_tokens,
        overwrite=options.overwrite,
        components=options.components,
        processes=options.processes,
        ray=options.ray,
        part=part,
        max_errors=options.max_errors,
        progress=options.progress,
        counts=options.counts,
    )
    print(output)
