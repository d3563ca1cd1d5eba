"""The answers of the server to valid and invalid requests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from spade_pyserini import Bm25Searcher, ImpactSearcher, SpadeEncoder
from spade_pyserini.search.texts import open_texts
from spade_pyserini.serve.app import create_app
from spade_pyserini.serve.guard import LOOPBACK, Guard
from spade_pyserini.serve.judgements import read_judgements
from spade_pyserini.serve.limits import Limits
from spade_pyserini.serve.service import ServeOptions, Service
from tests.serve.conftest import HOSTILE, QUERY, Folders

pytestmark = pytest.mark.java

LIMITS = Limits(query=100, hits=50, brief_hits=60, removed=3, docid=50, body=2000, text=500)


@pytest.fixture(scope="module")
def service(folders: Folders, tiny_model_folder: Path) -> Service:
    return Service(
        ServeOptions(
            folders.index,
            partial(open_texts, keep=True),
            bm25=folders.bm25,
            model=str(tiny_model_folder),
            judgements=read_judgements([str(folders.qrels)], str(folders.topics)),
            limits=LIMITS,
        )
    )


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[TestClient]:
    guarded = Guard(create_app(service), LIMITS.body, LIMITS.seconds, LOOPBACK)
    address = "http://127.0.0.1:8080"
    with TestClient(guarded, base_url=address, raise_server_exceptions=False) as client:
        yield client


def get(client: TestClient, path: str, **parameters: Any) -> Any:
    answer = client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_search_has_the_hits_of_both_engines(client: TestClient, folders: Folders) -> None:
    answer = get(client, "/search", q=QUERY, k=20)
    with ImpactSearcher(folders.index) as spade, Bm25Searcher(folders.bm25) as bm25:
        expected = {"spade": spade.search(QUERY, 20), "bm25": bm25.search(QUERY, 20)}
        frequencies = spade.document_frequencies(["the", "old", "cat"])
    for engine, other in (("spade", "bm25"), ("bm25", "spade")):
        hits, ranks = expected[engine], {hit.docid: n for n, hit in enumerate(expected[other], 1)}
        found = answer["results"][engine]["hits"]
        assert _ids(answer, engine) == [hit.docid for hit in hits]
        scores = [hit.score for hit in hits]
        assert [hit["score"] for hit in found] == pytest.approx(scores, abs=0.001)
        for hit in found:
            weights = [term["weight"] for term in hit["matched"]]
            assert sum(weights) == pytest.approx(hit["score"], abs=0.01)
            assert hit["other_rank"] == ranks.get(hit["docid"], hit["other_rank"])
    assert {term["term"]: term["documents"] for term in answer["terms"]} == frequencies
    brief = get(client, "/search", q=QUERY, k=20, brief=True)
    assert [tuple(hit) for hit in brief["results"]["spade"]] == [
        tuple(x) for x in expected["spade"]
    ]


def test_removed_terms_are_not_searched(client: TestClient, folders: Folders) -> None:
    answer = get(client, "/search", q="old cat old", without=["old"], k=20)
    with ImpactSearcher(folders.index) as spade, Bm25Searcher(folders.bm25) as bm25:
        assert _ids(answer, "spade") == [hit.docid for hit in spade.search("cat", 20)]
        assert _ids(answer, "bm25") == [hit.docid for hit in bm25.search("cat", 20)]
    assert {term["term"]: term["removed"] for term in answer["terms"]} == {
        "old": True,
        "cat": False,
    }
    for hit in answer["results"]["spade"]["hits"]:
        assert [term["term"] for term in hit["matched"]] == ["cat"]


def test_a_word_remains_for_bm25_until_all_its_wordpieces_are_removed(client: TestClient) -> None:
    terms = get(client, "/search", q="delete cat", without=["del"])["results"]["bm25"]["terms"]
    assert terms == ["delet", "cat"]
    both = get(client, "/search", q="delete cat", without=["del", "##ete"])
    assert both["results"]["bm25"]["terms"] == ["cat"]


def test_unknown_words_and_empty_queries(client: TestClient) -> None:
    answer = get(client, "/search", q="cat \u4e2d")
    assert [(term["text"], term["term"]) for term in answer["terms"]] == [
        ("cat", "cat"),
        ("\u4e2d", None),
    ]
    for query in ("", "   ", "\u4e2d", "\x00", "!!!"):
        assert _ids(get(client, "/search", q=query), "bm25") == []


def test_judged_documents_have_grades(client: TestClient) -> None:
    answer = get(client, "/search", q="  The OLD cat ", k=50)
    assert answer["judged"] == {"qid": "1", "relevant": 1, "level": 1}
    grades = {hit["docid"]: hit["grade"] for hit in answer["results"]["spade"]["hits"]}
    assert grades["d1"] == 1
    assert set(grades.values()) <= {None, 0, 1}
    assert get(client, "/search", q="cat")["judged"] is None
    assert get(client, "/stats")["examples"] == [QUERY, "a big dog"]


def test_a_document_and_its_explanation(client: TestClient, folders: Folders) -> None:
    with ImpactSearcher(folders.index) as searcher:
        for docid in ("d5", *HOSTILE):
            vector = searcher.doc(docid)
            document = get(client, f"/doc/{docid}".replace("..", "%2e%2e"))
            assert {term["term"]: term["impact"] for term in document["terms"]} == vector
            answer = get(client, "/explain", id=docid, q=QUERY)
            matched = {term["term"]: term["weight"] for term in answer["matched"]}
            assert matched == searcher.matched_terms(QUERY, docid)
            assert answer["score"] == sum(matched.values())
            assert "".join(piece["text"] for piece in answer["pieces"]) == document["text"]
            own = {term["term"] for term in document["terms"] if term["in_text"]}
            assert own.isdisjoint(term["term"] for term in answer["added"])
            assert len(own) + len(answer["added"]) == answer["terms"] == len(document["terms"])


def test_the_documents_of_a_term_by_impact(client: TestClient, folders: Folders) -> None:
    answer = get(client, "/terms/cat", k=50)
    assert answer["documents"] == len(answer["hits"])
    impacts = [hit["impact"] for hit in answer["hits"]]
    assert impacts == sorted(impacts, reverse=True)
    with ImpactSearcher(folders.index) as searcher:
        for hit in answer["hits"]:
            assert searcher.matched_terms("cat", hit["docid"]) == {"cat": hit["impact"]}
    assert {hit["in_text"] for hit in answer["hits"]} == {True, False}
    assert get(client, "/terms", term="cat", k=50) == answer


def test_a_text_is_expanded(client: TestClient, tiny_model_folder: Path) -> None:
    text = "the old cat sleeps"
    for _ in range(30):  # the model is loaded by the first request
        answer = client.post("/expand", json={"text": text})
        if answer.status_code == 200:
            break
        assert answer.status_code == 503 and "being loaded" in answer.json()["error"]
    expected = SpadeEncoder.from_pretrained(tiny_model_folder).explain(text)
    assert [(term["term"], term["impact"]) for term in answer.json()["terms"]] == [
        (term.term, term.impact) for term in expected
    ]
    assert "".join(piece["text"] for piece in answer.json()["pieces"]) == text


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/search", 400, "q: Field required"),
        ("/search?q=a&k=0", 400, "k: 0 is not between 1 and 50"),
        ("/search?q=a&k=51", 400, "k: 51 is not between 1 and 50"),
        ("/search?q=a&k=61&brief=true", 400, "k: 61 is not between 1 and 60"),
        ("/search?q=a&k=x", 400, "k: Input should be a valid integer"),
        ("/search?q=a&k=99999999999999999999", 400, "k: "),
        ("/search?q=" + 101 * "a", 400, "q: 101 characters; the limit is 100"),
        ("/search?q=a" + 4 * "&without=b", 400, "without: more than 3 terms"),
        ("/search?q=a&engine=dense", 400, "engine: 'dense' is not one of all, spade, bm25"),
        ("/search?q=a&brief=perhaps", 400, "brief: "),
        ("/doc/nothing", 404, "the index has no document 'nothing'"),
        ("/doc/" + 51 * "x", 400, "id: 51 characters"),
        ("/doc/%2e%2e/%2e%2e/%2e%2e/etc/hostname", 404, "the index has no document"),
        ("/explain?id=nothing&q=a", 404, "the index has no document"),
        ("/terms/cat%20dog", 404, "'cat dog' is not a WordPiece"),
        ("/terms/[MASK]x", 404, "not a WordPiece"),
        ("/terms?term=%00", 404, "not a WordPiece"),
        ("/nothing", 404, "Not Found"),
        ("/page/index.html", 404, "Not Found"),
        ("/expand", 405, "Method Not Allowed"),
    ],
)
def test_wrong_requests_have_a_status_and_a_message(
    client: TestClient, path: str, status: int, error: str
) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert error in answer.json()["error"]
    assert list(answer.json()) == ["error"]


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        (b'{"text": "' + 3000 * b"a" + b'"}', 413, "larger than 2,000 bytes"),
        (b'{"text": "' + 600 * b"a" + b'"}', 400, "text: 600 characters; the limit is 500"),
        (b'{"text": "\\ud800"}', 400, "not valid Unicode"),
        (b'{"text": 1}', 400, "text: "),
        (b"[" * 1900, 400, ""),
        (b"\xff\xfe", 400, ""),
        (b"", 400, ""),
    ],
)
def test_wrong_bodies(client: TestClient, body: bytes, status: int, error: str) -> None:
    for content in (body, iter([body])):  # with and without a Content-Length
        answer = client.post(
            "/expand", content=content, headers={"content-type": "application/json"}
        )
        assert answer.status_code == status, answer.text
        assert error in answer.json()["error"]


def test_other_hosts_are_refused(client: TestClient) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "", "[::1", "localhost@evil.example:1"):
        answer = client.get("/stats", headers={"host": host})
        assert answer.status_code == 421
        assert "host name" in answer.json()["error"]
    for host in ("localhost:8080", "127.0.0.1", "[::1]:80"):
        assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_an_unexpected_error_has_no_traceback(
    client: TestClient, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(service, "document", fail)
    answer = client.get("/doc/d1")
    assert answer.status_code == 500
    assert answer.json() == {"error": "internal error; see the server's log"}


def test_every_answer_forbids_other_content(client: TestClient) -> None:
    for path in ("/", "/docs", "/search?q=cat", "/nothing", "/openapi.json"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]


def test_the_api_is_described(client: TestClient) -> None:
    page = client.get("/docs").text
    paths = set(get(client, "/openapi.json")["paths"])
    assert paths == {
        "/search",
        "/doc/{id}",
        "/explain",
        "/terms/{term}",
        "/stats",
        "/healthz",
        "/expand",
    }
    for path in paths:
        assert path in page
    assert "<script>" not in page.replace("<script></script>", "")


def _ids(answer: Any, engine: str) -> list[str]:
    return [hit["docid"] for hit in answer["results"][engine]["hits"]]
