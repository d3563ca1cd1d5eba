"""`Workers` limits the number of concurrent requests and the time of each request."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from spade_pyserini.serve.limits import RefusedError
from spade_pyserini.serve.workers import Workers


def test_more_requests_than_may_wait_are_refused() -> None:
    release = threading.Event()
    workers = Workers("test", threads=1, waiting=1, seconds=60)

    async def run() -> list[Any]:
        accepted = [asyncio.ensure_future(workers.run(release.wait)) for _ in range(2)]
        await asyncio.sleep(0.01)
        with pytest.raises(RefusedError, match="the server is busy") as refused:
            await workers.run(release.wait)
        assert (refused.value.status, refused.value.retry_after) == (503, 1)
        release.set()
        return await asyncio.gather(*accepted)

    assert asyncio.run(run()) == [True, True]
    workers.close()
    assert workers.active == 0


def test_a_slow_request_is_given_up_but_keeps_its_thread() -> None:
    release = threading.Event()
    workers = Workers("test", threads=1, waiting=0, seconds=0.05)

    async def run() -> None:
        with pytest.raises(RefusedError, match=r"no answer within 0\.05 seconds") as refused:
            await workers.run(release.wait)
        assert (refused.value.status, refused.value.retry_after) == (503, None)
        assert workers.active == 1
        with pytest.raises(RefusedError, match="busy"):
            await workers.run(release.wait)

    asyncio.run(run())
    release.set()
    workers.close()
    assert workers.active == 0


def test_errors_of_a_request_are_raised() -> None:
    workers = Workers("test", threads=1, waiting=1, seconds=60)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(workers.run(lambda: 1 // 0))
    workers.close()
