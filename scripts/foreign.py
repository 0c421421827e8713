#!/usr/bin/env python3
"""Runs the conformance runner on third-party MCP servers that are not MCP-AQL adapters.

    scripts/foreign.py [COMMAND]      default: target/release/mcp-aql-conformance

One server is from npm, over standard input and output and over HTTP, and one from PyPI. In each case the command must
report that the server is not an adapter, name what it found instead, and exit with 1 quickly. Otherwise exits with 1.

Requires python3 with venv, node and npm. The servers are installed under target/clients on the first run.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import npm
import sdk

ROOT = Path(__file__).resolve().parent.parent
EVERYTHING = "@modelcontextprotocol/server-everything", "2026.8.31"
CLOCK = "mcp-server-time"
# Starting such a server takes most of the time.
SECONDS = 30
VERDICT = "Nothing could be tested: not an MCP-AQL adapter: none of its "


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class OverHttp:
    """Runs the server from npm on its own port."""

    def __init__(self, program):
        self.port = free_port()
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*program, "streamableHttp"], env={**os.environ, "PORT": str(self.port)},
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT,
        )

    def __enter__(self):
        until = time.monotonic() + SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return f"http://127.0.0.1:{self.port}/mcp"
            except OSError:
                time.sleep(0.1)
        self.__exit__()
        self.log.seek(0)
        sys.exit(f"FAILED: {EVERYTHING[0]} does not listen\n{self.log.read()}")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def run(command, *arguments):
    """Returns the exit code, the output and the duration in seconds."""
    started = time.monotonic()
    try:
        ran = subprocess.run([command, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        sys.exit(f"FAILED: {arguments} has not ended after {SECONDS} s")
    return ran.returncode, ran.stdout, ran.stderr, time.monotonic() - started


def check(what, command, target, tool):
    """Checks the report, as text and as JSON, and the evidence."""
    code, text, errors, took = run(command, "test", *target)
    if code != 1 or VERDICT not in text or f"`{tool}`" not in text or errors:
        sys.exit(f"FAILED: {what}: ended with {code}\n{text}{errors}")
    code, text, errors, _ = run(command, "test", "--format", "json", *target)
    report = json.loads(text)
    summary = report["summary"]
    if code != 1 or report["conformanceLevel"] != 0 or summary["skipped"] != summary["total"]:
        sys.exit(f"FAILED: {what}: ended with {code}\n{text}{errors}")
    if not errors.startswith("nothing was tested\n"):
        sys.exit(f"FAILED: {what}: says in the end {errors!r}")
    code, text, errors, _ = run(command, "evidence", *target)
    if code != 1 or text or "not an MCP-AQL adapter" not in errors:
        sys.exit(f"FAILED: {what}: evidence ended with {code}\n{text}{errors}")
    print(f"ok: {what}, {took:.1f} s")


def main():
    command = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/mcp-aql-conformance").resolve()
    everything = [npm.node(), npm.install(*EVERYTHING) / "dist" / "index.js"]
    check(f"{EVERYTHING[0]}, stdio", command, ["--", *everything, "stdio"], "echo")
    with OverHttp(everything) as url:
        check(f"{EVERYTHING[0]}, http", command, ["--url", url], "echo")
    check(f"{CLOCK}, stdio", command, ["--", sdk.programs() / CLOCK], "get_current_time")
    print("3 passed, 0 failed")


if __name__ == "__main__":
    main()
