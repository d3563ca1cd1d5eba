"""Measure precisions and inference engines on this CPU. The baseline is PyTorch in fp32.

    pip install onnx onnxscript onnxruntime openvino
    python benchmarks/precision.py
    python benchmarks/precision.py --rankings DATA/wikiqa/dev --pool RUN

All engines run the same transformer (MiniLM, six layers) on the same batches of 24 docstrings with
86 WordPieces each, with the same number of threads, one after the other in one process. The table
shows the best of three rounds. Engines that are not installed are left out. The column "cosine" is
the cosine similarity of the hidden states to those of PyTorch in fp32; it must be close to 1.

``--rankings`` measures spade-mini: each engine runs the model's transformers, and PyTorch runs its
heads. The table shows documents per second, and nDCG@10 and MRR@10 of the scores before
quantization to impacts. With ``--pool RUN``, only two kinds of documents are ranked: those judged
for the split, and the first 20 hits of each topic in the run. int8 quantization is dynamic and per
channel.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spade_pyserini import SpadeModel, open_corpus
from spade_pyserini.models.backbone import load_backbone
from spade_pyserini.models.wordpieces import WordPieces
from spade_pyserini.records import Document
from spade_pyserini.train.dev_set import DevSet
from spade_pyserini.train.settings import DevCollection
from spade_pyserini.train.validate import validate

TEXTS, LENGTH = 24, 86
ROUNDS = 3
INT8 = {nn.Linear: torch.ao.quantization.per_channel_dynamic_qconfig}
Run = Callable[[Tensor, Tensor], Any]  # takes ids and mask, returns hidden states


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument(
        "--skip", nargs="*", default=[], help="engines to leave out, in quotes: 'torch bf16'"
    )
    parser.add_argument("--rankings", metavar="SPLIT", help="measure nDCG and MRR on this split")
    parser.add_argument(
        "--pool",
        metavar="RUN",
        help="with --rankings: rank only judged documents and hits of this run",
    )
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    if options.rankings:
        compare_rankings(options.rankings, options.pool, options.threads)
        return
    backbone = load_backbone("minilm")
    transformer = Transformer(backbone.transformer).eval()
    texts = itertools.cycle(open_corpus("pydoc"))
    batches = [next_batch(backbone.wordpieces, texts) for _ in range(options.batches)]
    mask = torch.ones_like(batches[0])
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        wanted = transformer(batches[0], mask)
        first = None
        print(f"{torch.backends.cpu.get_cpu_capability()}, {options.threads} threads")
        print("engine              texts/s  ratio  cosine")
        for name, run in engines(transformer, Path(folder), options.threads):
            if name in options.skip:
                continue
            states = torch.as_tensor(run(batches[0], mask)[0]).float()
            cosine = nn.functional.cosine_similarity(states.flatten(), wanted.flatten(), dim=0)
            rate = TEXTS * len(batches) / min(seconds(run, batches, mask) for _ in range(ROUNDS))
            first = first or rate
            print(f"{name:18} {rate:8.1f} {rate / first:6.2f} {cosine:7.4f}", flush=True)


def compare_rankings(split: str, pool: str | None, threads: int) -> None:
    model = SpadeModel.from_pretrained("spade-mini")
    corpus = str(Path(split).parent)
    dev = DevSet(DevCollection(corpus, split, split, pool, depth=20), model.wordpieces)
    print(f"{len(dev.topics)} topics, {len(dev.texts)} documents of {dev.name}")
    print("engine             documents/s  nDCG@10  MRR@10")

    def show(name: str) -> None:
        result = validate(model, [dev], (model.config.alpha,))
        speed = result.documents_per_second
        print(f"{name:18} {speed:11.1f} {result.ndcg:8.4f} {result.mrr:7.4f}", flush=True)

    show("torch fp32")
    with tempfile.TemporaryDirectory() as folder:
        for name, run in exported(Both(copy.deepcopy(model)).eval(), Path(folder), threads):
            model._hidden_states = partial(both_states, run)  # type: ignore[method-assign]
            show(name)
    del model._hidden_states
    for encoder in (model.weighting, model.expansion):
        torch.ao.quantization.quantize_dynamic(encoder.backbone, INT8, inplace=True)
    show("torch int8")


class Both(nn.Module):
    """A module that returns only the last hidden states of both encoders, for the ONNX export."""

    def __init__(self, model: SpadeModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        return self.model._hidden_states(input_ids, attention_mask)


def both_states(run: Run, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    own, added = map(torch.from_numpy, run(ids, mask))
    return own, added


def next_batch(wordpieces: WordPieces, documents: Iterator[Document]) -> Tensor:
    """Return ids [TEXTS, LENGTH] of the next documents that have at least LENGTH WordPieces."""
    batch: list[list[int]] = []
    while len(batch) < TEXTS:
        (ids,) = wordpieces.document_ids([next(documents).contents], LENGTH)
        batch += [ids] * (len(ids) == LENGTH)
    return torch.tensor(batch)


class Transformer(nn.Module):
    """A module that returns only the last hidden states, for the ONNX export."""

    def __init__(self, transformer: nn.Module) -> None:
        super().__init__()
        self.transformer = transformer

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden: Tensor = self.transformer(input_ids=input_ids, attention_mask=attention_mask)[0]
        return hidden


def seconds(run: Run, batches: list[Tensor], mask: Tensor) -> float:
    start = time.perf_counter()
    for batch in batches:
        run(batch, mask)
    return time.perf_counter() - start


def engines(model: Transformer, folder: Path, threads: int) -> Iterator[tuple[str, Run]]:
    yield "torch fp32", lambda ids, mask: [model(ids, mask)]
    yield "torch bf16", lambda ids, mask: [autocast(model, ids, mask)]
    quantized = torch.ao.quantization.quantize_dynamic(model, INT8)
    yield "torch int8", lambda ids, mask: [quantized(ids, mask)]
    yield from exported(model, folder, threads)


def exported(model: nn.Module, folder: Path, threads: int) -> Iterator[tuple[str, Run]]:
    """Export the model to ONNX; yield the name and run function of each installed engine."""
    if not all(map(importlib.util.find_spec, ("onnx", "onnxscript", "onnxruntime"))):
        return
    file = folder / "fp32.onnx"
    size = (TEXTS, LENGTH)
    # Two separate tensors, because the exporter would merge one tensor that is given twice.
    example = tuple(torch.ones(size, dtype=torch.long) for _ in range(2))
    free = {0: torch.export.Dim("texts", max=512), 1: torch.export.Dim("length", max=512)}
    shapes = (free, free)
    torch.onnx.export(model, example, str(file), dynamo=True, verbose=False, dynamic_shapes=shapes)
    yield "onnxruntime fp32", onnx_run(file, threads)
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(file, folder / "int8.onnx", per_channel=True, reduce_range=True)
    yield "onnxruntime int8", onnx_run(folder / "int8.onnx", threads)
    if importlib.util.find_spec("openvino"):
        yield "openvino fp32", openvino_run(file, threads)
        yield "openvino int8", openvino_run(folder / "int8.onnx", threads)


def autocast(model: nn.Module, ids: Tensor, mask: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        hidden: Tensor = model(ids, mask)
    return hidden


def onnx_run(file: Path, threads: int) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]

    def run(*inputs: Tensor) -> Any:
        values = dict(zip(names, (tensor.numpy() for tensor in inputs), strict=True))
        return session.run(None, values)

    return run


def openvino_run(file: Path, threads: int) -> Run:
    import openvino

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    model = openvino.Core().compile_model(str(file), "CPU", settings)

    def run(*inputs: Tensor) -> Any:
        outputs = model([tensor.numpy() for tensor in inputs])
        return [outputs[index] for index in range(len(model.outputs))]

    return run


if __name__ == "__main__":
    main()
