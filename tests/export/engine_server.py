"""A server that records its requests, to test the calls of curl in a README."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    """A request: method, path with the parameters, content type, and the body as JSON lines."""

    method: str
    path: str
    type: str
    body: list[Any]


@contextmanager
def recording_server() -> Iterator[tuple[str, list[Request]]]:
    """Start a server; yield its address and the list of requests, which grows."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            kind = self.headers["Content-Type"]
            lines = body.splitlines() if kind.endswith("ndjson") else [body]
            values = [json.loads(line) for line in lines]
            requests.append(Request(self.command, self.path, kind, values))
            answer = b'{"errors":false}\n'
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_POST = do_PUT  # noqa: N815 - the name that http.server calls

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
