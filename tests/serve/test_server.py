"""``spade serve`` as a user runs it."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from spade_pyserini import SpadeModel, build_impact_index, encode_corpus
from spade_pyserini.corpora import open_corpus
from spade_pyserini.serve.server import listen
from tests.commands import Commands, copy_artifact
from tests.serve.conftest import Folders, Server, start_server, write_documents

pytestmark = pytest.mark.java


def test_the_server_answers_without_torch_until_a_text_is_expanded(
    folders: Folders, tiny_model_folder: Path
) -> None:
    server = start_server("--index", folders.index, "--model", tiny_model_folder)
    try:
        _check_when_torch_is_loaded(server)
    finally:
        server.stop()


def _check_when_torch_is_loaded(server: Server) -> None:
    assert server.get("/healthz") == {"status": "ok"}
    assert server.get("/search?q=cat")["results"]["spade"]["hits"]
    maps = Path(f"/proc/{server.process.pid}/maps")
    if not maps.exists():
        pytest.skip("needs /proc")
    assert "libtorch" not in maps.read_text()
    _load_model(server)
    assert "libtorch" in maps.read_text()


def _load_model(server: Server) -> None:
    """Expand a text; the first time, the server answers with 503 until the model is loaded."""
    request = urllib.request.Request(
        f"{server.address}/expand",
        json.dumps({"text": "cat"}).encode(),
        {"Content-Type": "application/json"},
    )
    for _ in range(60):
        try:
            with urllib.request.urlopen(request) as answer:
                assert json.load(answer)["terms"]
            return
        except urllib.error.HTTPError as error:
            assert error.code == 503
    pytest.fail("the model was not loaded")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_server(folders: Folders, number: int) -> None:
    server = start_server("--index", folders.index, "--corpus", folders.corpus)
    assert server.get("/search?q=cat")["results"]["spade"]["hits"][0]["title"]
    maps = Path(f"/proc/{server.process.pid}/maps")
    assert not maps.exists() or "libtorch" not in maps.read_text()
    assert server.stop(number) == "stopped\n"
    assert server.process.returncode == 0


def test_a_request_in_flight_is_answered_when_the_server_stops(
    folders: Folders, tiny_model_folder: Path
) -> None:
    options = ("--model", tiny_model_folder, "--timeout", 300)  # the machine may be busy
    server = start_server("--index", folders.index, *options)
    _load_model(server)
    body = json.dumps({"text": "the old cat"}).encode()
    address = ("127.0.0.1", int(server.address.rpartition(":")[2]))
    head = f"POST /expand HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + body[:9])
        server.get("/healthz")  # when this is answered, the server has read the first nine bytes
        server.process.send_signal(signal.SIGTERM)
        while _accepts(address):
            time.sleep(0.01)
        connection.sendall(body[9:])
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 200
        terms = json.loads(answer.read())["terms"]
    assert {"old", "cat"} <= {term["term"] for term in terms}
    out, _ = server.process.communicate(timeout=60)
    assert out == "stopped\n" and server.process.returncode == 0


def test_a_body_that_does_not_arrive_is_refused(folders: Folders) -> None:
    server = start_server("--index", folders.index, "--timeout", 1)
    address = ("127.0.0.1", int(server.address.rpartition(":")[2]))
    head = b"POST /expand HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n"
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(head + b"{")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 408
        error = json.loads(answer.read())["error"]
        assert error == "the body of the request did not arrive within 1 seconds"
        assert connection.recv(1) == b""  # the server closes the connection
    assert server.stop() == "stopped\n"


def _accepts(address: tuple[str, int]) -> bool:
    """Return whether the server still accepts new connections."""
    try:
        socket.create_connection(address, timeout=60).close()
    except OSError:
        return False
    return True


def test_a_changed_index_is_served_without_a_failed_request(
    folders: Folders, tiny_model: SpadeModel, tmp_path: Path
) -> None:
    index = copy_artifact(folders.index, tmp_path)
    server = start_server("--index", index)
    errors: list[Exception] = []
    counts: set[int] = set()
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            try:
                assert server.get("/search?q=the+old+cat")["results"]["spade"]["hits"]
                counts.add(server.get("/stats")["spade"]["documents"])
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    sizes = (30, 40)
    for size in sizes:
        corpus = open_corpus(str(write_documents(tmp_path / f"texts{size}.jsonl", size)))
        encode_corpus(corpus, tiny_model, tmp_path / f"vectors{size}")
        build_impact_index(tmp_path / f"vectors{size}", index, overwrite=True)
        deadline = time.monotonic() + 60
        while size + 3 not in counts and time.monotonic() < deadline:
            time.sleep(0.1)
    stop.set()
    for thread in threads:
        thread.join()
    assert errors == []
    assert counts == {27, 33, 43}
    assert server.get("/doc/d39")["title"] is not None
    server.stop()


def test_mistakes_are_reported_before_the_server_starts(
    folders: Folders, tmp_path: Path, run: Commands
) -> None:
    index = ("--index", folders.index)
    cases = [
        (["--index", tmp_path / "nothing"], 1, "no such index"),
        ([*index, "--bm25", tmp_path / "nothing"], 1, "no such index"),
        ([*index, "--bm25", folders.index], 1, "is an index of the kind impact, not bm25"),
        ([*index, "--model", "nothing"], 1, "there is no model 'nothing'"),
        ([*index, "--qrels", "nothing"], 1, "no qrels and no file with the name 'nothing'"),
        ([*index, "--qrels", folders.qrels], 1, "give the topics with --topics FILE"),
        ([*index, "--topics", folders.topics], 2, "--topics applies only with --qrels"),
        ([*index, "--corpus", "nothing"], 1, "no corpus, folder or file is called 'nothing'"),
        ([*index, "--host", "999.1.1.1"], 1, "the host '999.1.1.1' is not known"),
    ]
    for arguments, code, message in cases:
        done = run("serve", "--port", 0, *arguments)
        assert done.code == code, done.err
        assert message in done.err


def test_a_port_in_use_is_reported(folders: Folders, run: Commands) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = run("serve", "--index", folders.index, "--port", port)
    assert done.code == 1
    assert f"cannot listen on 127.0.0.1, port {port}" in done.err
    assert "give another --port N" in done.err


def test_answers_are_not_delayed_by_the_network() -> None:
    """asyncio sets TCP_NODELAY on connections only if the listening socket has a protocol."""
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_other_machines_get_a_warning(folders: Folders) -> None:
    server = start_server("--index", folders.index, "--host", "0.0.0.0", "--verbose")
    assert "0.0.0.0 can be reached from other machines" in server.printed
    assert server.address.startswith("http://127.0.0.1:")
    request = urllib.request.Request(f"{server.address}/healthz", headers={"Host": "a.example"})
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    assert "GET /healthz" in server.stop()
