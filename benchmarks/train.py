"""Measure peak memory and speed of training: warm-up and fine-tuning, each in its own process.

    python benchmarks/train.py --recipe mini --max-length 256 --batch-size 32

The documents are those of pydoc, concatenated to at least ``--max-length`` words.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

SAMPLES = 400


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="mini")
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=4, help="steps of each phase")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--phase", choices=("warm-up", "fine-tuning"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phase:
        print(json.dumps(measure(options)))
        return
    print(f"recipe {options.recipe}, length {options.max_length}, batch {options.batch_size}")
    print("phase        documents/s  seconds/step  peak memory, GB")
    for phase in ("warm-up", "fine-tuning"):
        command = [sys.executable, __file__, *sys.argv[1:], "--phase", phase]
        process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        figures = json.loads(process.stdout.splitlines()[-1])
        rate, seconds, peak = (figures[name] for name in ("rate", "seconds", "peak"))
        print(f"{phase:12} {rate:11.1f} {seconds:13.2f} {peak:16.2f}")


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Train for a few steps; return documents per second, seconds per step and peak memory."""
    from spade_pyserini.train import load_recipe, train
    from spade_pyserini.train.log import read_log

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_collection(folder, options.max_length)
        recipe = (
            load_recipe(options.recipe)
            .with_settings(options.set)
            .change(
                corpus=str(folder / "corpus.jsonl"),
                queries=str(folder / "queries.tsv"),
                qrels=str(folder / "qrels.txt"),
                negatives=str(folder / "run.txt"),
                data=(),
                dev=(),
                max_length=options.max_length,
                batch_size=options.batch_size,
                warmup_steps=options.steps if options.phase == "warm-up" else 0,
                steps=options.steps,
            )
        )
        train(recipe, folder / "run")
        rates = [line["documents_per_second"] for line in read_log(folder / "run", "step")]
    # Each document passes through both encoders; the rate counts both passes.
    documents = 2 * options.batch_size * (1 + recipe.data.hard_negatives)
    seconds = fmean(documents / rate for rate in rates)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"rate": documents / seconds, "seconds": seconds, "peak": peak}


def write_collection(folder: Path, length: int) -> None:
    """Write queries, qrels, negatives and a corpus whose texts have at least ``length`` words."""
    texts = long_texts(length)
    with (
        (folder / "corpus.jsonl").open("w") as corpus,
        (folder / "queries.tsv").open("w") as queries,
        (folder / "qrels.txt").open("w") as qrels,
        (folder / "run.txt").open("w") as run,
    ):
        for number in range(SAMPLES):
            text = next(texts)
            corpus.write(json.dumps({"_id": f"d{number}", "text": text}) + "\n")
            queries.write(f"q{number}\t{' '.join(text.split()[5:12])}\n")
            qrels.write(f"q{number} 0 d{number} 1\n")
            run.write(f"q{number} Q0 d{(number + 1) % SAMPLES} 1 1 x\n")


def long_texts(words: int) -> Iterator[str]:
    """Yield texts of at least ``words`` words, and therefore of at least as many WordPieces."""
    from spade_pyserini import open_corpus

    while True:
        parts: list[str] = []
        for document in open_corpus("pydoc"):
            parts += document.contents.split()
            if len(parts) >= words:
                yield " ".join(parts)
                parts = []


if __name__ == "__main__":
    main()
