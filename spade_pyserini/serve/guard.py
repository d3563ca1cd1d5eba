"""The outermost layer of the server.

It checks the host names and sizes of requests, and adds headers to all answers.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    # HTML pages set their own policy; JSON answers load no resources.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
CLOSE = {"Connection": "close"}  # for answers to requests whose body is not read to its end


class Guard:
    """Refuses requests for unknown host names, and requests with large or slow bodies.

    seconds: the time in which a body must arrive.
    hosts: the host names that a browser may use for this server; None allows all names.
        Without this check, a website could reach a server on loopback through the website's own
        name (DNS rebinding).
    """

    def __init__(
        self, app: ASGIApp, most_bytes: int, seconds: float, hosts: Iterable[str] | None
    ) -> None:
        self._app, self._most, self._seconds = app, most_bytes, seconds
        self._hosts = None if hosts is None else frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        headers = Headers(scope=scope)
        if not self._knows(headers.get("host", "")):
            await _refuse(send_with_headers, 421, "unknown host name; use localhost or 127.0.0.1")
        elif self._is_large(headers.get("content-length")):
            await _refuse(send_with_headers, 413, self._too_large)
        else:
            await self._app(scope, self._limited(receive), send_with_headers)

    def _knows(self, host: str) -> bool:
        if self._hosts is None:
            return True
        try:
            return urlsplit(f"//{host}").hostname in self._hosts
        except ValueError:
            return False

    def _is_large(self, length: str | None) -> bool:
        return length is not None and (not length.isdecimal() or int(length) > self._most)

    @property
    def _too_large(self) -> str:
        return f"the body of the request is larger than {self._most:,} bytes"

    @property
    def _too_slow(self) -> str:
        return f"the body of the request did not arrive within {self._seconds:g} seconds"

    def _limited(self, receive: Receive) -> Receive:
        """Return a function like ``receive`` that refuses a body that is too large or too slow.

        The function counts the bytes, because a request need not state the length of its body.
        """
        received, complete = 0, False
        deadline = asyncio.get_running_loop().time() + self._seconds

        async def limited() -> Message:
            nonlocal received, complete
            if complete:
                return await receive()  # the client has closed the connection
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, self._too_slow, CLOSE) from None
            received += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if received > self._most:
                raise HTTPException(413, self._too_large, CLOSE)
            return message

        return limited


async def _refuse(send: Send, status: int, error: str) -> None:
    body = json.dumps({"error": error}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),  # the rest of the body is not read
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
