#!/usr/bin/env python3
"""Counts the instructions and allocations of a call over standard input and output: mcp-aql and plain rmcp, with the
same operations.

    scripts/instructions.py                 builds both programs and prints one table; takes some minutes
    scripts/instructions.py --programs DIR  uses the release builds in this folder

valgrind counts the instructions of a run with N calls and of one with twice as many. The difference, divided by N, is
the cost of one call without the cost of the start. Other load on the machine does not change it. An allocation is a
call of malloc, calloc, realloc, posix_memalign or aligned_alloc by the program.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAMS = {"ours": "records_aql", "rmcp": "records_rmcp"}
CALLS = 400
TIME_LIMIT_SECONDS = 300
ALLOCATORS = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc")
INSIDE_REALLOC = ("_int_realloc",)
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
    """The messages of a client: those before the calls that are counted, and these calls."""
    begin = [json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "count", "version": "1"}}}) + "\n",
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"]
    begin += [line(side, number, "create_task", TASK) for number in range(1, tasks + 1)]
    counted = [line(side, number, *call) for number, call in enumerate(calls * repetitions, tasks + 1)]
    return begin, counted


def counts(program, side, calls, tasks, repetitions, folder):
    """The instructions and the allocations of a run. All calls are sent at once, since the instructions of waiting
    depend on the client."""
    out = Path(folder) / "callgrind.out"
    begin, counted = messages(side, calls, tasks, repetitions)
    command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program]
    # With several threads, the instructions of waiting depend on the load of the machine.
    environment = os.environ | {"TOKIO_WORKER_THREADS": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
                          env=environment) as run:
        # A program that hangs is killed, which ends the reads.
        limit = threading.Timer(TIME_LIMIT_SECONDS, run.kill)
        limit.start()
        run.stdin.write("".join(begin).encode())
        run.stdin.flush()
        # The notification is not answered.
        for _ in begin[1:]:
            run.stdout.readline()
        answers = run.communicate("".join(counted).encode())[0].count(b"\n")
        limit.cancel()
    if answers != len(counted):
        sys.exit(f"{program} has answered {answers} of {len(counted)} calls")
    profile = out.read_text()
    return int(re.search(r"^(?:summary|totals): (\d+)", profile, re.M)[1]), allocations(profile)


def allocations(profile):
    """The calls of the allocator in a profile of callgrind, except those that it makes itself."""
    names, caller, callee, total = {}, "", "", 0
    for line in profile.splitlines():
        named = re.match(r"(c?fn)=\((\d+)\)(?: (.*))?", line)
        if named:
            kind, number, name = named.groups()
            if name:
                # callgrind numbers the versions of a name, such as `malloc'2`.
                names[number] = name.split("'")[0]
            if kind == "fn":
                caller = names[number]
            else:
                callee = names[number]
        elif line.startswith("calls=") and callee in ALLOCATORS and caller not in ALLOCATORS + INSIDE_REALLOC:
            total += int(line[6:].split()[0])
    return total


def per_call(programs, side, calls, tasks):
    program = Path(programs).resolve() / PROGRAMS[side]
    with tempfile.TemporaryDirectory(prefix="instructions-") as folder:
        once, twice = (counts(program, side, calls, tasks, count, folder) for count in (CALLS, 2 * CALLS))
    return [round((more - less) / CALLS) for less, more in zip(once, twice)]


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
    columns = ("ours", "rmcp", "ratio", "allocations", "rmcp")
    print(f"{'instructions per call':40} " + " ".join(f"{column:>11}" for column in columns))
    for name, calls, tasks in ROWS:
        if arguments.row and arguments.row not in name:
            continue
        ours = per_call(arguments.programs, "ours", calls, tasks)
        has_peer = calls[0][0] != "introspect"
        peer = per_call(arguments.programs, "rmcp", calls, tasks) if has_peer else None
        cells = [f"{ours[0]:,}", f"{peer[0]:,}" if peer else "–", f"{ours[0] / peer[0]:.2f}" if peer else "–",
                 f"{ours[1]:,}", f"{peer[1]:,}" if peer else "–"]
        print(f"{name:40} " + " ".join(f"{cell:>11}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
