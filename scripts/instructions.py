#!/usr/bin/env python3
"""Counts the instructions of a call over standard input and output: mcp-aql and plain rmcp, with the same operations.

    scripts/instructions.py                 builds both programs and prints one table; takes some minutes
    scripts/instructions.py --programs DIR  uses the release builds in this folder

valgrind counts the instructions of a run with N calls and of one with twice as many. The difference, divided by N, is
the cost of one call without the cost of the start. Other load on the machine does not change it.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {"ours": "records_aql", "rmcp": "records_rmcp"}
CALLS = 400
TASK = {"title": "Write the report", "status": "todo", "priority": 2, "assignee": "Ada", "due_date": "2031-05-06"}
NOTE = {"title": "Seeds", "text": "Carrots and peas", "notebook": "garden", "tags": ["spring", "seeds"]}
# Each row: its name, the calls of one repetition, and the number of tasks that exist before.
ROWS = [
    ("READ, three parameters", [("get_task", {"task_id": 1, "archived": False, "newer_than": 0})], 1),
    ("READ, unknown parameter with suggestion", [("get_task", {"task_id": 1, "archive": False})], 1),
    ("CREATE, four parameters", [("create_note", NOTE)], 1),
    ("UPDATE, two fields", [("update_task", {"task_id": 1, "input": {"priority": 3, "assignee": None}})], 1),
    ("list of 100 records, filtered", [("list_tasks", {"status": "todo", "limit": 100})], 100),
    ("introspect, one operation", [("introspect", {"query": "operations", "name": "get_task"})], 1),
    ("DELETE, refused for confirmation", [("delete_task", {"task_id": 1})], 1),
]


def line(side, number, operation, params):
    if side == "rmcp":
        call = {"name": operation, "arguments": params}
    else:
        verb = operation.split("_")[0]
        family = "read" if verb in ("get", "list", "introspect") else verb
        call = {"name": f"mcp_aql_{family}", "arguments": {"operation": operation, "params": params}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}) + "\n"


def messages(side, calls, tasks, repetitions):
    """All messages of a client."""
    yield json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "count", "version": "1"}}}) + "\n"
    yield json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"
    number = 0
    for operation, params in [("create_task", TASK)] * tasks + calls * repetitions:
        number += 1
        yield line(side, number, operation, params)


def instructions(program, side, calls, tasks, repetitions, folder):
    """The instructions of a run. All calls are sent at once, since the instructions of waiting depend on the client."""
    out = Path(folder) / "callgrind.out"
    sent = list(messages(side, calls, tasks, repetitions))
    run = subprocess.run(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program],
        input="".join(sent).encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder, timeout=300)
    answers = run.stdout.count(b"\n")
    if answers != len(sent) - 1:
        sys.exit(f"{program} has answered {answers} of {len(sent) - 1} requests")
    return int(re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)[1])


def per_call(programs, side, calls, tasks):
    program = Path(programs).resolve() / PROGRAMS[side]
    with tempfile.TemporaryDirectory(prefix="instructions-") as folder:
        once, twice = (instructions(program, side, calls, tasks, count, folder) for count in (CALLS, 2 * CALLS))
    return round((twice - once) / CALLS)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, help="folder of the release builds")
    parser.add_argument("--row", help="only rows with this text in their name")
    arguments = parser.parse_args()
    if subprocess.run(["which", "valgrind"], stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit("valgrind is not installed")
    if arguments.programs is None:
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--release", "-p", "mcp-aql-bench", "--bins"],
                       cwd=ROOT, check=True)
        arguments.programs = ROOT / "target" / "release"
    print(f"{'instructions per call':40} {'ours':>9} {'rmcp':>9} {'ratio':>7}")
    for name, calls, tasks in ROWS:
        if arguments.row and arguments.row not in name:
            continue
        has_peer = calls[0][0] != "introspect"
        ours = per_call(arguments.programs, "ours", calls, tasks)
        peer = per_call(arguments.programs, "rmcp", calls, tasks) if has_peer else None
        ratio = f"{ours / peer:7.2f}" if peer else ""
        print(f"{name:40} {ours:9,} {peer or '–':>9} {ratio}", flush=True)


if __name__ == "__main__":
    main()
