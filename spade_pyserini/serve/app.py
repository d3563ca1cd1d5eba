"""The routes of the server, and the handlers that return errors as JSON."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from pydantic import BaseModel, TypeAdapter
from starlette.exceptions import HTTPException

from spade_pyserini import __version__
from spade_pyserini.errors import SpadeError, UsageError
from spade_pyserini.serve import checks, records
from spade_pyserini.serve.api_page import api_page
from spade_pyserini.serve.limits import Limits, RefusedError
from spade_pyserini.serve.page import Page, search_page
from spade_pyserini.serve.service import Service
from spade_pyserini.serve.workers import Workers

EXPANDING = 16  # requests of /expand that may wait; more are refused
DESCRIPTION = "Search an impact index of SpaDE, and see why documents match a query."
T = TypeVar("T")

logger = logging.getLogger(__name__)


class ExpandRequest(BaseModel):
    """The body of ``/expand``."""

    text: str


def create_app(service: Service) -> FastAPI:
    """Return the application; it closes the service when it shuts down."""
    limits = service.limits
    searching = Workers("search", limits.threads, limits.waiting, limits.seconds)
    expanding = Workers("expand", 1, EXPANDING, limits.seconds)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        searching.close()
        expanding.close()
        service.close()

    app = FastAPI(
        title="spade serve",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # FastAPI's page loads scripts from another host
        redoc_url=None,
        lifespan=lifespan,
        responses={400: {"model": records.Problem}, 503: {"model": records.Problem}},
    )
    _add_errors(app)
    _add_pages(app)
    _add_search(app, service, searching, limits)
    _add_documents(app, service, searching, limits)
    _add_expand(app, service, expanding, limits)
    return app


def _add_search(app: FastAPI, service: Service, workers: Workers, limits: Limits) -> None:
    write = _writer(records.SearchAnswer)
    write_hits = _writer(records.Hits)

    @app.get("/search", response_model=records.SearchAnswer | records.Hits)
    async def search(
        q: str,
        k: int = 10,
        without: Annotated[list[str], Query()] = [],  # noqa: B006 - FastAPI copies defaults
        engine: str = "all",
        brief: bool = False,
    ) -> Response:
        """Search for ``q`` and return the ``k`` best documents of each engine.

        ``without`` names WordPieces that are removed from the query. ``engine`` is ``spade``,
        ``bm25`` or ``all``. With ``brief``, only ids and scores are returned.
        """
        request = checks.checked_search(limits, q, k, without, engine, brief)
        if request.brief:
            return await _answer(workers, partial(service.hits, request), write_hits)
        return await _answer(workers, partial(service.search, request), write)


def _add_documents(app: FastAPI, service: Service, workers: Workers, limits: Limits) -> None:
    write_document = _writer(records.DocumentAnswer)
    write_explanation = _writer(records.ExplainAnswer)
    write_term = _writer(records.TermAnswer)
    write_stats = _writer(records.StatsAnswer)

    @app.get("/doc/{id:path}", response_model=records.DocumentAnswer)
    async def doc(id: str) -> Response:
        """Return a document and its vector."""
        docid = checks.checked_text("id", id, limits.docid)
        return await _answer(workers, partial(service.document, docid), write_document)

    @app.get("/explain", response_model=records.ExplainAnswer)
    async def explain(id: str, q: str = "") -> Response:
        """Explain why the document ``id`` matches ``q``: the impact of each word and term."""
        docid = checks.checked_text("id", id, limits.docid)
        query = checks.checked_text("q", q, limits.query)
        return await _answer(workers, partial(service.explain, docid, query), write_explanation)

    # For the term ".", browsers change the path /terms/. to /terms/, so the page uses a parameter.
    @app.get("/terms", response_model=records.TermAnswer, include_in_schema=False)
    @app.get("/terms/{term:path}", response_model=records.TermAnswer)
    async def terms(term: str, k: int = 20) -> Response:
        """Return the documents in which a WordPiece has the largest impacts."""
        term = checks.checked_text("term", term, limits.docid)
        k = checks.checked_hits(k, limits.hits)
        return await _answer(workers, partial(service.term, term, k), write_term)

    @app.get("/stats", response_model=records.StatsAnswer)
    async def stats() -> Response:
        """Return information on the indexes that are served, and the limits of requests."""
        return await _answer(workers, service.stats, write_stats)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        """Health check: answers at once, without waiting for other requests."""
        return {"status": "ok"}


def _add_expand(app: FastAPI, service: Service, workers: Workers, limits: Limits) -> None:
    write = _writer(records.ExpandAnswer)

    @app.post("/expand", response_model=records.ExpandAnswer)
    async def expand(body: ExpandRequest) -> Response:
        """Return the terms of a text with their impacts, and which of them the model added."""
        text = checks.checked_text("text", body.text, limits.text)
        return await _answer(workers, partial(service.expand, text), write)


def _add_pages(app: FastAPI) -> None:
    page = search_page()

    @app.get("/", response_class=HTMLResponse, include_in_schema=False)
    async def root() -> Response:
        return _html(page)

    @app.get("/docs", response_class=HTMLResponse, include_in_schema=False)
    async def docs() -> Response:
        return _html(api_page(app.openapi()))

    @app.get("/favicon.ico", include_in_schema=False)
    async def favicon() -> Response:
        return Response(status_code=204)


def _html(page: Page) -> Response:
    headers = {"Content-Security-Policy": page.policy, "Cache-Control": "no-cache"}
    return HTMLResponse(page.html, headers=headers)


def _writer(record: type[T]) -> Callable[[T], bytes]:
    """Return a function that converts a record to JSON quickly, because no types are checked."""
    adapter: TypeAdapter[T] = TypeAdapter(record)
    return adapter.dump_json


async def _answer(
    workers: Workers, function: Callable[[], T], write: Callable[[T], bytes]
) -> Response:
    body = await workers.run(lambda: write(function()))
    return Response(body, media_type="application/json")


def _add_errors(app: FastAPI) -> None:
    """Add handlers that answer an error with a message as JSON. Tracebacks are only logged."""

    async def refused(_: Request, error: Any) -> Response:
        headers = {"Retry-After": str(error.retry_after)} if error.retry_after else None
        return JSONResponse({"error": error.message}, error.status, headers)

    async def http(_: Request, error: Any) -> Response:
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    async def invalid(_: Request, error: Any) -> Response:
        return JSONResponse({"error": _describe(error.errors())}, 400)

    async def failed(_: Request, error: Any) -> Response:
        if isinstance(error, UsageError):
            return JSONResponse({"error": str(error)}, 400)
        logger.error("%s", error)
        return JSONResponse({"error": "the index cannot be read; see the server's log"}, 503)

    async def unexpected(_: Request, error: Any) -> Response:
        return JSONResponse({"error": "internal error; see the server's log"}, 500)

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(SpadeError, failed)
    app.add_exception_handler(Exception, unexpected)


def _describe(errors: list[dict[str, Any]]) -> str:
    """Describe the first invalid parameter, as in ``k: Input should be a valid integer``."""
    first = errors[0]
    names = [str(name) for name in first["loc"] if name not in ("query", "path", "body")]
    return f"{'.'.join(names) or 'body'}: {first['msg']}"
