"""Compare the encoding speed of spade_pyserini, SparseEncoder and Pyserini.

    python benchmarks/encode.py
    python benchmarks/encode.py --corpus DATA/msmarco-dl22 --documents 960
    python benchmarks/encode.py --precision fp32 bf16 --rounds 5
    python benchmarks/encode.py --memory 10000 100000 --corpus DATA/msmarco-dl22

All three encode the same documents with the same backbone (MiniLM) and the same number of threads.
They run one after the other, each in a new process, for several rounds; the table shows the median.
The clock starts when the model is loaded and warmed up, and stops when each vector is a mapping
from terms to weights. SparseEncoder and Pyserini run one encoder with a masked-LM head over the
complete vocabulary; spade_pyserini runs two encoders.

No SPLADE model on MiniLM exists. SparseEncoder and Pyserini therefore get a masked-LM head made of
MiniLM's embeddings, with a bias that leaves about as many terms per document as spade-mini has. The
amount of work and the size of the output are those of a real model; the terms are meaningless.

Useful FLOP are the floating-point operations of the matrix products for all tokens except padding.
The table compares their rate with the highest rate of matrix products that this machine reaches.

``--memory N`` measures the peak memory of encoding N documents: the documents of the corpus,
repeated under new ids. Only memory outside of the model can grow with N, so the model is reduced to
one layer and 2,000 expansion terms to save time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

WARM_UP = 32  # documents to encode before the clock starts
BATCH = 32  # documents per batch in the other tools
WANTED_TERMS = 200  # terms per document in the other tools
PEERS = ("spade_pyserini", "SparseEncoder", "pyserini.encode")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--corpus", default="pydoc")
    add("--model", default="spade-mini", help="SpaDE model with the backbone MiniLM")
    add("--documents", type=int, default=480)
    add("--max-length", type=int, default=256)
    add("--threads", type=int, default=2)
    add("--rounds", type=int, default=3)
    add(
        "--precision",
        nargs="+",
        default=["fp32"],
        help="precision of spade_pyserini; the other tools use fp32",
    )
    add(
        "--memory", type=int, nargs="+", metavar="N", help="measure the peak memory for N documents"
    )
    add("--role", help=argparse.SUPPRESS)
    add("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role:
        print(json.dumps(ROLES[options.role](options)))
        return
    if options.memory:
        show_memory(options.memory, options.corpus)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_peer(folder, options)
        contestants = [(PEERS[0], precision) for precision in options.precision]
        contestants += [(name, "fp32") for name in PEERS[1:]]
        peaks: list[float] = []
        results: dict[tuple[str, str], list[dict[str, float]]] = {key: [] for key in contestants}
        for _ in range(options.rounds):
            peaks.append(role("peak", folder)["gflops"])
            for name, precision in contestants:
                results[name, precision].append(role(name, folder, precision))
    peak = max(peaks)
    print(f"{options.documents} documents of {options.corpus}, {options.threads} threads")
    print(f"fp32 matrix products: peak {peak:.0f} GFLOP/s; medians of {options.rounds} rounds")
    print("encoder              documents/s (least, most)  terms  useful GFLOP/s  of peak  peak GB")
    for (name, precision), rounds in results.items():
        rates = sorted(result["documents"] / result["seconds"] for result in rounds)
        rate, first = statistics.median(rates), rounds[0]
        useful = first["gflop"] / first["documents"] * rate
        spread = f"({rates[0]:.1f}, {rates[-1]:.1f})"
        print(
            f"{name:15} {precision:4} {rate:11.1f} {spread:>14} {first['terms']:6.0f} "
            f"{useful:15.1f} "
            f"{useful / peak:8.0%} {first['peak']:8.2f}"
        )


def role(name: str, folder: str, precision: str = "fp32") -> dict[str, float]:
    command = [sys.executable, __file__, *sys.argv[1:], "--role", name, "--folder", folder]
    command += ["--precision", precision]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def texts(options: argparse.Namespace) -> list[str]:
    from spade_pyserini import open_corpus

    chosen = itertools.islice(open_corpus(options.corpus), WARM_UP + options.documents)
    return [document.contents for document in chosen]


# The measurements. Each measurement runs in a new process; --role names the measurement.


def peak_role(options: argparse.Namespace) -> dict[str, float]:
    """Return the highest GFLOP/s of matrix products over several shapes that occur in the model."""
    import torch

    torch.set_num_threads(options.threads)
    best = 0.0
    for rows, inner, columns in ((2048, 384, 1536), (2048, 1536, 384), (2048, 384, 4096)):
        left, right = torch.rand(rows, inner), torch.rand(inner, columns)
        out = torch.empty(rows, columns)
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(20):
                torch.mm(left, right, out=out)
            seconds = time.perf_counter() - start
            best = max(best, 20 * 2 * rows * inner * columns / seconds / 1e9)
    return {"gflops": best}


def spade_role(options: argparse.Namespace) -> dict[str, float]:
    import torch

    from spade_pyserini.encode.options import BATCH_TOKENS
    from spade_pyserini.encode.task import VectorTask
    from spade_pyserini.formats.vector_manifest import VectorSettings
    from spade_pyserini.models import SpadeEncoder
    from spade_pyserini.records import Document

    torch.set_num_threads(options.threads)
    encoder = SpadeEncoder.from_pretrained(options.model, precision=options.precision[0])
    encoder = encoder.with_settings(max_length=options.max_length)
    config = encoder.config
    settings = VectorSettings(
        *("benchmark", "benchmark", "", "", config.alpha, config.k, config.max_length),
        *(config.bits, config.scale or 1.0, len(texts(options)), BATCH_TOKENS),
    )
    task = VectorTask(encoder, settings)

    def encode(some: list[str]) -> list[dict[str, int]]:
        documents = [Document(str(number), "", text) for number, text in enumerate(some)]
        prepared = task.prepare(0, documents, "")
        encoded = task.compute(prepared, lambda *_: None)
        return [encoder.named(vector) for vector in encoded.impacts]

    model = encoder.model
    layers = len(model.weighting.backbone.encoder.layer)
    shared = len(model.shared_layers.first.encoder.layer) if model.shared_layers else 0
    terms = int((model.kept & model.expansion.expandable).sum())
    return measure(options, encode, 2 * layers - shared, terms, heads=2)


def sparse_encoder_role(options: argparse.Namespace) -> dict[str, float]:
    import torch
    from sentence_transformers import SparseEncoder

    torch.set_num_threads(options.threads)
    model = SparseEncoder(options.folder, device="cpu")
    model.max_seq_length = options.max_length

    def encode(some: list[str]) -> list[Any]:
        vectors = model.encode(some, batch_size=BATCH, show_progress_bar=False)
        return [dict(model.decode(vector)) for vector in vectors]

    return measure(options, encode, 6, 30522)


def pyserini_role(options: argparse.Namespace) -> dict[str, float]:
    import torch

    from spade_pyserini.lucene.pyserini_import import prepare_pyserini

    prepare_pyserini()
    from pyserini.encode import SpladeDocumentEncoder

    torch.set_num_threads(options.threads)
    model = SpladeDocumentEncoder(options.folder, device="cpu")

    def encode(some: list[str]) -> list[Any]:
        vectors = []
        with torch.no_grad():
            for start in range(0, len(some), BATCH):
                part = some[start : start + BATCH]
                vectors += model.encode(part, max_length=options.max_length)
        return vectors

    return measure(options, encode, 6, 30522)


def measure(
    options: argparse.Namespace,
    encode: Callable[[list[str]], list[Any]],
    layers: int,
    terms: int,
    heads: int = 1,
) -> dict[str, float]:
    some = texts(options)
    encode(some[:WARM_UP])
    some = some[WARM_UP:]
    start = time.perf_counter()
    vectors = encode(some)
    seconds = time.perf_counter() - start
    return {
        "documents": len(vectors),
        "seconds": seconds,
        "terms": sum(map(len, vectors)) / len(vectors),
        "gflop": gflop(some, options.max_length, layers, terms, heads),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


def gflop(some: list[str], max_length: int, layers: int, terms: int, heads: int) -> float:
    """Return the GFLOP of all matrix products of MiniLM (width 384, feed-forward width 1,536)."""
    from spade_pyserini.models.hub import resolve_model
    from spade_pyserini.models.wordpieces import WordPieces

    wordpieces = WordPieces.load(resolve_model("spade-mini"))
    total = 0.0
    for ids in wordpieces.document_ids(some, max_length):
        layer = 2 * (4 * 384 * 384 + 2 * 384 * 1536) + 4 * 384 * len(ids)
        total += len(ids) * (layers * layer + heads * 2 * 384 * 384 + 2 * 384 * terms)
    return total / 1e9


def write_peer(folder: str, options: argparse.Namespace) -> None:
    """Save MiniLM with a masked-LM head as a SPLADE model for SparseEncoder and Pyserini."""
    import torch
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
    from transformers import AutoTokenizer, BertForMaskedLM, BertModel

    from spade_pyserini.models.minilm import minilm_folder

    body = BertModel.from_pretrained(minilm_folder())
    model = BertForMaskedLM(body.config)
    model.bert.load_state_dict(body.state_dict(), strict=False)  # the pooler is not needed
    tokenizer = AutoTokenizer.from_pretrained(minilm_folder())
    sample = tokenizer(
        texts(options)[:WARM_UP],
        padding=True,
        truncation=True,
        max_length=options.max_length,
        return_tensors="pt",
    )
    with torch.no_grad():
        largest = model(**sample).logits.amax(dim=1)
        cut = largest.topk(WANTED_TERMS, dim=1).values[:, -1].mean()
        model.cls.predictions.bias -= cut
    with tempfile.TemporaryDirectory() as plain:
        model.save_pretrained(plain)
        tokenizer.save_pretrained(plain)
        SparseEncoder(modules=[MLMTransformer(plain), SpladePooling("max")]).save(folder)


# Memory


def show_memory(counts: list[int], corpus: str) -> None:
    print("documents  terms  peak memory, GB", flush=True)
    for count in counts:
        command = [sys.executable, __file__, "--role", "memory", "--documents", str(count)]
        command += ["--corpus", corpus]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout.splitlines()[-1])
        print(f"{count:9} {result['terms']:6.0f} {result['peak']:16.2f}", flush=True)


def memory_role(options: argparse.Namespace) -> dict[str, float]:
    from spade_pyserini import SpadeConfig, SpadeModel, encode_corpus, open_corpus

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        real = itertools.cycle([document.contents for document in open_corpus(options.corpus)])
        with (folder / "corpus.jsonl").open("w") as stream:
            for number, text in enumerate(itertools.islice(real, options.documents)):
                stream.write(json.dumps({"_id": str(number), "text": text}) + "\n")
        config = SpadeConfig(shared_backbone=True, k=10, max_length=options.max_length)
        model = SpadeModel.from_backbone("minilm", config)
        del model.weighting.backbone.encoder.layer[1:]
        model.expansion.expandable[2000 + len(model.wordpieces.unused_ids) :] = False
        corpus = open_corpus(str(folder / "corpus.jsonl"))
        manifest = encode_corpus(corpus, model, folder / "vectors")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return {"peak": peak, "terms": manifest.terms_per_document}


ROLES: dict[str, Callable[[argparse.Namespace], dict[str, float]]] = {
    "peak": peak_role,
    "memory": memory_role,
    **dict(zip(PEERS, (spade_role, sparse_encoder_role, pyserini_role), strict=True)),
}

if __name__ == "__main__":
    main()
