from __future__ import annotations

import html
import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spade_pyserini import (
    ImpactSearcher,
    SpadeModel,
    build_impact_index,
    encode_corpus,
    open_corpus,
)
from spade_pyserini.analysis.explain import (
    SHADES,
    explain_match,
    find_stop,
    heat_map,
    split_by_impact,
)
from spade_pyserini.analysis.explanation_page import FIRST, explanation_page
from spade_pyserini.encode import EncodeOptions
from spade_pyserini.formats.index_manifest import IndexManifest, manifest_path
from spade_pyserini.models import SpadeEncoder
from spade_pyserini.models.explanation import TermWeight
from spade_pyserini.models.extensions import with_forms
from tests.analysis.pages import ParsedPage
from tests.commands import Commands

TEXT = "The old cat sleeps in the house"
ANSI = re.compile(r"\033\[[\d;]*m")


@pytest.mark.java
def test_the_score_is_the_one_of_search(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    corpus = open_corpus(str(tiny_corpus))
    # One document per batch, as in `explain`: other batches may round weights differently.
    encode_corpus(corpus, tiny_model, tmp_path / "vectors", EncodeOptions(batch_tokens=1))
    build_impact_index(tmp_path / "vectors", tmp_path / "index")
    texts = {document.docid: document.contents for document in corpus}
    matches = 0
    with ImpactSearcher(tmp_path / "index") as searcher:
        for query in ("the old cat sleeps", "delete the red folder, delete it"):
            scores = {hit.docid: hit.score for hit in searcher.search(query, 100)}
            for docid, text in texts.items():
                match = explain_match(SpadeEncoder(tiny_model), text, query)
                assert match.score == scores.get(docid, 0)
                matched = {term.term: term.impact for term in match.terms}
                assert matched == searcher.matched_terms(query, docid)
                terms = set(searcher.wordpieces.query_terms(query))
                assert set(match.missing) == terms - set(matched)
                matches += len(matched)
    assert matches > 50


def test_a_query_as_a_table(tiny_corpus: Path, tiny_model_folder: Path, run: Commands) -> None:
    encoder = SpadeEncoder.from_pretrained(str(tiny_model_folder))
    text = next(doc.contents for doc in open_corpus(str(tiny_corpus)) if doc.docid == "d7")
    query = "cat bird sings quickly #,"
    arguments = ("--corpus", tiny_corpus, "--docid", "d7", "--model", tiny_model_folder)
    result = run("explain", *arguments, "--query", query)
    assert result.code == 0
    header, _, *rows, score, missing = [line.split() for line in result.out.splitlines()]
    match = explain_match(encoder, text, query)
    assert header == ["term", "weighting", "expansion", "impact"]
    assert [(row[0], int(row[3])) for row in rows] == [(t.term, t.impact) for t in match.terms]
    assert score[0] == "score" and int(score[3]) == match.score == sum(int(r[3]) for r in rows)
    words = [term for term in match.missing if term not in "#,"]
    assert missing == ["no", "match:", *words]
    assert rows and words and "#" in match.missing
    assert "no match" not in run("explain", *arguments, "--query", "cat #").out


@pytest.mark.parametrize("terminal", [False, True])
def test_a_terminal_shows_that_the_model_is_being_loaded(
    tiny_model_folder: Path, run: Commands, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    result = run("explain", "--text", TEXT, "--model", tiny_model_folder)
    assert result.code == 0 and "loading" not in result.out
    assert (f"loading {tiny_model_folder} ...\n" in result.err) == terminal


def test_words_get_the_impact_of_their_best_wordpiece(tiny_model: SpadeModel) -> None:
    text = "Deleting, a\ttree"  # the WordPieces of the first word are del ##e ##t ##ing
    terms = SpadeEncoder(tiny_model).explain(text)
    impacts = {term.term: term.impact for term in terms}
    pieces = list(split_by_impact(text, terms, tiny_model.wordpieces))
    assert "".join(piece for piece, _ in pieces) == text
    best = max(impacts.get(term, 0) for term in tiny_model.wordpieces.query_terms("deleting"))
    assert pieces[0] == ("Deleting", best)
    assert pieces[-1] == ("tree", impacts["tree"])
    assert pieces[4] == ("\t", 0)


def test_the_heat_map_of_a_terminal(tiny_model_folder: Path, run: Commands) -> None:
    arguments = ("--text", TEXT, "--model", tiny_model_folder)
    plain = run("explain", *arguments)
    colored = run("explain", *arguments, "--color", "always")
    assert plain.code == colored.code == 0
    assert not ANSI.search(plain.out)
    encoder = SpadeEncoder.from_pretrained(str(tiny_model_folder))
    terms = {term.term: term for term in encoder.explain(TEXT)}
    first = " ".join(f"{word}:{terms[word.lower()].impact}" for word in TEXT.split())
    assert plain.out.splitlines()[0] == first
    line = colored.out.splitlines()[0]
    assert ANSI.sub("", line) == TEXT
    added = re.search(r"added: (.*)", plain.out)
    assert added
    expected = [f"{term.term}:{term.impact}" for term in terms.values() if not term.in_document]
    assert added[1].split() == expected[:20]
    raised = re.search(r"raised: (.*)", plain.out)
    assert raised
    growth = [float(term.split(":+")[1]) for term in raised[1].split()]
    assert growth == sorted(growth, reverse=True)


def test_the_larger_the_impact_the_deeper_the_shade(tiny_model: SpadeModel) -> None:
    impacts = {"cat": 100, "dog": 50, "bird": 1, "fish": 90}
    terms = [TermWeight(term, term != "fish", 0.0, 0.0, impact) for term, impact in impacts.items()]
    text = "Cat, dog and bird and fish"
    shown = heat_map(text, terms, tiny_model.wordpieces, color=True)
    shades = re.findall(r"48;5;(\d+)m(\w+)\033", shown)
    expected = [(SHADES[-1], "Cat"), (SHADES[2], "dog"), (SHADES[0], "bird")]
    assert shades == [(str(shade), word) for shade, word in expected]
    page = explanation_page("x", text, terms, tiny_model.wordpieces)
    depths = re.findall(r"/ (0\.\d+)\)[^>]*>([^<]*)</span>", page)
    assert depths == [("0.60", "Cat"), ("0.30", "dog"), ("0.01", "bird")]


def test_a_document_cannot_command_the_terminal(tiny_model: SpadeModel) -> None:
    text = "cat \x1b[31m\x07 dog\u202e\nbird"
    shown = heat_map(
        text, SpadeEncoder(tiny_model).explain(text), tiny_model.wordpieces, color=False
    )
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    assert shown.count("\n") == 5


def test_the_page_is_escaped_and_self_contained(tiny_model: SpadeModel) -> None:
    text = 'cat <script>alert("x")</script> & dog'
    terms = SpadeEncoder(tiny_model).explain(text)
    source = explanation_page("<b>title</b>", text, terms, tiny_model.wordpieces)
    page = ParsedPage(source)
    assert "script" not in page.tags and "b" not in page.tags
    assert text in page.text
    assert "<b>title</b>" in page.text
    assert not {"src", "href"} & set(page.attributes)
    assert "url(" not in source and "://" not in source
    assert "prefers-color-scheme: dark" in source
    assert "width=device-width, initial-scale=1" in page.attributes["content"]
    for term in terms:
        assert html.escape(term.term) in source
    assert "The document has no terms." in explanation_page("empty", "", [], tiny_model.wordpieces)


def test_the_page_of_a_document(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    path = tmp_path / "page.html"
    arguments = ("--corpus", tiny_corpus, "--docid", "d3", "--model", tiny_model_folder)
    written = run("explain", *arguments, "--html", path)
    assert written.code == 0 and written.out.splitlines()[-1] == str(path)
    text = next(doc.contents for doc in open_corpus(str(tiny_corpus)) if doc.docid == "d3")
    assert text in ParsedPage(path.read_text()).text
    title = next(doc.title for doc in open_corpus(str(tiny_corpus)) if doc.docid == "d3")
    assert f"<h1>The terms of d3 (\u201c{title}\u201d)</h1>" in path.read_text()
    path.write_text("precious")
    refused = run("explain", *arguments, "--html", path)
    assert refused.code == 1 and "pass --overwrite" in refused.err
    assert path.read_text() == "precious"
    assert run("explain", *arguments, "--html", path, "--overwrite").code == 0


def test_text_that_the_model_did_not_read(
    tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    read, unread = " ".join(["old dog"] * 15), "old dog <sings> \u00e9t\u00e9"
    path = tmp_path / "page.html"
    arguments = ("--text", f"{read} {unread}", "--model", tiny_model_folder)
    plain = run("explain", *arguments, "--html", path)
    assert plain.code == 0
    note = "the model reads the first 32 WordPieces; the rest of the text was not read"
    first, mark, tail, *_ = plain.out.splitlines()
    assert re.sub(r":\d+", "", first) == read and first.count(":") == 30
    assert (mark, tail) == (f"[{note}]", unread)
    colored = run("explain", *arguments, "--color", "always").out.splitlines()
    assert colored[2] == f"\033[2m{unread}\033[0m"
    source = path.read_text()
    assert f"{read} {unread}" in ParsedPage(source).text
    dimmed = f'<span style="opacity: .45" title="{note}"> {html.escape(unread)}</span></p>'
    assert dimmed in source and f"The dimmed text has no impacts: {note}." in source
    for text in (read, f"{read} \n", "", " "):
        assert find_stop(SpadeEncoder.from_pretrained(tiny_model_folder), text) is None


def test_the_page_of_a_query(
    tiny_corpus: Path, tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    arguments = ("--corpus", tiny_corpus, "--docid", "d3", "--model", tiny_model_folder)
    plain, page = tmp_path / "plain.html", tmp_path / "query.html"
    assert run("explain", *arguments, "--html", plain).code == 0
    query = "cat bird <sings> quickly #"
    shown = run("explain", *arguments, "--query", query, "--html", page)
    assert shown.code == 0
    score = next(line.split()[3] for line in shown.out.splitlines() if line.startswith("score"))
    parsed = ParsedPage(page.read_text())
    assert re.search(r"Why d3 \(.*\) matches \u201ccat bird <sings> quickly #\u201d", parsed.text)
    assert f"Score {score}" in parsed.text
    missing = re.search(r"No match: (.*)\.", parsed.text)
    assert missing and "#" not in missing[1].split()
    # With a query, only the words that match it are shaded, each in a <span>.
    assert page.read_text().count("<span") < plain.read_text().count("<span")
    text = run("explain", "--text", TEXT, "--model", tiny_model_folder, "--html", tmp_path / "t")
    assert text.code == 0
    assert f"<h1>The terms of \u201c{TEXT}\u201d</h1>" in (tmp_path / "t").read_text()


@pytest.mark.java
def test_an_index_remembers_corpus_and_counts(
    tiny_corpus: Path,
    idf_model: SpadeModel,
    tmp_path: Path,
    run: Commands,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`explain` takes the corpus and its columns from the index; its score is that of `search`."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{x.docid},{x.title},{x.text}\n" for x in open_corpus(str(tiny_corpus))]
    Path("goods.csv").write_text("".join(["code,name,info\n", *rows]))
    idf_model.save_pretrained("idf")
    columns = ("--id-field", "code", "--title-field", "name", "--text-fields", "info")
    assert run("encode", "--corpus", "goods.csv", *columns, "--model", "idf").code == 0
    assert run("index", "--input", "encode/goods.idf").code == 0
    query = ("--index", "index/goods.idf", "--query", "old cat sleeps")
    hit = json.loads(run("search", *query, "--hits", 1, "--json").out)["hits"][0]
    shown = run("explain", *query, "--docid", hit["docid"], "--model", "idf")
    assert shown.code == 0, shown.err
    score = next(line.split()[3] for line in shown.out.splitlines() if line.startswith("score"))
    assert int(score) == hit["score"]
    known = run("explain", *query, "--docid", hit["docid"])
    assert known.code == 0, known.err
    assert known.out == shown.out
    assert run("index", "--bm25", "--corpus", "goods.csv", *columns).code == 0
    bm25 = run("explain", "--index", "index/goods.bm25", "--docid", "d1")
    assert bm25.code == 2 and "index/goods.bm25 is a BM25 index" in bm25.err


def test_the_page_names_the_word_of_an_added_form(
    tiny_model_folder: Path, tmp_path: Path, run: Commands
) -> None:
    model = SpadeModel.from_pretrained(tiny_model_folder)
    forms = torch.zeros(len(model.kept), dtype=torch.int32)
    forms[[model.wordpieces.term_ids[term] for term in ("fish", "dog")]] = 1
    with_forms(model, 0.5, forms).save_pretrained(tmp_path / "model")
    arguments = ("--text", "a red fish", "--model", tmp_path / "model", "--html")
    assert run("explain", *arguments, tmp_path / "page").code == 0
    page = (tmp_path / "page").read_text()
    assert "<tr><td>dog</td><td>added, form of fish</td>" in page
    assert "An added form of a word of the text gets a share of the weight" in page
    assert run("explain", *arguments, tmp_path / "query", "--query", "dog").code == 0
    assert "<td>added, form of fish</td>" in (tmp_path / "query").read_text()


@pytest.mark.java
def test_an_index_remembers_the_folder_of_its_model(
    tiny_corpus: Path, tiny_model: SpadeModel, tmp_path: Path, run: Commands
) -> None:
    """`explain` uses the recorded folder only if the same model is still in it."""
    run.monkeypatch.chdir(tmp_path)
    tiny_model.save_pretrained("my-model/best")
    encoded = run("encode", "--corpus", tiny_corpus, "--model", "../" + tmp_path.name + "/my-model")
    assert encoded.out == "encode/tiny.my-model\n"
    assert run("index", "--input", "encode/tiny.my-model").code == 0
    index = Path("index/tiny.my-model")
    manifest = IndexManifest.load(index)
    assert manifest.model_folder == str(tmp_path / "my-model" / "best")
    call = ("explain", "--index", index, "--docid", "d3")
    shown = run(*call)
    assert shown.code == 0 and shown.out == run(*call, "--model", "my-model").out, shown.err
    refusal = "made with the model 'my-model'; give its name or folder with --model NAME|PATH"
    tiny_model.with_settings(alpha=0.4).save_pretrained("my-model/best")
    other = run(*call)
    assert other.code == 2 and refusal in other.err
    shutil.rmtree("my-model")
    gone = run(*call)
    assert gone.code == 2 and refusal in gone.err
    # The manifest of an earlier version has no such fields.
    replace(manifest, model_folder="", model_fingerprint="").save(index)
    assert "model_f" not in manifest_path(index).read_text()
    old = run(*call)
    assert old.code == 2 and refusal in old.err


def test_only_the_first_terms_are_open(tiny_model: SpadeModel) -> None:
    terms = [TermWeight(f"t{n}", True, 1.0, 0.0, 50 - n) for n in range(FIRST + 5)]
    source = explanation_page("x", "cat", terms, tiny_model.wordpieces)
    open_part, folded = source.split("<details><summary>5 more terms</summary>")
    assert f">t{FIRST - 1}<" in open_part and f">t{FIRST}<" not in open_part
    assert f">t{FIRST + 4}<" in folded.split("</details>")[0]
    few = explanation_page("x", "cat", terms[:FIRST], tiny_model.wordpieces)
    assert "<details>" not in few


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "give either --docid"),
        (("--docid", "d1"), 2, "give either --docid"),
        (("--text", "x", "--corpus", "pydoc", "--docid", "x"), 2, "give either --docid"),
        (("--index", "x", "--corpus", "pydoc", "--docid", "x"), 2, "give either --docid"),
        (("--index", "x"), 2, "give either --docid"),
        (("--index", "no-where", "--docid", "x"), 1, "no-where: no such index"),
        (("--text", "cat \udcff"), 2, "not valid Unicode"),
        (("--text", "cat", "--query", "\udcff"), 2, "not valid Unicode"),
        (("--corpus", "TINY", "--docid", "nobody"), 1, "has no document 'nobody'\n"),
        (("--corpus", "TINY", "--docid", "D17"), 1, "'D17'; did you mean 'd17'"),
        (("--text", "cat", "--query", " "), 2, "--query is empty"),
    ],
)
def test_wrong_calls(
    tiny_corpus: Path,
    tiny_model_folder: Path,
    run: Commands,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    given = [tiny_corpus if word == "TINY" else word for word in arguments]
    result = run("explain", "--model", tiny_model_folder, *given)
    assert result.code == code
    assert message in result.err
