#!/usr/bin/env python3
"""Counts the instructions and allocations of a call over standard input and output: mcp-aql and plain rmcp, with the
same operations.

    scripts/instructions.py                 builds the programs and prints one table; takes some minutes
    scripts/instructions.py --programs DIR  uses the release builds in this folder
    scripts/instructions.py --check         fails if a row of mcp-aql has grown by more than 5 % over the committed figures
    scripts/instructions.py --write         writes these figures

valgrind counts the instructions of a run with N calls and of one with twice as many. The difference, divided by N, is
the cost of one call without the cost of the start. The programs run before all others, as far as the system allows it,
because a call that is interrupted takes another way. An allocation is a call of malloc, calloc, realloc, posix_memalign
or aligned_alloc by the program.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "bench" / "instructions.json"
MAX_GROWTH = 1.05
# After a call that was interrupted, mcp-aql runs 64 calls as tasks. Among so many calls, that changes the result by 2 %.
CALLS = 1600
RUNS = 3
ATTEMPTS = 3
TIME_LIMIT_SECONDS = 300
ALLOCATORS = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc")
INSIDE_REALLOC = ("_int_realloc",)
TASK = {"title": "Write the report", "status": "todo", "priority": 2, "assignee": "Ada", "due_date": "2031-05-06"}
PLACE = {"name": "Library", "rating": 4, "address": {
    "street": "Main Street 7", "town": "Springfield", "position": {"latitude": 52.5, "longitude": 13.25}}}
MOVED = {"place_id": 1, "input": {"rating": 5, "address": {"street": "Side Street 8", "position": {"latitude": 52.75}}}}
WELL_RATED = {"filter": {"rating": {"gte": 3}}, "sort": [{"field": "name", "order": "asc"}], "first": 100}


@dataclass
class Row:
    """A row of the table: its calls, one after the other, and the records that exist before."""
    name: str
    program: str
    calls: list
    before: list
    peer: list | None = None
    """The calls of the peer, if they differ; empty if it has none."""
    confirms: bool = False
    """Whether the answers are confirmation tokens, with which the calls are sent again."""
    repetitions: int = CALLS


READ = {"task_id": 1, "archived": False, "newer_than": 0}
ROWS = [
    Row("READ, three parameters", "records", [("get_task", READ)], [("create_task", TASK)]),
    Row("READ, unknown parameter with suggestion", "records", [("get_task", {"task_id": 1, "archive": False})],
        [("create_task", TASK)]),
    Row("CREATE, nested object", "places", [("create_place", PLACE)], []),
    Row("UPDATE, deep merge", "places", [("update_place", MOVED)], [("create_place", PLACE)]),
    Row("list of 100 records, filtered", "records", [("list_tasks", {"status": "todo", "limit": 100})],
        [("create_task", TASK)] * 100, repetitions=200),
    Row("query of 100 records, filtered and sorted", "places", [("list_places", WELL_RATED)],
        [("create_place", PLACE)] * 100, [("list_places", {"min_rating": 3, "by_name": True, "first": 100})],
        repetitions=200),
    Row("introspect, one operation", "records", [("introspect", {"query": "operations", "name": "get_task"})],
        [("create_task", TASK)], []),
    Row("DELETE, two calls: refused and confirmed", "places", [("delete_place", {"place_id": "NEXT"})],
        [("create_place", PLACE)] * 100, confirms=True, repetitions=50),
]


def line(side, number, operation, params):
    if side == "rmcp":
        call = {"name": operation, "arguments": params}
    else:
        verb = operation.split("_")[0]
        family = "read" if verb in ("get", "list", "introspect") else verb
        call = {"name": f"mcp_aql_{family}", "arguments": {"operation": operation, "params": params}}
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}) + "\n"


def run_before_others():
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, OSError):
        # Only root may, and only on Linux.
        pass


class Run:
    """A program under valgrind."""

    def __init__(self, command, folder):
        # With several threads, the instructions of waiting depend on the load of the machine.
        environment = os.environ | {"TOKIO_WORKER_THREADS": "1"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, cwd=folder, env=environment)
        # A program that hangs is killed, which ends the reads.
        self.limit = threading.Timer(TIME_LIMIT_SECONDS, self.process.kill)
        self.limit.daemon = True
        self.limit.start()

    def ask(self, lines, answers=None):
        """Sends all lines at once, since the instructions of waiting depend on the client. Returns the answers."""
        sent = threading.Thread(target=self.send, args=("".join(lines).encode(),), daemon=True)
        sent.start()
        left, pieces = len(lines) if answers is None else answers, []
        while left > 0:
            pieces.append(os.read(self.process.stdout.fileno(), 1 << 20))
            if not pieces[-1]:
                sys.exit(f"{self.process.args[-1]} does not answer")
            left -= pieces[-1].count(b"\n")
        sent.join()
        return [json.loads(answer) for answer in b"".join(pieces).splitlines()]

    def send(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def finish(self, lines):
        """Sends all lines like `ask`, and waits for the end of the program."""
        read, _ = self.process.communicate("".join(lines).encode())
        self.limit.cancel()
        return [json.loads(answer) for answer in read.splitlines()]


def counts(program, side, row, repetitions, folder):
    """The instructions and the allocations of a run."""
    out = Path(folder) / "callgrind.out"
    run = Run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program], folder)
    run.ask([json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "count", "version": "1"}}}) + "\n"])
    run.ask([json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n"], 0)
    checked(run.ask([line(side, number, *call) for number, call in enumerate(row.before)]), False)
    calls = (row.calls if side == "aql" or row.peer is None else row.peer) * repetitions
    calls = [(operation, numbered(params, number)) for number, (operation, params) in enumerate(calls, 1)]
    if row.confirms and side == "aql":
        refused = run.ask([line(side, number, *call) for number, call in enumerate(calls)])
        tokens = {answer["id"]: token(answer) for answer in refused}
        calls = [(operation, params | {"_confirmation": tokens[number]})
                 for number, (operation, params) in enumerate(calls)]
    answers = run.finish([line(side, number, *call) for number, call in enumerate(calls)])
    if len(answers) != len(calls):
        sys.exit(f"{program} has answered {len(answers)} of {len(calls)} calls")
    checked(answers, "unknown" in row.name)
    profile = out.read_text()
    return int(re.search(r"^(?:summary|totals): (\d+)", profile, re.M)[1]), allocations(profile)


def least(program, side, row, repetitions, folder, runs):
    """The counts of the run with the fewest instructions, which depend on the load of the machine."""
    return min(counts(program, side, row, repetitions, folder) for _ in range(runs))


def numbered(params, number):
    return {name: number if value == "NEXT" else value for name, value in params.items()}


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def token(answer):
    return json.loads(text_of(answer))["error"]["details"]["confirmation_token"]


def checked(answers, fails):
    """Ends the run unless all calls have failed, or none has."""
    for answer in answers:
        failed = "error" in answer or answer["result"].get("isError") or '"success":false' in text_of(answer)
        if bool(failed) != fails:
            sys.exit(f"an unexpected answer: {json.dumps(answer)[:400]}")


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


def per_call(programs, side, row, runs=1):
    program = Path(programs).resolve() / f"{row.program}_{side}"
    with tempfile.TemporaryDirectory(prefix="instructions-") as folder:
        once, twice = (least(program, side, row, times * row.repetitions, folder, runs) for times in (1, 2))
    return [round((more - less) / row.repetitions) for less, more in zip(once, twice)]


def has_grown(now, known):
    return known is None or any(count > MAX_GROWTH * before for count, before in zip(now, known))


def print_row(name, ours, peer):
    cells = [f"{ours[0]:,}", f"{peer[0]:,}" if peer else "–", f"{ours[0] / peer[0]:.2f}" if peer else "–",
             f"{ours[1]:,}", f"{peer[1]:,}" if peer else "–"]
    print(f"{name:41} " + " ".join(f"{cell:>11}" for cell in cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, help="folder of the release builds")
    parser.add_argument("--row", default="", help="only rows with this text in their name")
    parser.add_argument("--check", action="store_true", help="compare with the committed figures")
    parser.add_argument("--write", action="store_true", help="write the committed figures")
    arguments = parser.parse_args()
    if subprocess.run(["which", "valgrind"], stdout=subprocess.DEVNULL).returncode != 0:
        sys.exit("valgrind is not installed")
    if arguments.programs is None:
        # A check does without the programs of the peer.
        programs = ["--bin=records_aql", "--bin=places_aql"] if arguments.check else ["--bins"]
        subprocess.run(["cargo", "build", "--quiet", "--locked", "--release", "-p", "mcp-aql-bench", *programs],
                       cwd=ROOT, check=True)
        arguments.programs = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    run_before_others()
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    grown = []
    print(f"{'instructions per call':41} " +
          " ".join(f"{column:>11}" for column in ("ours", "rmcp", "ratio", "allocations", "rmcp")))
    for row in (row for row in ROWS if arguments.row in row.name):
        # A check measures again what seems to have grown.
        ours = per_call(arguments.programs, "aql", row, 1 if arguments.check else RUNS)
        # The figures of the peer are not committed.
        has_peer = row.peer != [] and not arguments.check
        print_row(row.name, ours, per_call(arguments.programs, "rmcp", row) if has_peer else None)
        known = figures.get(row.name)
        # A call that was interrupted raises the count, and never lowers it.
        for _ in range(ATTEMPTS if arguments.check else 0):
            if not has_grown(ours, known):
                break
            ours = min(ours, per_call(arguments.programs, "aql", row, RUNS))
        if has_grown(ours, known):
            grown.append(f"{row.name}: {ours}, committed {known}")
        figures[row.name] = ours
    if arguments.write:
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
    if arguments.check and grown:
        sys.exit("instructions or allocations have grown by more than 5 %:\n" + "\n".join(grown))


if __name__ == "__main__":
    main()
