"""The search page in a real Chromium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.serve.conftest import HOSTILE, QUERY, Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.java

TIMEOUT = 60_000  # milliseconds; long enough for a busy machine


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs chromium, from the package chromium of Debian for instance")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as started:
        # Chromium's sandbox often does not work in a container; this page can be trusted.
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that fails the test if its script fails or sends a request to another host."""

    def __init__(self, browser: Browser, server: Server, width: int = 1280) -> None:
        self.server = server
        self.context = browser.new_context(viewport={"width": width, "height": 900})
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(TIMEOUT)
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda line: self._note(line.type, line.text))
        self.page.on("request", lambda request: self._check(request.url))
        self.page.on("dialog", lambda dialog: self.problems.append(dialog.message))

    def _note(self, kind: str, text: str) -> None:
        if kind == "error" and "status of 503" not in text:
            self.problems.append(text)

    def _check(self, url: str) -> None:
        if not url.startswith((self.server.address, "data:")):
            self.problems.append(f"a request to {url}")

    def open(self, path: str = "/") -> Page:
        self.page.goto(self.server.address + path)
        return self.page

    def search(self, query: str, more: str = "") -> Page:
        self.open(f"/?q={quote(query)}{more}")
        self.page.wait_for_selector(".hit")
        return self.page


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Visit]:
    visit = Visit(browser, server)
    yield visit
    assert visit.problems == []
    visit.context.close()


@pytest.fixture
def phone(browser: Browser, server: Server) -> Iterator[Visit]:
    visit = Visit(browser, server, width=390)
    yield visit
    assert visit.problems == []
    visit.context.close()


def docids(page: Page, engine: str = "spade") -> list[str | None]:
    hits = page.locator(f".column.{engine} .hit").all()
    return [hit.get_attribute("data-docid") for hit in hits]


def answer_docids(server: Server, path: str, engine: str = "spade") -> list[str]:
    return [hit["docid"] for hit in server.get(path)["results"][engine]["hits"]]


def test_a_typed_query_shows_both_columns(visit: Visit) -> None:
    page = visit.open()
    page.wait_for_selector(".start .sample")
    assert page.locator(".start .sample").all_inner_texts() == [QUERY, "a big dog"]
    page.keyboard.type(QUERY)  # the search box has the focus
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    for engine in ("spade", "bm25"):
        expected = answer_docids(visit.server, f"/search?q={quote(QUERY)}", engine)
        assert docids(page, engine) == expected
    assert page.locator(".column h2 .time").all_inner_texts()[0].endswith(" ms")
    assert page.locator(".chip").count() == 3
    assert page.locator(".move").count() > 0
    assert page.locator(".spade .stack .own").count() > 0
    assert page.locator(".spade .stack .added").count() > 0
    assert page.locator(".grade.good").count() > 0
    assert "Judged topic 1: 1 relevant document." in page.locator("#status").inner_text()
    assert page.url.endswith("?q=the+old+cat")
    href = page.locator("#json").get_attribute("href")
    assert href is not None
    assert answer_docids(visit.server, href) == docids(page)


def test_the_address_is_the_query(visit: Visit) -> None:
    page = visit.search(QUERY, "&k=5&without=the")
    assert page.locator("#q").input_value() == QUERY
    assert len(docids(page)) == 5
    assert page.locator(".chip.removed").all_inner_texts()[0].startswith("the")
    page.locator("#k").select_option("20")
    page.wait_for_selector(".spade .hit:nth-child(6)")
    assert "k=20" in page.url
    page.go_back()
    page.locator(".spade .hit:nth-child(6)").wait_for(state="detached")
    assert len(docids(page)) == 5


