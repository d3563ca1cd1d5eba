"""Options and argument types that several commands share, and functions that use these options."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from spade_pyserini.errors import UsageError

if TYPE_CHECKING:
    from spade_pyserini.corpora import Corpus
    from spade_pyserini.formats.qrels import Qrels
    from spade_pyserini.records import Topic

MEASURES = "MRR@10 nDCG@10 MAP R@100 R@1000"
CORPUS_HELP = (
    "a name that `spade corpora` lists, or your own documents: a .csv or .tsv file with a header; "
    "a .jsonl, .json, .parquet, .txt or .md file; a folder of such files; or files in the format "
    "of BEIR, MS MARCO or Pyserini. Files may be compressed (.gz, .bz2, .xz, .zst)"
)
TOPICS_HELP = (
    "a split of a collection, such as pydoc/test, or a file: .tsv, .csv, .jsonl, .json or .trec "
    "(these may be compressed), or .parquet"
)
QRELS_HELP = (
    "a split of a collection, such as pydoc/test, or a file in TREC or BEIR format, or .csv, .tsv, "
    ".jsonl, .json or .parquet with columns such as query-id, corpus-id and score"
)


SIMILAR = 0.7  # least similarity of options that are suggested, as `difflib` computes it


class HelpFormatter(argparse.RawDescriptionHelpFormatter, argparse.ArgumentDefaultsHelpFormatter):
    """Keeps the line breaks of examples in help texts; shows defaults as a user would type them."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default in (None, False, argparse.SUPPRESS, [], "") or action.required:
            return action.help
        if isinstance(action.default, list | tuple) and "default:" not in (action.help or ""):
            values = " ".join(
                f"{value:g}" if isinstance(value, float) else str(value) for value in action.default
            )
            return f"{action.help} (default: {values})"
        return super()._get_help_string(action)


class Parser(argparse.ArgumentParser):
    """A parser that suggests the most similar options for options that do not exist."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with code 2."""
        near = []
        if message.startswith("unrecognized arguments: "):
            known = [option for option in self._option_string_actions if option.startswith("--")]
            for word in message.split():
                if word.startswith("--"):
                    near += difflib.get_close_matches(word.split("=")[0], known, 1, SIMILAR)
        hint = f"; did you mean {' and '.join(dict.fromkeys(near))}?" if near else ""
        super().error(f"{message}{hint}")


