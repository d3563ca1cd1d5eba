"""The commands of ``spade``: name, group and a one-line summary, without importing any of them."""

from __future__ import annotations

import argparse
import importlib
from typing import Protocol, cast


class Command(Protocol):
    """The functions that the module of a command must define."""

    def parser(self) -> argparse.ArgumentParser:
        """Build the parser of the command's arguments."""

    def run(self, options: argparse.Namespace) -> None:
        """Do the work and print the result."""


GROUPS = {
    "start here": {
        "demo": "encode, index, search and score the built-in corpus, with BM25 for comparison",
        "doctor": "check what is installed and say how to repair it",
        "corpora": "list the collections that are known by name",
    },
    "from documents to measures": {
        "encode": "documents to impact vectors          encode/<corpus>.<model>/",
        "index": "impact vectors to a Lucene index     index/<corpus>.<model>/",
        "search": "topics or a query to ranked hits     runs/run.<corpus>.<model>.<topics>.txt",
        "evaluate": "score runs against relevance judgements, with significance tests",
    },
    "to look at": {
        "serve": "a page and a JSON server for an index: search, compare with BM25, see why",
    },
    "models and texts": {
        "finetune": "fine-tune a model on your own queries and relevant documents",
        "train": "train the dual encoder with a recipe",
        "expand": "predict queries for documents (docT5query) with a seq2seq model",
    },
    "other runs, to compare and to combine": {
        "dense": "run of a dense model, searched exactly with FAISS",
        "rerank": "re-rank a run with a cross-encoder",
        "fuse": "fuse several runs into one",
    },
    "other engines": {
        "export": "export an index to CIFF, PISA, OpenSearch or Milvus",
    },
    "analysis": {
        "breakdown": "measures by how many terms topics and relevant documents share",
        "compare": "compare two runs topic by topic",
        "stats": "size, terms and impacts of an index",
        "explain": "show why a document matches a query, and which terms the model added",
        "sweep": "effectiveness, latency and index size over alpha, gamma, k and prune_ratio",
        "report": "one HTML page about several runs",
        "reproduce": "run the commands behind published figures and check the figures",
    },
    "plain Pyserini": {
        "topics": "write topics as WordPieces",
        "pyserini": "run any Pyserini module on the Java that spade finds",
    },
    "shell": {
        "completion": "print a completion script for bash or zsh",
    },
}
SUMMARIES = {name: summary for group in GROUPS.values() for name, summary in group.items()}


def load(name: str) -> Command:
    """Import the module of a command."""
    return cast(Command, importlib.import_module(f"spade_pyserini.cli.{name}"))


def overview(prog: str) -> str:
    """Text of ``spade --help``: every command in its group."""
    lines = [f"usage: {prog} COMMAND [OPTION ...]", f"       {prog} COMMAND --help"]
    lines.append(f"       {prog} --version")
    width = max(map(len, SUMMARIES))
    for title, commands in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {name:{width}}  {summary}" for name, summary in commands.items()]
    return "\n".join(lines)
