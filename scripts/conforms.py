#!/usr/bin/env python3
"""Runs `mcp-aql-conformance` on the examples, in both endpoint modes, with all checks allowed.

    scripts/conforms.py [FOLDER]      default: target/release

FOLDER contains the command, and the examples under `examples/`. `tasks` must reach level 2, also over HTTP, and the
others level 1, each in both modes and without findings. Every example starts with its own state in a temporary folder.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from testing import ROOT, built, served

# The required level and the arguments of the example. `{}` is replaced by its folder.
EXAMPLES = {
    "tasks": (2, ["--db", "{}/tasks.db"]),
    "notes": (1, []),
    "orders": (1, []),
    "library": (1, []),
    "rest": (1, []),
    "guard": (1, ["--state", "{}"]),
}


def fixtures(name):
    """Returns the configuration file for a target."""
    file = ROOT / "examples" / "conformance" / f"{name}.toml"
    return file.read_text() if file.exists() else ""


@contextlib.contextmanager
def started(program, state):
    """Returns the command that the runner starts, over standard input and output."""
    yield "", ["--", *program]


@contextlib.contextmanager
def over_http(program, state):
    """Returns the URLs of two servers, one for each mode, which the configuration names."""
    with contextlib.ExitStack() as stack:
        urls = {}
        for mode in ("semantic", "single"):
            folder = Path(state, mode)
            folder.mkdir()
            command = [*(str(word).replace(str(state), str(folder)) for word in program), "serve"]
            urls[mode], _ = stack.enter_context(served(
                command, Path(state, f"{mode}.log"), cwd=folder, env={**os.environ, "MCP_AQL_ENDPOINT_MODE": mode}))
        yield f"[modes.single]\nurl = '{urls['single']}'\n", ["--url", urls["semantic"]]


def problem(folder, name, level, arguments, reached):
    """Checks an example, prints the findings and returns the problems."""
    with contextlib.ExitStack() as stack:
        state = stack.enter_context(tempfile.TemporaryDirectory())
        program = [folder / "examples" / name, *(word.format(state) for word in arguments)]
        modes, target = stack.enter_context(reached(program, state))
        config = Path(state, "conformance.toml")
        config.write_text(fixtures(name) + modes)
        begun = time.monotonic()
        run = subprocess.run(
            [folder / "mcp-aql-conformance", "test", "--level", str(level), "--format", "json",
             "--allow", "create,update,delete,execute", "--config", config, *target],
            cwd=state, stdout=subprocess.PIPE, timeout=300,
        )
        took = time.monotonic() - begun
    report = json.loads(run.stdout or "{}")
    summary = report.get("summary", {})
    print(f"{name:8} level {report.get('conformanceLevel')} in {took:.1f} s: "
          + ", ".join(f"{count} {word}" for word, count in summary.items()))
    for category in report.get("categories", []):
        for check in category["checks"]:
            if check["verdict"] in ("fail", "warn"):
                print(json.dumps(check, indent=2))
    if report.get("conformanceLevel") != level:
        return f"level {level} was not reached: {report.get('obstacles')}"
    if sorted(report["modes"]) != ["semantic", "single"]:
        return f"looked at in these modes: {report['modes']}"
    if run.returncode not in (0, 2) or summary["failed"] or summary["warnings"]:
        return f"exit code {run.returncode}, with findings"
    return None


def main():
    folder = built("")
    problems = {
        name: problem(folder, name, level, arguments, started)
        for name, (level, arguments) in EXAMPLES.items()
    }
    problems["tasks over HTTP"] = problem(folder, "tasks", *EXAMPLES["tasks"], over_http)
    for name, what in problems.items():
        if what:
            print(f"{name}: {what}", file=sys.stderr)
    return 1 if any(problems.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