def test_a_click_removes_a_wordpiece_and_another_takes_it_back(visit: Visit) -> None:
    page = visit.search("old cat")
    before = docids(page)
    page.locator('.chip[data-term="old"]').click()
    page.wait_for_selector('.chip.removed[data-term="old"]')
    assert docids(page) == answer_docids(visit.server, "/search?q=old+cat&without=old")
    assert docids(page, "bm25") == answer_docids(visit.server, "/search?q=cat", "bm25")
    assert "without=old" in page.url
    page.keyboard.press("Delete")  # the chip still has the focus
    page.wait_for_selector('.chip[data-term="old"]:not(.removed)')
    assert docids(page) == before


def test_unknown_words_are_marked(visit: Visit) -> None:
    page = visit.search("cat \u4e2d")
    assert page.locator(".chip.unknown").inner_text() == "\u4e2d\nunknown"
    page.locator("#q").fill("\u4e2d")
    page.wait_for_selector(".empty")
    assert page.locator("#status").inner_text() == "No hits."
    empty = page.locator(".spade .empty").inner_text()
    assert "no term that can be searched for" in empty and "Try other words." in empty
    page.goto(f"{visit.server.address}/?q=cat&without=cat")
    page.wait_for_selector(".empty")
    assert "Click a removed term" in page.locator(".spade .empty").inner_text()


def test_the_heat_map_of_a_text(visit: Visit) -> None:
    page = visit.search(QUERY)
    first = page.locator(".spade .hit").first
    first.locator(".more").click()
    text = first.locator(".heat")
    text.wait_for()
    docid = first.get_attribute("data-docid")
    answer = visit.server.get(f"/explain?q={quote(QUERY)}&id={quote(docid or '')}")
    assert text.text_content() == "".join(piece["text"] for piece in answer["pieces"])
    heated = [piece["text"] for piece in answer["pieces"] if piece["impact"]]
    assert first.locator(".heated").all_inner_texts() == heated
    added = [term["term"] for term in answer["added"]]
    names = [text.split("\n")[0] for text in first.locator(".detail .term").all_inner_texts()]
    assert names == added[:24]
    first.locator(".more").click()
    assert text.is_hidden()


def test_wrapped_lines_are_joined(visit: Visit) -> None:
    page = visit.search("cat")
    docid = docids(page)[0]
    answer = visit.server.get(f"/explain?q=cat&id={quote(docid or '')}")
    long = "x" * 40
    texts = [f"{long}\n", "cat", f" runs\n\n{long}\nThe\n  >>> cat\nhouse"]
    pieces = [{"text": text, "impact": 9 * (text == "cat"), "matches": False} for text in texts]
    page.route("**/explain?*", lambda route: route.fulfill(json={**answer, "pieces": pieces}))
    page.locator(".spade .more").first.click()
    page.wait_for_selector(".heat")
    shown = f"{long} cat runs\n\n{long}\nThe\n  >>> cat\nhouse"
    assert page.locator(".heat").text_content() == shown
    assert page.locator(".heated").all_inner_texts() == ["cat"]


def test_a_click_on_a_term_lists_its_documents(visit: Visit) -> None:
    page = visit.search("cat")
    page.locator(".spade .term").first.click()
    page.wait_for_selector(".postings li")
    answer = visit.server.get("/terms/cat?k=25")
    scores = page.locator(".postings .score").all_inner_texts()
    assert scores == [str(hit["impact"]) for hit in answer["hits"]]
    page.keyboard.press("Escape")
    assert page.locator("#panel").is_hidden()


def test_a_pasted_text_is_expanded_while_it_is_typed(visit: Visit) -> None:
    page = visit.open("/?view=expand")
    page.locator("#text").fill("the old cat sleeps")
    page.wait_for_selector(".impacts li", timeout=5 * TIMEOUT)  # the model must be loaded first
    assert page.locator("#expand-heat .heat").text_content() == "the old cat sleeps"
    assert page.locator('.impacts i[style*="width: 0%"]').count() == 0
    first = page.locator(".impacts .name").all_inner_texts()
    page.locator("#text").press_sequentially(" in a green tree")
    page.locator("#expand-heat .heat", has_text="green tree").wait_for()
    assert page.locator(".impacts .name").all_inner_texts() != first
    page.locator("#text").fill("")
    page.wait_for_selector("#expand-terms .empty")


