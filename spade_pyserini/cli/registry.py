"""The names of all commands of ``spade``, in groups, with one-line summaries.

Importing this module does not import the commands.
"""

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
        "corpora": "list the collections that commands accept by name",
    },
    "from documents to measures": {
        "encode": "documents to impact vectors          encode/<corpus>.<model>/",
        "index": "impact vectors to a Lucene index     index/<corpus>.<model>/",
        "search": "topics or a query to ranked hits     runs/run.<corpus>.<model>.<topics>.txt",
        "evaluate": "score runs against relevance judgements, with significance tests",
    },
    "in the browser": {
        "serve": "web page and JSON API for an index: search, compare with BM25, explain matches",
    },
    "models and texts": {
        "finetune": "fine-tune a model on your own queries and relevant documents",
        "train": "train SpaDE or another system with a recipe",
        "expand": "predict queries for documents (docT5query), or terms (TILDE)",
    },
    "baselines, re-ranking and fusion": {
        "dense": "retrieve with a dense model, by exact search with FAISS",
        "rerank": "re-rank a run with a cross-encoder",
        "fuse": "fuse several runs into one",
    },
    "other engines": {
        "export": "export an index to OpenSearch, Milvus, PISA or another engine",
    },
    "analysis": {
        "breakdown": "score runs by the term overlap of topics and relevant documents",
        "compare": "compare two runs topic by topic",
        "stats": "print the size, terms and impacts of an index",
        "explain": "show why a document matches a query, and which terms the model added",
        "sweep": "measure effectiveness and cost for several alpha, gamma, k and prune_ratio",
        "report": "write an HTML report on one or more runs",
        "reproduce": "run the commands behind published results and check the results",
    },
    "plain Pyserini": {
        "topics": "write topics as WordPieces, for Pyserini or another engine",
        "pyserini": "run any Pyserini module with the Java runtime that spade finds",
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
    """Return the text of ``spade --help``, which lists the commands in groups."""
    lines = [f"usage: {prog} COMMAND [OPTION ...]", f"       {prog} COMMAND --help"]
    lines.append(f"       {prog} --version")
    width = max(map(len, SUMMARIES))
    for title, commands in GROUPS.items():
        lines += ["", f"{title}:"]
        lines += [f"  {name:{width}}  {summary}" for name, summary in commands.items()]
    return "\n".join(lines)
