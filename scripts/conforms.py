#!/usr/bin/env python3
"""Runs `mcp-aql-conformance` against the examples, in both endpoint modes, with everything allowed.

    scripts/conforms.py [FOLDER]      default: target/release

FOLDER is where cargo has put the command, with the examples under `examples/`. `tasks` has to reach
level 2 and the others level 1, each in both modes and without a finding. Every example starts with a state of its
own, in a folder that is removed afterwards.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The level to reach, and the arguments of the example; `{}` stands for its folder.
EXAMPLES = {
    "tasks": (2, ["--db", "{}/tasks.db"]),
    "notes": (1, []),
    "library": (1, []),
    "rest": (1, []),
    "guard": (1, ["--state", "{}"]),
}


def fixtures(name):
    file = ROOT / "examples" / "conformance" / f"{name}.toml"
    return ["--config", file] if file.exists() else []


def problem(folder, name, level, arguments):
    """What is wrong with an example; prints what was found."""
    with tempfile.TemporaryDirectory() as state:
        command = [folder / "examples" / name, *(word.format(state) for word in arguments)]
        begun = time.monotonic()
        run = subprocess.run(
            [folder / "mcp-aql-conformance", "test", "--level", str(level), "--format", "json",
             "--allow", "create,update,delete,execute", *fixtures(name), "--", *command],
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
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release").resolve()
    problems = {
        name: problem(folder, name, level, arguments)
        for name, (level, arguments) in EXAMPLES.items()
    }
    for name, what in problems.items():
        if what:
            print(f"{name}: {what}", file=sys.stderr)
    return 1 if any(problems.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
