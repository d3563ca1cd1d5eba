"""``python -m spade_pyserini.encode``: a corpus to impact vectors."""

from __future__ import annotations

import argparse
import logging
from dataclasses import replace
from pathlib import Path

from spade_pyserini.cli import command
from spade_pyserini.errors import UsageError
from spade_pyserini.formats.files import safe_file_name

MODULE = "spade_pyserini.encode"
EXAMPLE = "python -m spade_pyserini.encode --corpus pydoc --output encode/pydoc.spade"
PRECISIONS = ("fp32", "bf16", "fp16")
logger = logging.getLogger(MODULE)


def _parser() -> argparse.ArgumentParser:
    parser = command.parser(MODULE, "Encode a corpus into impact vectors for Anserini.", EXAMPLE)
    add = parser.add_argument
    add(
        "--corpus",
        metavar="NAME|PATH",
        help="a name of spade_pyserini.corpora's, or a folder or file in BEIR (corpus.jsonl), "
        "MS MARCO (collection.tsv) or Pyserini (id, contents) form, plain or .gz",
    )
    add("--corpus-path", metavar="PATH", help="read the corpus called NAME from this place")
    command.add_data_dir(parser)
    add("--expansions", metavar="FILE", help="append predicted queries: .jsonl, .tsv or .txt")
    add("--expansions-per-doc", type=command.positive, metavar="N", help="so many of each document")
    add("--segment", metavar="WORDS:STRIDE", help="cut documents into passages doc#0, doc#1, ...")
    add(
        "--pool",
        nargs="+",
        metavar="RUN[:N]|QRELS",
        help="only documents that runs rank (among the first N), or that are judged relevant",
    )
    add("--model", metavar="NAME|PATH", help="model name or folder (default: spade-mini)")
    add("--output", metavar="DIR", help="folder for the vectors (default: encode/CORPUS.MODEL)")
    add("--alpha", type=float, metavar="A", help="share of term expansion (default: as saved)")
    add("--k", type=command.positive, help="expansion terms per token (default: as saved)")
    add(
        "--max-length",
        type=command.positive,
        metavar="N",
        help="WordPieces read (default: as saved)",
    )
    add("--shard-size", type=command.positive, default=2000, metavar="N", help="documents per file")
    add("--batch-tokens", type=command.positive, default=2048, metavar="N", help="tokens per batch")
    add("--device", default="cpu", help="torch device; cuda with --processes takes all GPUs")
    add(
        "--precision",
        choices=PRECISIONS,
        default="fp32",
        help="bf16 and fp16 for GPUs; refused, with the reason, where it does not pay",
    )
    add(
        "--processes", type=command.positive, default=1, metavar="N", help="workers on this machine"
    )
    add("--ray", metavar="ADDRESS", help="workers of a Ray cluster: its address, auto, or local")
    add("--shard-id", type=int, metavar="I", help="encode only every N-th shard, from I = 0 on")
    add("--shard-num", type=command.positive, metavar="N", help="of so many runs, see --merge")
    add("--merge", action="store_true", help="join the runs of all --shard-id into one output")
    add(
        "--max-errors",
        type=command.whole_number(0, 10**9),
        default=0,
        metavar="N",
        help="leave out up to N bad documents and list them in OUTPUT.errors.txt",
    )
    add(
        "--progress",
        choices=("bar", "json"),
        default="bar",
        help="a bar on terminals, or JSON lines on stderr",
    )
    add("--counts", metavar="FILE", help="rarity as in OTHER.counts.json, to add documents to it")
    add("--components", action="store_true", help="keep the two encoders' vectors too, for sweep")
    add("--overwrite", action="store_true", help="replace an existing output")
    return parser


def main(arguments: list[str]) -> None:
    options = _parser().parse_args(arguments)
    command.log_to_stderr(options.verbose)

    # After parsing: torch and transformers take seconds to import.
    from spade_pyserini.encode import EncodeOptions, Part, encode_corpus, merge_parts
    from spade_pyserini.models.encoder import SpadeEncoder
    from spade_pyserini.models.hub import DEFAULT

    if options.merge and options.output:
        merge_parts(options.output)
        print(options.output)
        return
    if not options.corpus:
        raise UsageError("--corpus is missing; only --merge with --output can do without it")
    corpus = command.chosen_corpus(options)
    name = options.model or DEFAULT
    model_name = safe_file_name(Path(name).name)
    output = options.output or Path("encode", f"{corpus.name}.{model_name}")
    if options.ray and options.processes > 1:
        raise UsageError("--ray has workers of its own; leave --processes out")
    part = Part.of(options.shard_id, options.shard_num)
    if options.merge:
        merge_parts(output)
        print(output)
        return
    encoder = SpadeEncoder.from_pretrained(name, device=options.device)
    changes = {key: getattr(options, key) for key in ("alpha", "k", "max_length")}
    encoder = encoder.with_settings(
        **{key: value for key, value in changes.items() if value is not None}
    )
    encoder = replace(encoder, precision=options.precision)
    if not options.ray:  # the workers of a cluster check it on their own devices
        encoder.check_precision()
    if not encoder.config.trained:
        logger.warning("the heads of %s are untrained, so its rankings are random", name)
    names = "shard_size batch_tokens overwrite components processes ray max_errors progress counts"
    chosen = {key: getattr(options, key) for key in names.split()}
    settings = EncodeOptions(model_name=model_name, part=part, **chosen)
    encode_corpus(corpus, encoder, output, settings)
    print(output)


if __name__ == "__main__":
    command.run(main)
