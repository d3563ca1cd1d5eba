"""A stand-in for the Hugging Face hub: a local server for the client of the hub.

Repositories are kept in memory. As on the hub, small files are uploaded as part of a commit.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_stand_in"


@dataclass
class Hub:
    """The state of the stand-in: its address, the files of each repository, and all requests."""

    address: str = ""
    repositories: dict[str, dict[str, bytes]] = field(default_factory=dict)
    private: set[str] = field(default_factory=set)
    requests: list[str] = field(default_factory=list)

    def commit_of(self, name: str) -> str:
        """The id of the newest commit: a digest of the files."""
        files = sorted(self.repositories[name].items())
        return hashlib.sha1(repr(files).encode()).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        path = self._note()
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if path == "/api/validate-yaml":
            self._json({"errors": [], "warnings": []})
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._json({"error": "Invalid username or password."}, 401)
        elif path == "/api/repos/create":
            self._create(json.loads(body))
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/(preupload|commit)/main", path):
            self._upload(match[1], match[2], body)
        else:
            self._json({"error": f"unexpected call of {path}"}, 404)

    def _create(self, values: dict[str, Any]) -> None:
        name = f"{values['organization']}/{values['name']}"
        if values.get("visibility") == "private":
            self.hub.private.add(name)
        status = 409 if name in self.hub.repositories else 200
        self.hub.repositories.setdefault(name, {})
        url = f"{self.hub.address}/{name}"
        self._json({"url": url, "name": name, "error": "exists"}, status)

    def _upload(self, name: str, step: str, body: bytes) -> None:
        if step == "preupload":
            paths = [entry["path"] for entry in json.loads(body)["files"]]
            entry = {"uploadMode": "regular", "shouldIgnore": False}
            self._json({"files": [{"path": path, **entry} for path in paths]})
            return
        files = self.hub.repositories[name]
        for line in map(json.loads, body.decode().splitlines()):
            if line["key"] == "file":
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            elif line["key"] == "deletedFile":
                del files[line["value"]["path"]]
        commit = self.hub.commit_of(name)
        url = f"{self.hub.address}/{name}/commit/{commit}"
        self._json({"commitUrl": url, "commitOid": commit, "pullRequestUrl": None, "success": True})

    def do_GET(self) -> None:
        path = self._note()
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)(/revision/[^/]+)?", path):
            self._info(match[1])
        elif match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/tree/[^/]+/?", path):
            self._tree(match[1])
        elif match := re.fullmatch(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path):
            self._file(match[1], match[2])
        else:
            self._json({"error": f"unexpected call of {path}"}, 404)

    do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

    def _known(self, name: str) -> bool:
        if name in self.hub.repositories:
            return True
        self._json({"error": "Repository not found"}, 404, {"X-Error-Code": "RepoNotFound"})
        return False

    def _info(self, name: str) -> None:
        if self._known(name):
            files = [{"rfilename": path} for path in self.hub.repositories[name]]
            commit = self.hub.commit_of(name)
            self._json({"_id": "1", "id": name, "modelId": name, "sha": commit, "siblings": files})

    def _tree(self, name: str) -> None:
        if self._known(name):
            entries = [
                {"type": "file", "path": path, "size": len(data), "oid": _oid(data)}
                for path, data in self.hub.repositories[name].items()
            ]
            self._json(entries)

    def _file(self, name: str, path: str) -> None:
        if not self._known(name):
            return
        data = self.hub.repositories[name].get(path)
        if data is None:
            self._json({"error": "Entry not found"}, 404, {"X-Error-Code": "EntryNotFound"})
            return
        headers = {"ETag": f'"{_oid(data)}"', "X-Repo-Commit": self.hub.commit_of(name)}
        self._send(data, 200, {"Content-Type": "application/octet-stream", **headers})

    def _note(self) -> str:
        path = unquote(urlsplit(self.path).path)
        self.hub.requests.append(f"{self.command} {path}")
        return path

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self._send(data, status, {"Content-Type": "application/json", **(headers or {})})

    def _send(self, data: bytes, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _oid(data: bytes) -> str:
    """Return the id that git would give to a file with these contents."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def running_hub() -> Iterator[Hub]:
    """Run a stand-in for the Hugging Face hub on a free port of this machine."""
    hub = Hub()
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
