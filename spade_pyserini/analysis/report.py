"""All about some runs as one HTML page."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini import __version__
from spade_pyserini.analysis import html
from spade_pyserini.analysis.compare import QueryDifference, differences, extremes, tally
from spade_pyserini.errors import InputError, NotFoundError
from spade_pyserini.formats.files import read_lines
from spade_pyserini.records import Ranking, Topic

if TYPE_CHECKING:
    from ir_measures import Measure

    from spade_pyserini.evaluate import Comparison

CLOSER = "nDCG@10"  # what topics are compared on, if it is among the measures, else the first is
TOP = 10


def html_report(
    qrels: dict[str, dict[str, int]],
    runs: dict[str, list[Ranking]],
    title: str,
    *,
    baseline: str | None = None,
    measures: Sequence[Measure] | None = None,
    level: int = 1,
    topics: Sequence[Topic] = (),
    figures: Sequence[Path] = (),
    breakdown: Path | None = None,
) -> str:
    """The page. The others are compared with the baseline, which is the first if not named."""
    from spade_pyserini.evaluate import compare_runs
    from spade_pyserini.evaluate.conventions import conventions

    if len(runs) > 1:
        baseline = baseline or next(iter(runs))
    found = compare_runs(qrels, runs, measures, baseline=baseline, level=level)
    notes = conventions(qrels, runs, level=level, baseline=baseline if len(runs) > 1 else None)
    texts = {topic.qid: topic.text for topic in topics}
    sections = [
        html.section(
            "Measures",
            html.table(found.header(), found.rows(), bold=len(runs) > 1),
            *map(html.paragraph, notes.splitlines()),
            html.side_by_side(_bars(found, baseline)),
        ),
        *(_against(found, baseline, name, texts) for name in found.differences if baseline),
    ]
    if breakdown:
        header, *rows = read_csv(breakdown)
        sections.append(html.section("By shared terms", html.table(header, rows)))
    if figures:
        sections.append(html.section("Figures", html.side_by_side(map(html.image, figures))))
    sections.append(html.paragraph(f"spade_pyserini {__version__}"))
    return html.page(title, sections)


def _bars(found: Comparison, baseline: str | None) -> Iterator[str]:
    from spade_pyserini.evaluate.measures import aggregate, measure_name

    for measure in found.measures:
        means = {name: aggregate(measure, one[measure]) for name, one in found.values.items()}
        yield html.bars(measure_name(measure), means, baseline)


def _against(found: Comparison, baseline: str, name: str, texts: dict[str, str]) -> str:
    """A run topic by topic: how often it is better, how much, and where."""
    from spade_pyserini.evaluate.measures import measure_name

    by_name = {measure_name(measure): measure for measure in found.measures}
    measure = by_name.get(CLOSER, found.measures[0])
    topics = differences(found.values[baseline][measure], found.values[name][measure])
    wins, ties, losses = tally(topics)
    mean, p = found.differences[name][measure]
    figures = {"wins": str(wins), "ties": str(ties), "losses": str(losses)}
    figures |= {"mean difference": f"{mean:+.4f}", "p": f"{p:.2g}"}
    gains, falls = extremes(topics, TOP)
    return html.section(
        f"{name} against {baseline}",
        html.paragraph(
            f"{measure_name(measure)}, a bar for each of {len(topics)} topics: above 0 where this "
            "run is better than the baseline"
        ),
        html.tiles(figures),
        html.difference_chart(topics, texts, (baseline, name)),
        html.side_by_side(
            f"<h3>Largest {title}</h3>{_topics(chosen, texts)}"
            for title, chosen in (("gains", gains), ("losses", falls))
        ),
    )


def _topics(chosen: list[QueryDifference], texts: dict[str, str]) -> str:
    if not chosen:
        return html.paragraph("none")
    rows = [
        [
            f"{one.qid} {texts.get(one.qid, '')}".strip(),
            f"{one.first:.4f}",
            f"{one.second:.4f}",
            f"{one.difference:+.4f}",
        ]
        for one in chosen
    ]
    return html.table(["topic", "baseline", "run", "difference"], rows, kind="topics")


def sweep_figures(folder: Path) -> list[Path]:
    """The pictures of a folder by name, each in one form only: SVG before PNG."""
    found = {path.stem: path for suffix in ("png", "svg") for path in folder.glob(f"*.{suffix}")}
    if not found:
        message = f"{folder}: no .svg or .png is there; name the folder of a finished sweep"
        raise NotFoundError(message)
    return [found[stem] for stem in sorted(found)]


def read_csv(path: Path) -> list[list[str]]:
    """A table with a header, all lines of the same length."""
    rows: list[list[str]] = []
    reader = csv.reader((f"{line}\n" for _, line in read_lines(path)), strict=True)
    try:
        for row in reader:
            if rows and len(row) != len(rows[0]):
                message = f"expected {len(rows[0])} columns, found {len(row)}"
                raise InputError(message, path, reader.line_num)
            rows.append(row)
    except csv.Error as error:
        raise InputError(f"not valid CSV ({error})", path, reader.line_num) from None
    if len(rows) < 2:
        raise InputError("expected a header and at least one line below it", path)
    return rows
