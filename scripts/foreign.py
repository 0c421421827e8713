#!/usr/bin/env python3
"""Runs the conformance runner on third-party MCP servers that are not MCP-AQL adapters.

    scripts/foreign.py [COMMAND]      default: target/release/mcp-aql-conformance

Four servers are from npm, one of them also over HTTP, and two from PyPI. In each case the checks of the wire must pass,
`tools.endpoint` must be the only finding and name a tool of the server, all other checks must be blocked by it, and the
command must exit with 1 quickly. Otherwise exits with 1.

Requires python3 with venv, node and npm. The servers are installed under target/clients on the first run.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import third_party
from testing import built, free_port

VERSION = "2026.8.31"
EVERYTHING = "@modelcontextprotocol/server-everything", VERSION
# Starting such a server takes most of the time.
SECONDS = 30
ROOT_CAUSE = "tools.endpoint"
# These checks are true of every MCP server. The other checks of the wire examine calls of operations.
OF_EVERY_SERVER = ["wire.only_messages", "wire.json_rpc_form", "wire.unexpected_response", "wire.stays_open"]


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
        sys.exit(f"FAILED: server-everything does not listen\n{self.log.read()}")

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
    if code != 1 or f"FAIL  {ROOT_CAUSE}" not in text or f"`{tool}`" not in text or errors:
        sys.exit(f"FAILED: {what}: ended with {code}\n{text}{errors}")
    code, text, errors, _ = run(command, "test", "--format", "json", *target)
    report = json.loads(text)
    checks = {check["id"]: check for category in report["categories"] for check in category["checks"]}
    expected = {id: "blocked" for id in checks} | {id: "pass" for id in OF_EVERY_SERVER} | {ROOT_CAUSE: "fail"}
    wrong = {id: checks[id]["verdict"] for id in checks if checks[id]["verdict"] != expected[id]}
    causes = {by["check"] for check in checks.values() for by in check.get("blockedBy", [])}
    if code != 1 or report["conformanceLevel"] != 0 or wrong or causes != {ROOT_CAUSE}:
        sys.exit(f"FAILED: {what}: ended with {code}, unexpected verdicts {wrong}, causes {causes}\n{errors}")
    code, text, errors, _ = run(command, "evidence", *target)
    if code != 1 or text or "not an MCP-AQL adapter" not in errors:
        sys.exit(f"FAILED: {what}: evidence ended with {code}\n{text}{errors}")
    print(f"ok: {what}, {took:.1f} s")


def main():
    command, programs = built("mcp-aql-conformance"), third_party.pypi(*third_party.PYTHON[2])

    def installed(package, version):
        return [third_party.node(), third_party.npm(package, version) / "dist" / "index.js"]

    def from_npm(name):
        return installed(f"@modelcontextprotocol/{name}", VERSION)

    everything = installed(*EVERYTHING)
    with tempfile.TemporaryDirectory() as folder:
        memory = ["env", f"MEMORY_FILE_PATH={folder}/memory.jsonl", *from_npm("server-memory")]
        servers = [
            ("server-everything", [*everything, "stdio"], "echo"),
            ("server-filesystem", [*from_npm("server-filesystem"), folder], "read_file"),
            ("server-memory", memory, "create_entities"),
            ("server-sequential-thinking", from_npm("server-sequential-thinking"), "sequentialthinking"),
            ("mcp-server-time", [programs / "mcp-server-time"], "get_current_time"),
            ("mcp-server-git", [programs / "mcp-server-git"], "git_status"),
        ]
        for name, program, tool in servers:
            check(f"{name}, stdio", command, ["--", *program], tool)
    with OverHttp(everything) as url:
        check("server-everything, http", command, ["--url", url], "echo")
    print("7 passed, 0 failed")


if __name__ == "__main__":
    main()