def new_parser(name: str, description: str, example: str) -> argparse.ArgumentParser:
    """Return a parser for the command ``spade NAME``, whose help ends with an example."""
    parser = Parser(
        prog=f"spade {name}",
        description=description,
        epilog=f"example:\n  {example}",
        formatter_class=HelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--verbose", action="store_true", help="log more details")
    return parser


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Add ``--data-dir``."""
    parser.add_argument(
        "--data-dir",
        type=folder,
        metavar="DIR",
        help="folder with local copies of collections (default: $SPADE_DATA_DIR)",
    )


TOPIC_FIELDS = {
    "query_id_field": "column, or JSON field, with the ids of the topics in {}; ':row' uses the "
    "row numbers, from 1, as ids (default: guessed from the column names)",
    "query_field": "column with the texts of the topics in {} (default: guessed)",
}
QRELS_FIELDS = {
    "qrels_query_field": "column, or JSON field, with the ids of the topics in {} (default: "
    "guessed from the column names)",
    "qrels_doc_field": "column with the ids of the documents in {} (default: guessed)",
    "qrels_grade_field": "column with the grades in {}; '' means that there are no grades and all "
    "judged documents are relevant (default: guessed)",
}


def add_fields(parser: argparse.ArgumentParser, fields: Iterable[str], files: str) -> None:
    """Add the options ``fields``, which name columns of ``files``.

    ``fields`` are keys of `TOPIC_FIELDS` or `QRELS_FIELDS`. ``files`` is the text that stands for
    the files in the help of these options, such as ``--qrels or --pairs``.
    """
    summaries = {**TOPIC_FIELDS, **QRELS_FIELDS}
    for name in fields:
        flag = f"--{name.replace('_', '-')}"
        parser.add_argument(flag, metavar="COLUMN", help=summaries[name].format(files))


def fields_of(options: argparse.Namespace, fields: Iterable[str]) -> dict[str, str | None]:
    """Return a mapping from each of ``fields`` to the column that the user named, or None."""
    return {name: getattr(options, name) for name in fields}


def refuse_fields(options: argparse.Namespace, fields: Iterable[str], file: str) -> None:
    """Raise `UsageError` if the user named a column.

    Call this if the user has not given ``file``, to which the columns belong.
    """
    for name, column in fields_of(options, fields).items():
        if column is not None:
            raise UsageError(f"--{name.replace('_', '-')} applies only with {file}")


def add_topics(
    parser: argparse.ArgumentParser, *, required: bool = False, summary: str = TOPICS_HELP
) -> None:
    """Add ``--topics`` and the options for its columns; `read_topics` reads the topics."""
    parser.add_argument("--topics", required=required, metavar="NAME|FILE", help=summary)
    add_fields(parser, TOPIC_FIELDS, "--topics")


def read_topics(options: argparse.Namespace) -> list[Topic]:
    """Read ``--topics``; without it, return no topics."""
    from spade_pyserini.corpora.topics import read_topics

    if not options.topics:
        refuse_fields(options, TOPIC_FIELDS, "--topics")
        return []
    fields = fields_of(options, TOPIC_FIELDS)
    return read_topics(options.topics, data_dir=options.data_dir, **fields)


def add_qrels(
    parser: argparse.ArgumentParser, *, required: bool = False, summary: str = QRELS_HELP
) -> None:
    """Add ``--qrels`` and the options for its columns; `read_qrels` reads the judgements."""
    parser.add_argument("--qrels", required=required, metavar="NAME|FILE", help=summary)
    add_fields(parser, QRELS_FIELDS, "--qrels")


def read_qrels(options: argparse.Namespace) -> Qrels:
    """Read ``--qrels``."""
    from spade_pyserini.corpora.qrels import read_qrels

    fields = fields_of(options, QRELS_FIELDS)
    return read_qrels(options.qrels, data_dir=options.data_dir, **fields)


def add_judgements(parser: argparse.ArgumentParser, measures: str = MEASURES) -> None:
    """Add the options of commands that score runs; `read_judgements` reads the judgements."""
    add_qrels(parser, required=True)
    add = parser.add_argument
    add(
        "--measure",
        "-m",
        nargs="+",
        metavar="NAME",
        help=f"measures, with the names of ir_measures or trec_eval (default: {measures})",
    )
    add(
        "--relevance-level",
        type=positive,
        metavar="N",
        help="lowest grade that counts as relevant in binary measures (default: 2 for TREC DL "
        "passages, else 1)",
    )
    add_data_dir(parser)


def read_judgements(options: argparse.Namespace) -> tuple[Qrels, int]:
    """Read ``--qrels``; return the judgements and the lowest grade that counts as relevant."""
    from spade_pyserini.corpora.qrels import relevance_level

    level = options.relevance_level or relevance_level(options.qrels, data_dir=options.data_dir)
    return read_qrels(options), level


def add_corpus(
    parser: argparse._ActionsContainer, *, required: bool = False, summary: str = CORPUS_HELP
) -> None:
    """Add ``--corpus`` and the options for its columns; `open_corpus` opens the corpus."""
    add = parser.add_argument
    add("--corpus", required=required, metavar="NAME|PATH", help=summary)
    add(
        "--id-field",
        metavar="COLUMN",
        help="column, or JSON field, with the document ids; ':row' uses the row numbers, from 0, "
        "as ids (default: guessed from the column names)",
    )
    add(
        "--title-field",
        metavar="COLUMN",
        help="column with the titles; '' for no title (default: the column `title`, if it exists)",
    )
    add(
        "--text-fields",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="columns with the text; several are joined (default: guessed from the column names)",
    )


FIELDS = ("id_field", "title_field", "text_fields")


def open_corpus(options: argparse.Namespace, path: str | None = None) -> Corpus:
    """Open ``--corpus``; if ``path`` is given, the documents are read from ``path``."""
    from spade_pyserini import corpora

    fields = {name: getattr(options, name) for name in FIELDS}
    return corpora.open_corpus(options.corpus, path, data_dir=options.data_dir, **fields)


def add_corpus_transforms(parser: argparse._ActionsContainer) -> None:
    """Add the options that change documents while a corpus is read.

    `open_transformed` opens the corpus and applies these options.
    """
    add = parser.add_argument
    add("--corpus-path", metavar="PATH", help="read the documents of --corpus from this path")
    add(
        "--expansions",
        metavar="FILE",
        help="append the predicted queries of this file (.jsonl, .tsv, .txt) to the documents",
    )
    add(
        "--expansions-per-doc",
        type=positive,
        metavar="N",
        help="append only the first N predicted queries of each document (.jsonl files only)",
    )
    add(
        "--segment",
        metavar="WORDS:STRIDE",
        help="divide documents into passages of WORDS words; a new passage begins every STRIDE "
        "words; the ids of the passages are doc#0, doc#1, ...",
    )
    add(
        "--pool",
        nargs="+",
        metavar="RUN[:N]|QRELS",
        help="keep only documents that are among the first N hits of a run, or that qrels judge "
        "relevant",
    )


def open_transformed(options: argparse.Namespace) -> Corpus:
    """Open ``--corpus`` and apply the options of `add_corpus_transforms`."""
    from spade_pyserini.corpora import apply_transforms

    return apply_transforms(
        open_corpus(options, options.corpus_path),
        options.segment,
        options.expansions,
        options.expansions_per_doc,
        options.pool,
        data_dir=options.data_dir,
    )


def positive(text: str) -> int:
    """Argument type: an integer >= 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return value


def integer(least: int, most: int) -> Callable[[str], int]:
    """Argument type: an integer from ``least`` to ``most``."""

    def convert(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return value

    convert.__name__ = "integer"  # argparse names the type in its messages
    return convert


def folder(text: str) -> Path:
    """Argument type: the path of an existing folder."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text}: no such folder")
    return Path(text)


threads = integer(1, 1024)
