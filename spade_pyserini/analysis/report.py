"""A report: one HTML page about several runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini import __version__
from spade_pyserini.analysis.compare import TopicDifference, extremes, tally, topic_differences
from spade_pyserini.analysis.html import charts, elements
from spade_pyserini.analysis.html.page import page
from spade_pyserini.errors import NotFoundError
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.formats.tables import read_csv
from spade_pyserini.records import Ranking, Topic

if TYPE_CHECKING:
    from ir_measures import Measure

    from spade_pyserini.evaluate import Comparison

# The measure of the comparison by topic; without it, the first measure of the report is used.
TOPIC_MEASURE = "nDCG@10"
TOP = 10


@dataclass(frozen=True)
class ReportOptions:
    """The contents of a report.

    baseline: the run that the others are compared with, the first by default.
    measures: the columns of the table, the usual ones by default.
    level: the lowest grade that binary measures count as relevant.
    topics: topics whose texts are shown.
    figures: image files, see `sweep_figures`.
    breakdown: a file with the output of ``spade breakdown --format csv``.
    """

    baseline: str | None = None
    measures: Sequence[Measure] | None = None
    level: int = 1
    topics: Sequence[Topic] = ()
    figures: Sequence[Path] = ()
    breakdown: Path | None = None


def html_report(
    qrels: Qrels,
    runs: dict[str, list[Ranking]],
    title: str,
    options: ReportOptions | None = None,
) -> str:
    """Return a page with the scores of the runs and a comparison of each with the baseline."""
    from spade_pyserini.evaluate import compare_runs
    from spade_pyserini.evaluate.conventions import conventions

    options = options or ReportOptions()
    baseline = (options.baseline or next(iter(runs))) if len(runs) > 1 else options.baseline
    comparison = compare_runs(qrels, runs, options.measures, baseline=baseline, level=options.level)
    compared = baseline if len(runs) > 1 else None
    notes = conventions(qrels, runs, level=options.level, baseline=compared)
    texts = {topic.qid: topic.text for topic in options.topics}
    sections = [
        elements.section(
            "Measures",
            elements.table(comparison.header(), comparison.rows(), bold=len(runs) > 1),
            *map(elements.paragraph, notes.splitlines()),
            elements.side_by_side(_bars(comparison, baseline)),
        ),
        *(_by_topic(comparison, baseline, name, texts) for name in comparison.tests if baseline),
    ]
    if options.breakdown:
        header, *rows = read_csv(options.breakdown)
        sections.append(elements.section("By shared terms", elements.table(header, rows)))
    if options.figures:
        images = elements.side_by_side(map(elements.image, options.figures))
        sections.append(elements.section("Figures", images))
    sections.append(elements.paragraph(f"spade_pyserini {__version__}"))
    return page(title, sections)


def _bars(comparison: Comparison, baseline: str | None) -> Iterator[str]:
    """A chart for each measure."""
    from spade_pyserini.evaluate.measures import aggregate, measure_name

    for measure in comparison.measures:
        means = {
            name: aggregate(measure, values[measure]) for name, values in comparison.values.items()
        }
        yield charts.bars(measure_name(measure), means, baseline)


def _by_topic(comparison: Comparison, baseline: str, name: str, texts: dict[str, str]) -> str:
    """A run against the baseline by topic: wins and losses, a chart, the largest differences."""
    from spade_pyserini.evaluate.measures import measure_name

    by_name = {measure_name(measure): measure for measure in comparison.measures}
    measure = by_name.get(TOPIC_MEASURE, comparison.measures[0])
    values = comparison.values
    differences = topic_differences(values[baseline][measure], values[name][measure])
    wins, ties, losses = tally(differences)
    test = comparison.tests[name][measure]
    figures = {"wins": str(wins), "ties": str(ties), "losses": str(losses)}
    figures |= {"mean difference": f"{test.mean:+.4f}", "p": f"{test.p:.2g}"}
    title = f"{name} against {baseline}"
    return elements.section(
        title,
        elements.paragraph(
            f"{measure_name(measure)}, a bar for each of {len(differences)} topics: above 0 where "
            "this run is better than the baseline"
        ),
        elements.tiles(figures),
        charts.signed_bars(
            f"{title}, topic by topic", [_bar(topic, texts) for topic in differences]
        ),
        elements.side_by_side(
            f"<h3>Largest {heading}</h3>{_topic_table(topics, texts)}"
            for heading, topics in zip(("gains", "losses"), extremes(differences, TOP), strict=True)
        ),
    )


def _bar(topic: TopicDifference, texts: dict[str, str]) -> charts.SignedBar:
    scores = f"{topic.baseline:.4f} to {topic.candidate:.4f}, {topic.difference:+.4f}"
    return charts.SignedBar(topic.difference, f"{_label(topic, texts)}\n{scores}")


def _topic_table(topics: list[TopicDifference], texts: dict[str, str]) -> str:
    if not topics:
        return elements.paragraph("none")
    rows = [
        [
            _label(topic, texts),
            f"{topic.baseline:.4f}",
            f"{topic.candidate:.4f}",
            f"{topic.difference:+.4f}",
        ]
        for topic in topics
    ]
    return elements.table(["topic", "baseline", "run", "difference"], rows, kind="topics")


def _label(topic: TopicDifference, texts: dict[str, str]) -> str:
    return f"{topic.qid} {texts.get(topic.qid, '')}".strip()


def sweep_figures(folder: Path) -> list[Path]:
    """Return the figures in a sweep's folder by name; of SVG and PNG versions, the SVG."""
    figures = {path.stem: path for suffix in ("png", "svg") for path in folder.glob(f"*.{suffix}")}
    if not figures:
        message = f"{folder}: no .svg or .png file; give the folder of a finished sweep"
        raise NotFoundError(message)
    return [figures[stem] for stem in sorted(figures)]
