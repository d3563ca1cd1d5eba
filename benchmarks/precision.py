"""Whether another precision or engine would encode faster on this CPU than torch in fp32.

    pip install onnx onnxscript onnxruntime openvino
    python benchmarks/precision.py
    python benchmarks/precision.py --rankings ../shared/data/wikiqa/dev --pool RUN

All run the same transformer (MiniLM, six layers) on the same batches of docstrings, 24 texts of 86
WordPieces, with the same threads, one after the other in one process; the best of three rounds
counts. What is not installed is left out. The cosine is that of all hidden states with torch's in
fp32: an export that gives other states is no export.

``--rankings`` asks the same of spade-mini as a whole, whose heads stay torch's: documents a second,
and nDCG@10 and MRR@10 of exact float scores, on the documents of a split's collection that are
judged or among the first 20 of a run. int8 is dynamic, by channel.
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
Run = Callable[[Tensor, Tensor], Any]  # gives a list: the hidden states of each transformer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--skip", nargs="*", default=[], help="engines, as in `torch bf16`")
    parser.add_argument("--rankings", metavar="SPLIT", help="what int8 does to these topics")
    parser.add_argument("--pool", metavar="RUN", help="with --rankings: of the same topics")
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
            found = torch.as_tensor(run(batches[0], mask)[0]).float()
            cosine = nn.functional.cosine_similarity(found.flatten(), wanted.flatten(), dim=0)
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
        found = validate(model, [dev], (model.config.alpha,))
        speed = found.documents_per_second
        print(f"{name:18} {speed:11.1f} {found.ndcg:8.4f} {found.mrr:7.4f}", flush=True)

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
    """The last hidden states of both encoders, for exports."""

    def __init__(self, model: SpadeModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        return self.model._hidden_states(input_ids, attention_mask)


def both_states(run: Run, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    own, added = map(torch.from_numpy, run(ids, mask))
    return own, added


def next_batch(wordpieces: WordPieces, documents: Iterator[Document]) -> Tensor:
    """So many texts that are long enough, cut to one length."""
    found: list[list[int]] = []
    while len(found) < TEXTS:
        (ids,) = wordpieces.document_ids([next(documents).contents], LENGTH)
        found += [ids] * (len(ids) == LENGTH)
    return torch.tensor(found)


class Transformer(nn.Module):
    """Hidden states alone, for exports."""

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
    """The engines that are installed, for any number of texts of any length."""
    if not all(map(importlib.util.find_spec, ("onnx", "onnxscript", "onnxruntime"))):
        return
    file = folder / "fp32.onnx"
    size = (TEXTS, LENGTH)  # two tensors: one twice would be taken for one input
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
    names = [one.name for one in session.get_inputs()]

    def run(*inputs: Tensor) -> Any:
        values = dict(zip(names, (one.numpy() for one in inputs), strict=True))
        return session.run(None, values)

    return run


def openvino_run(file: Path, threads: int) -> Run:
    import openvino

    settings = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    model = openvino.Core().compile_model(str(file), "CPU", settings)

    def run(*inputs: Tensor) -> Any:
        found = model([one.numpy() for one in inputs])
        return [found[place] for place in range(len(model.outputs))]

    return run


if __name__ == "__main__":
    main()
