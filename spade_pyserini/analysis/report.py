"""A report: one HTML page about several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spade_pyserini import __version__
from spade_pyserini.analysis.compare import TopicDifference, extremes, tally, topic_differences
from spade_pyserini.analysis.html import charts, elements
from spade_pyserini.analysis.html.page import page
from spade_pyserini.analysis.report_topics import ShownTopics
from spade_pyserini.errors import NotFoundError
from spade_pyserini.formats.qrels import Qrels
from spade_pyserini.formats.tables import read_csv
from spade_pyserini.records import FindDocuments, Ranking, Topic

if TYPE_CHECKING:
    from ir_measures import Measure

    from spade_pyserini.evaluate import Comparison

# The measure of the comparison by topic. A report without this measure uses its first measure.
TOPIC_MEASURE = "nDCG@10"
TOP = 10


@dataclass(frozen=True)
class ReportOptions:
    """The contents of a report.

    baseline: the run that the others are compared with, the first by default.
    measures: the columns of the table; by default, the measures of `spade evaluate`.
    level: the lowest grade that binary measures count as relevant.
    topics: topics whose texts are shown.
    topics_name: the name of the topics, for headings.
    find: a function that returns documents by id, to show their texts.
    own: ids of topics that are also documents, see `spade_pyserini.evaluate.own_documents`.
    figures: image files, see `sweep_figures`.
    breakdown: a file with the output of ``spade breakdown --format csv``.
    """

    baseline: str | None = None
    measures: Sequence[Measure] | None = None
    level: int = 1
    topics: Sequence[Topic] = ()
    topics_name: str = ""
    find: FindDocuments | None = None
    own: Collection[str] = ()
    figures: Sequence[Path] = ()
    breakdown: Path | None = None


def html_report(
    qrels: Qrels,
    runs: dict[str, list[Ranking]],
    title: str,
    options: ReportOptions | None = None,
) -> str:
    """Return a page with the scores of the runs, and comparisons of the runs with the baseline."""
    from spade_pyserini.evaluate import compare_runs
    from spade_pyserini.evaluate.conventions import conventions

    options = options or ReportOptions()
    baseline = (options.baseline or next(iter(runs))) if len(runs) > 1 else options.baseline
    comparison = compare_runs(qrels, runs, options.measures, baseline=baseline, level=options.level)
    compared = baseline if len(runs) > 1 else None
    notes = conventions(comparison, qrels, runs, baseline=compared, own=options.own)
    texts = {topic.qid: topic.text for topic in options.topics}
    shown = ShownTopics(_shown_topics(comparison, compared), texts)
    sections = [
        elements.section(
            "Measures",
            elements.table(comparison.header(), comparison.rows(), bold=len(runs) > 1),
            *map(elements.paragraph, notes.splitlines()),
            elements.side_by_side(_bars(comparison, baseline)),
        ),
        *(
            _by_topic(comparison, baseline, name, shown, options.topics_name)
            for name in comparison.tests
            if baseline
        ),
        *([] if compared else [_lowest(comparison, shown)]),
        shown.documents_section(qrels, runs, options.find, options.level),
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
    """Yield a bar chart of the runs for each measure."""
    from spade_pyserini.evaluate.measures import aggregate, measure_name

    for measure in comparison.measures:
        means = {
            name: aggregate(measure, values[measure]) for name, values in comparison.values.items()
        }
        yield charts.bars(measure_name(measure), means, baseline)


def _topic_measure(comparison: Comparison) -> Measure:
    from spade_pyserini.evaluate.measures import measure_name

    by_name = {measure_name(measure): measure for measure in comparison.measures}
    return by_name.get(TOPIC_MEASURE, comparison.measures[0])


def _differences(comparison: Comparison, baseline: str, name: str) -> list[TopicDifference]:
    measure, values = _topic_measure(comparison), comparison.values
    return topic_differences(values[baseline][measure], values[name][measure])


def _lowest_topics(comparison: Comparison) -> dict[str, float]:
    """Return the `TOP` lowest scores of the only run, by topic id."""
    ((_, values),) = comparison.values.items()
    scores = values[_topic_measure(comparison)]
    return {qid: scores[qid] for qid in sorted(scores, key=lambda qid: (scores[qid], qid))[:TOP]}


def _shown_topics(comparison: Comparison, baseline: str | None) -> list[str]:
    """Return the topics whose documents the report lists: those in its tables of topics."""
    if baseline is None:
        return list(_lowest_topics(comparison))
    qids = [
        topic.qid
        for name in comparison.tests
        for topics in extremes(_differences(comparison, baseline, name), TOP)
        for topic in topics
    ]
    return list(dict.fromkeys(qids))


def _lowest(comparison: Comparison, shown: ShownTopics) -> str:
    """Return a section with a table of the topics on which the only run has the lowest scores."""
    from spade_pyserini.evaluate.measures import measure_name

    rows = [[shown.label(qid), f"{score:.4f}"] for qid, score in _lowest_topics(comparison).items()]
    header = ["topic", measure_name(_topic_measure(comparison))]
    return elements.section(
        "Topics with the lowest scores", elements.table(header, rows, links=shown.links)
    )


def _by_topic(
    comparison: Comparison, baseline: str, name: str, shown: ShownTopics, topics_name: str
) -> str:
    """Return a section that compares a run with the baseline, topic by topic."""
    from spade_pyserini.evaluate.measures import measure_name

    measure = _topic_measure(comparison)
    differences = _differences(comparison, baseline, name)
    wins, ties, losses = tally(differences)
    test = comparison.tests[name][measure]
    figures = {"wins": str(wins), "ties": str(ties), "losses": str(losses)}
    figures |= {
        "mean difference": f"{test.mean:+.4f}",
        "p": "-" if test.p is None else f"{test.p:.2g}",
    }
    title = f"{name} against {baseline}" + (f" on {topics_name}" if topics_name else "")
    return elements.section(
        title,
        elements.paragraph(
            f"Differences in {measure_name(measure)}, a bar for each of {len(differences)} topics. "
            "A bar is above 0 if this run is better than the baseline."
        ),
        elements.tiles(figures),
        *([elements.paragraph(f"p: {test.untested}")] if test.untested else []),
        charts.signed_bars(
            f"{title}, topic by topic", [_bar(topic, shown) for topic in differences]
        ),
        elements.side_by_side(
            f"<h3>Largest {heading}</h3>{_topic_table(topics, shown)}"
            for heading, topics in zip(("gains", "losses"), extremes(differences, TOP), strict=True)
        ),
    )


def _bar(topic: TopicDifference, shown: ShownTopics) -> charts.SignedBar:
    scores = f"{topic.baseline:.4f} to {topic.candidate:.4f}, {topic.difference:+.4f}"
    return charts.SignedBar(topic.difference, f"{shown.label(topic.qid)}\n{scores}")


def _topic_table(topics: list[TopicDifference], shown: ShownTopics) -> str:
    if not topics:
        return elements.paragraph("none")
    rows = [
        [
            shown.label(topic.qid),
            f"{topic.baseline:.4f}",
            f"{topic.candidate:.4f}",
            f"{topic.difference:+.4f}",
        ]
        for topic in topics
    ]
    header = ["topic", "baseline", "run", "difference"]
    return elements.table(header, rows, kind="topics", links=shown.links)


def run_labels(paths: Sequence[str | Path]) -> list[str]:
    """Return a distinct label for each run: the tag, with the file name if tags are equal."""
    from spade_pyserini.evaluate.comparison import short_names
    from spade_pyserini.formats.runs import run_tag

    tags = ["BM25" if (tag := run_tag(path)).lower() == "bm25" else tag for path in paths]
    counts = Counter(tags)
    files = short_names(paths)
    return [
        tag if counts[tag] == 1 else f"{tag} ({file})"
        for tag, file in zip(tags, files, strict=True)
    ]


def sweep_figures(folder: Path) -> list[Path]:
    """Return a sweep's figures, sorted by name: the SVG file of each figure, else its PNG file."""
    figures = {path.stem: path for suffix in ("png", "svg") for path in folder.glob(f"*.{suffix}")}
    if not figures:
        message = f"{folder}: no .svg or .png file; give the folder of a finished sweep"
        raise NotFoundError(message)
    return [figures[stem] for stem in sorted(figures)]
