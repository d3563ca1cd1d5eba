"""The nursery: a process that imports all libraries once and forks a child for each command.

This saves the time of the imports in each command. The nursery itself never starts a JVM and never
computes with torch, because their threads would not survive a fork. Requests and answers are JSON
messages on a socket. `tests.faults.supervisor` starts the nursery.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import socket
import sys
import time
import traceback
from typing import Any

MODULES = (
    *("torch", "transformers", "tokenizers", "safetensors.torch", "accelerate", "datasets"),
    *("sentence_transformers", "faiss", "matplotlib.figure", "yaml", "ir_measures"),
    *("torch.utils.tensorboard", "tensorboard.compat", "numpy", "pyarrow", "peft"),
    *("transformers.models.bert.modeling_bert", "transformers.models.t5.modeling_t5"),
)
PACKAGE = (
    *("encode", "index", "search", "train", "evaluate", "search.open", "train.stages"),
    *("encode.merge", "baselines.dense", "baselines.expand", "baselines.fuse", "baselines.rerank"),
    *("export.ciff", "export.opensearch", "analysis.report", "index.bm25", "models.persistence"),
    *("analysis.explain", "analysis.sweep", "lucene.jvm", "train.loop", "train.finetune"),
)
END = b"\n"


def main() -> None:
    """Answer the requests on the first socket.

    On the second socket, children send the descriptors of their seccomp filters.
    """
    import importlib

    from spade_pyserini.cli import registry
    from tests.faults import syscalls

    for name in MODULES:
        importlib.import_module(name)
    for name in PACKAGE:
        importlib.import_module(f"spade_pyserini.{name}")
    for name in registry.SUMMARIES:
        registry.load(name)
    assert syscalls
    gc.freeze()
    channel, descriptors = (socket.socket(fileno=int(number)) for number in sys.argv[1:])
    send(channel, {"ready": True})
    while (request := receive(channel)) is not None:
        _serve(channel, descriptors, request)


def send(channel: socket.socket, message: dict[str, Any]) -> None:
    """Send a message."""
    channel.sendall(json.dumps(message).encode() + END)


def receive(channel: socket.socket) -> dict[str, Any] | None:
    """Receive a message; None if the other process has closed the socket."""
    text = b""
    while not text.endswith(END):
        part = channel.recv(1)
        if not part:
            return None
        text += part
    message: dict[str, Any] = json.loads(text)
    return message


def _serve(channel: socket.socket, descriptors: socket.socket, request: dict[str, Any]) -> None:
    """Run a command in a child; report its process id, its exit code and its peak memory."""
    began = time.monotonic()
    process = os.fork()
    if process == 0:
        channel.close()
        os._exit(_run(descriptors, request))
    send(channel, {"process": process})
    while True:  # the limit is for elapsed time, not for CPU time
        done, status, usage = os.wait4(process, os.WNOHANG)
        if done:
            break
        if time.monotonic() - began > request["seconds"]:
            os.killpg(process, signal.SIGKILL)
        time.sleep(0.003)
    code = os.waitstatus_to_exitcode(status)
    send(channel, {"code": code, "kilobytes": usage.ru_maxrss})


def _run(descriptors: socket.socket, request: dict[str, Any]) -> int:
    """Run a command in this process, which is a forked child; return the exit code."""
    from spade_pyserini.cli.main import main as spade

    os.setsid()
    os.chdir(request["folder"])
    os.environ.update(request["environment"])
    for name, descriptor in (("out", 1), ("err", 2)):
        file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(file, descriptor)
    sys.argv = ["spade", *request["arguments"]]
    if request["bytes"]:
        resource.setrlimit(resource.RLIMIT_DATA, (request["bytes"], request["bytes"]))
    if request["supervised"]:
        from tests.faults.syscalls import install_filter

        listener = install_filter()
        socket.send_fds(descriptors, [b"L"], [listener])
        os.close(listener)
    descriptors.close()
    try:
        code = spade()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 70
    sys.stdout.flush()
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    main()