def test_everything_works_with_the_keyboard(visit: Visit) -> None:
    page = visit.search(QUERY)
    focused = "document.activeElement.closest('.hit')?.dataset.docid"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == docids(page)[0]
    page.keyboard.press("j")
    assert page.evaluate(focused) == docids(page)[1]
    page.keyboard.press("Enter")
    page.wait_for_selector(".spade .hit:nth-child(2) .detail .terms")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == docids(page, "bm25")[1]
    assert page.locator(".hit.same").count() >= 1
    page.keyboard.press("?")
    assert page.locator("#panel").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"


@pytest.mark.parametrize("width", [390, 900, 1600])
def test_nothing_is_wider_than_the_screen(browser: Browser, server: Server, width: int) -> None:
    visit = Visit(browser, server, width)
    for path in ("/", "/?q=the+old+cat+%3Cb%3E&k=50", "/?view=expand", "/docs"):
        page = visit.open(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    assert visit.problems == []
    visit.context.close()


def test_a_phone_shows_one_column_and_tabs(phone: Visit) -> None:
    page = phone.search(QUERY)
    assert page.locator(".column.spade").is_visible()
    assert page.locator(".column.bm25").is_hidden()
    page.get_by_role("tab", name="BM25").click()
    assert page.locator(".column.spade").is_hidden()
    assert page.locator(".column.bm25 .hit").first.is_visible()


def test_hostile_documents_and_queries_are_only_text(visit: Visit) -> None:
    page = visit.search("cat", "&k=50")
    titles = page.locator(".spade .hit h3").all_inner_texts()
    assert "<script>window.broken = 1</script>" in titles
    for docid in HOSTILE:
        hit = page.locator(f".spade .hit[data-docid={json.dumps(docid)}]")
        hit.locator(".more").click()
        hit.locator(".heat").wait_for()
        assert hit.locator(".heat").text_content() == HOSTILE[docid][1]
    for query in (
        "<img src=x onerror='window.broken = 4'> cat",
        "'\"><script>window.broken = 5</script> cat",
        "javascript:alert(1) cat \u202e",
        "cat ${window.broken = 6} {{cat}} %00 \\",
    ):
        page.locator("#q").fill(query)
        page.keyboard.press("Enter")
        page.wait_for_selector(".hit")
        assert page.locator("#q").input_value() == query
        page.reload()
        page.wait_for_selector(".hit")
        assert page.locator("#q").input_value() == query
    assert page.evaluate("window.broken") is None
    assert page.locator("main img, main script, main b:not(.term b)").count() == 0


def test_errors_are_shown_and_can_be_repeated(visit: Visit) -> None:
    page = visit.open()
    page.route("**/search?*", lambda route: route.abort())
    page.locator("#q").fill("cat")
    page.wait_for_selector(".problem")
    assert "The server does not answer" in page.locator(".problem").inner_text()
    page.unroute("**/search?*")
    page.get_by_text("Try again").click()
    page.wait_for_selector(".hit")
    refused = {"error": "the server is busy"}
    page.route("**/search?*", lambda route: route.fulfill(status=503, json=refused))
    page.locator("#q").fill("cat dog")
    page.wait_for_selector(".problem")
    assert "the server is busy" in page.locator(".problem").inner_text()
    visit.problems[:] = [text for text in visit.problems if "ERR_FAILED" not in text]


def holding(held: list[Route]) -> Callable[[Route], None]:
    """Return a handler that keeps requests until the test continues them."""

    def hold(route: Route) -> None:
        held.append(route)

    return hold


def test_while_a_search_runs_the_page_says_so(visit: Visit) -> None:
    page = visit.open()
    held: list[Route] = []
    page.route("**/search?*", holding(held))
    page.locator("#q").fill("cat")
    page.wait_for_selector(".skeleton")
    assert page.locator("#status").inner_text() == "Searching"
    held.pop().continue_()
    page.wait_for_selector(".hit")
    page.locator("#q").fill("dog")
    page.wait_for_selector(".results[aria-busy] .hit")  # the old hits stay until the new ones come
    held.pop().continue_()
    page.wait_for_selector(".results:not([aria-busy]) .hit")
    assert docids(page) == answer_docids(visit.server, "/search?q=dog")


def test_the_answer_to_a_deleted_query_or_text_is_not_shown(visit: Visit) -> None:
    page = visit.open()
    held: list[Route] = []
    page.route("**/search?*", holding(held))
    page.locator("#q").fill("cat")
    page.wait_for_selector(".skeleton")
    with page.expect_event("requestfailed"):  # the page aborts the request
        page.locator("#q").fill("")
    page.wait_for_selector(".start")
    page.route("**/expand", holding(held))
    page.locator("#show-expand").click()
    with page.expect_request("**/expand"):
        page.locator("#text").fill("cat")
    with page.expect_event("requestfailed"):
        page.locator("#text").fill("")
    page.wait_for_selector("#expand-terms .empty")


def test_an_incomplete_answer_is_an_error(visit: Visit) -> None:
    page = visit.open()
    page.route("**/search?*", lambda route: route.fulfill(status=200, body='{"query": "ca'))
    page.locator("#q").fill("cat")
    page.wait_for_selector(".problem")
    assert "The answer of the server is incomplete." in page.locator(".problem").inner_text()


def test_the_page_waits_for_the_model_and_shows_other_errors(visit: Visit) -> None:
    page = visit.open("/?view=expand")
    loading = {"error": "the model m is being loaded; try again"}
    answers = [(503, loading, {"Retry-After": "1"}), (503, {"error": "no answer"}, {})]

    def answer(route: Route) -> None:
        status, body, headers = answers.pop(0)
        route.fulfill(status=status, json=body, headers=headers)

    page.route("**/expand", answer)
    page.locator("#text").fill("cat")
    page.wait_for_selector("#expand-status .loading")
    status = page.locator("#expand-status").inner_text()
    assert status == "Please wait: the model m is being loaded"
    page.wait_for_selector("#expand-status .problem")  # the page has sent the text again
    assert page.locator("#expand-status").inner_text() == "no answer"
    assert answers == []


def test_each_query_is_an_entry_of_the_history(visit: Visit) -> None:
    page = visit.open()
    for query in ("cat", "old dog"):
        page.locator("#q").fill("")
        # The delay is so long that the page searches after each letter.
        page.locator("#q").press_sequentially(query, delay=300)
        page.locator("#q").press("Enter")
        page.wait_for_selector(f'.chip[data-term="{query[-3:]}"]')
        assert page.title() == f"{query} \u2013 SpaDE"
    page.go_back()
    page.locator('.chip[data-term="dog"]').wait_for(state="detached")
    assert page.locator("#q").input_value() == "cat"
    assert page.title() == "cat \u2013 SpaDE"
    page.reload()
    page.wait_for_selector(".hit")
    assert page.title() == "cat \u2013 SpaDE"
    page.go_back()
    page.wait_for_selector(".start")
    assert page.title() == "SpaDE search"


def test_light_and_dark(visit: Visit) -> None:
    page = visit.search(QUERY)
    color = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(color)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(color)
    assert light != dark
    page.locator("#theme").click()
    assert page.evaluate(color) == light
    page.reload()  # the choice is remembered
    assert page.evaluate(color) == light
    page.locator("#theme").click()
    assert page.evaluate(color) == dark


def test_everything_has_a_name_for_screen_readers(visit: Visit) -> None:
    page = visit.search(QUERY)
    nameless = page.evaluate(
        """[...document.querySelectorAll("button, a, input, select, textarea")].filter((element) =>
            !(element.getAttribute("aria-label") || element.textContent.trim()
              || element.labels?.length)).length"""
    )
    assert nameless == 0
    assert page.locator(".track[role=img]:not([aria-label])").count() == 0
    assert page.locator("h1, h2").count() >= 2
