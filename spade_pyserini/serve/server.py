"""Run the server: open its socket, handle signals, and report when it is ready."""

from __future__ import annotations

import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from spade_pyserini.errors import SpadeError
from spade_pyserini.serve.app import create_app
from spade_pyserini.serve.guard import LOOPBACK, Guard
from spade_pyserini.serve.service import Service

STOP_SECONDS = 5  # time for running requests to finish when the server is stopped


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on an address; port 0 selects any free port."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (OSError, UnicodeError) as error:
        raise SpadeError(f"the host {host!r} is not known ({error}); give host=127.0.0.1") from None
    family, kind, protocol, _, address = found[0]
    # asyncio sets TCP_NODELAY only if the socket has a protocol number; without TCP_NODELAY,
    # answers are delayed by 40 ms.
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        reason = error.strerror or error
        message = f"cannot listen on {host}, port {port} ({reason})"
        raise SpadeError(f"{message}; give another port=N, or another host=ADDRESS") from None
    return listener


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in LOOPBACK


def address_of(listener: socket.socket, host: str) -> str:
    """Return the URL to open in a browser."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{listener.getsockname()[1]}/"


def run(
    service: Service,
    listener: socket.socket,
    host: str,
    ready: Callable[[], None] = lambda: None,
    *,
    log_requests: bool = False,
) -> None:
    """Serve until SIGINT or SIGTERM, then finish the running requests and close the service.

    ``ready`` is called as soon as the server answers requests.
    """
    limits = service.limits
    # Other machines may use any name for this server, so host names are checked only on loopback.
    hosts = {host, *LOOPBACK} if is_loopback(host) else None
    config = uvicorn.Config(
        Guard(create_app(service), limits.body, limits.seconds, hosts),
        log_config=None,
        access_log=log_requests,
        limit_concurrency=limits.connections,
        timeout_graceful_shutdown=STOP_SECONDS,
        server_header=False,
    )
    _Server(config, ready).run(sockets=[listener])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal. Uvicorn's method raises the signal again; this method does not."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        handlers = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
