#!/usr/bin/env python3
"""Follows executions of examples/tasks as tasks of MCP with third-party clients.

    scripts/task_clients.py [ADAPTER]      default: target/release/examples/tasks

The clients are MCP's SDKs for Python (both major versions), MCP's SDK for TypeScript and MCP Inspector. They use the
tasks of MCP 2025-11-25 or the extension of MCP 2026-07-28, over standard input and output and over HTTP. Each starts a
task that it cancels, one that fails, and one whose result it fetches. Installs the clients under target/clients on the
first run. Fails at the first unexpected answer.
"""

import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import aggregator
import npm
import pypi
import sdk

ROOT = Path(__file__).resolve().parent.parent
TYPESCRIPT = "@modelcontextprotocol/sdk", "1.32.2"
# An export of so many tasks takes some seconds.
DOUBLINGS = 17
EXPORT = {"operation": "execute_export", "params": {"format": "csv"}}
TOOL = "mcp_aql_execute"


def check(condition, message, seen=None):
    if not condition:
        sys.exit(f"FAILED: {message}" + (f"\n  seen: {seen}" if seen is not None else ""))


def database(folder, adapter, doublings):
    """Creates a database with this many doublings of one task."""
    path = folder / f"tasks-{doublings}.db"
    subprocess.run([adapter, "--db", path, "call", "create_task", json.dumps({"title": "Export it"})],
                   check=True, stdout=subprocess.DEVNULL)
    with sqlite3.connect(path) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(task)") if row[1] != "number"]
        names = ", ".join(columns)
        for _ in range(doublings):
            connection.execute(f"INSERT INTO task ({names}) SELECT {names} FROM task")
    connection.close()
    return path


class Server:
    """The adapter over HTTP."""

    def __init__(self, adapter, path):
        self.log = path.with_suffix(".log")
        with self.log.open("w") as stderr:
            self.process = subprocess.Popen([adapter, "--db", path, "serve", "--http", "127.0.0.1:0"], stderr=stderr)
        for _ in range(100):
            if found := re.search(r"http://\S+/mcp", self.log.read_text()):
                self.url = found[0]
                return
            time.sleep(0.1)
        self.stop()
        check(False, "the adapter listens", self.log.read_text())

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Inspector:
    """MCP Inspector's command line for connections that last."""

    def __init__(self, folder):
        package = npm.install(*aggregator.INSPECTOR)
        self.command = [npm.node(), package / "clients" / "mcpdo" / "build" / "mcp-bin.js", "--format", "json",
                        "--stored-auth-only"]
        # Nothing of it is kept in the user's home.
        names = {"MCP_CATALOG_PATH": "catalog.json", "MCP_CLIENT_CONFIG_PATH": "client.json",
                 "MCP_INSPECTOR_DAEMON_DIR": "daemon"}
        self.env = os.environ | {name: str(folder / file) for name, file in names.items()}
        self.env |= {"MCP_INSPECTOR_DAEMON_TOKEN": "of-this-test", "MCP_INSPECTOR_SECRET_STORE": "memory",
                     "PATH": f"{npm.node().parent}:{os.environ['PATH']}"}

    def run(self, *arguments):
        """Returns the exit code, standard output as JSON, and standard error."""
        ran = subprocess.run([*self.command, *arguments], env=self.env, capture_output=True, text=True, timeout=120)
        return ran.returncode, json.loads(ran.stdout) if ran.stdout.strip() else None, ran.stderr

    def start(self, connection, arguments):
        """Calls the tool without waiting for the task."""
        call = ["--connection", connection, "tools/call", "--task", TOOL, "--tool-args-json", json.dumps(arguments)]
        return subprocess.Popen([*self.command, *call], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def ask(self, connection, *arguments):
        code, answer, errors = self.run("--connection", connection, *arguments)
        check(code == 0, f"the Inspector runs {' '.join(arguments)}", errors)
        return answer

    def tour(self, connection, target, era, lists):
        code, _, errors = self.run("--connection", connection, "connect", "--era", era, *target)
        check(code == 0, f"the Inspector connects as {connection}", errors)
        # A call as a task returns the result of the task.
        arguments = json.dumps({"operation": "execute_export", "params": {"format": "csv"}})
        result = self.ask(connection, "tools/call", "--task", TOOL, "--tool-args-json", arguments)
        state = json.loads(result["content"][0]["text"])["data"]
        check(state["status"] == "completed" and state["result"]["export"]["tasks"] == 1, "the task has a result", state)
        task = state["execution_id"]
        shown = self.ask(connection, "tasks/get", task)
        shown = shown.get("task", shown)
        check(shown["taskId"] == task and shown["status"] == "completed", "the Inspector shows the task", shown)
        again = self.ask(connection, "tasks/result", task)
        check(again["content"] == result["content"], "the result can be fetched again", again)
        if lists:
            listed = self.ask(connection, "tasks/list")["tasks"]
            check(task in [each["taskId"] for each in listed], "the Inspector lists the task", listed)
        code, _, errors = self.run("--connection", connection, "tasks/get", "exec_1")
        check(code != 0 and "Unknown task" in errors, "an unknown task is refused", errors)
        self.run("disconnect", connection)
        print(f"ok: MCP Inspector, {connection}")

    def stop(self):
        self.run("daemon", "stop")


def main():
    adapter = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/examples/tasks").resolve()
    python = {"1": pypi.install("python-older", *aggregator.OLDER) / "python", "2": sdk.python()}
    typescript = npm.install(*TYPESCRIPT)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        long, short = database(folder, adapter, DOUBLINGS), database(folder, adapter, 0)
        server, small = Server(adapter, long), Server(adapter, short)
        inspector = Inspector(folder)
        try:
            commands = [json.dumps([str(adapter), "--db", str(path), "serve"]) for path in (long, short)]
            clients = [(f"MCP's SDK for Python {version}", [program, ROOT / "scripts" / f"task_client_{version}.py"])
                       for version, program in python.items()]
            clients.append(("MCP's SDK for TypeScript", [npm.node(), ROOT / "scripts" / "task_client.mjs", typescript]))
            for name, client in clients:
                for transport, targets in [("stdio", commands), ("http", [server.url, small.url])]:
                    ran = subprocess.run([*client, *targets], capture_output=True, text=True, timeout=300)
                    check(ran.returncode == 0, f"{name} follows tasks, {transport}", ran.stdout + ran.stderr)
                    print(f"ok: {name}, {transport}", flush=True)
            stdio = ["--transport", "stdio", "--", adapter, "--db", short, "serve"]
            http = ["--transport", "http", "--server-url", small.url]
            for transport, target in [("stdio", stdio), ("http", http)]:
                inspector.tour(f"{transport}-2025-11-25", target, "legacy", lists=True)
                inspector.tour(f"{transport}-2026-07-28", target, "modern", lists=False)
        finally:
            inspector.stop()
            server.stop()
            small.stop()
    print(f"{2 * len(clients) + 4} passed, 0 failed")


if __name__ == "__main__":
    main()
