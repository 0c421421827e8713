#!/usr/bin/env python3
"""Collects evidence from a running adapter and evaluates it with the protocol's own conformance runner.

    scripts/evidence.py --spec DIR [--level 1|2] [--output FILE] [-- COMMAND …]

DIR is a checkout of the protocol's repository with its npm packages installed (`npm ci`). COMMAND starts the adapter;
the default is `examples/tasks` of the release build, with an empty database. All of its operations are called, so it
should have its own state. Requires node, but no network. Exits like that runner: 0 pass, 1 a required test failed,
2 only warnings, 3 no evidence.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASE = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
ALLOWED = "create,update,delete,execute"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spec", type=Path, required=True, metavar="DIR")
    parser.add_argument("--level", type=int, choices=[1, 2], default=2)
    parser.add_argument("--output", type=Path, metavar="FILE", help="keeps the evidence there")
    parser.add_argument("--conformance", type=Path, default=RELEASE / "mcp-aql-conformance", metavar="FILE",
                        help="the command; by default that of the release build")
    parser.add_argument("command", nargs="*", metavar="COMMAND")
    options = parser.parse_args()

    judge = options.spec.resolve() / "scripts" / "run-conformance-tests.mjs"
    node = shutil.which("node")
    if not judge.is_file():
        return f"there is no {judge}: is {options.spec} a checkout of the protocol's repository?"
    if node is None:
        return "node is missing"
    for package in ("ajv", "ajv-formats"):
        if not (options.spec / "node_modules" / package).is_dir():
            return f"the runner's packages are not installed: run `npm ci` in {options.spec}"

    with tempfile.TemporaryDirectory() as folder:
        evidence = options.output.resolve() if options.output else Path(folder) / "evidence.json"
        adapter = options.command or [RELEASE / "examples" / "tasks", "--db", f"{folder}/tasks.db"]
        level = str(options.level)
        collected = subprocess.run(
            [options.conformance.resolve(), "evidence", "--level", level, "--allow", ALLOWED,
             "--output", evidence, "--", *adapter],
            check=False, timeout=300,
        )
        if collected.returncode != 0:
            return 3
        judged = subprocess.run([node, judge, "test", evidence, "--level", level], check=False, timeout=300)
        return judged.returncode


if __name__ == "__main__":
    outcome = main()
    if isinstance(outcome, str):
        print(outcome, file=sys.stderr)
        outcome = 3
    sys.exit(outcome)
