#!/usr/bin/env python3
"""Runs the conformance runner on the adapters in other languages, which must reach level 2 without findings.

    scripts/other_languages.py [RUNNER]      default: target/release/mcp-aql-conformance

Requires python3 with venv, node and npm. Installs MCP's official SDKs, in the versions that the examples state, under
target/clients on the first run.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import third_party
from testing import ROOT, built

EXAMPLES = ROOT / "examples" / "other-languages"
# The runner starts an adapter some dozens of times, and starting an SDK takes most of the time.
SECONDS = 420


def python():
    """Returns the command of the adapter in Python."""
    folder = EXAMPLES / "python"
    requirements = (folder / "requirements.txt").read_text().split()
    return [third_party.pypi("python-adapter", *requirements) / "python", "-B", folder / "adapter.py"]


def typescript():
    """Returns the command of the adapter in TypeScript, which is copied to where Node finds the SDK."""
    folder = EXAMPLES / "typescript"
    (name, version), = json.loads((folder / "package.json").read_text())["dependencies"].items()
    third_party.npm(name, version)
    copy = third_party.npm_home(name, version) / "adapter"
    copy.mkdir(exist_ok=True)
    for file in folder.iterdir():
        if file.suffix in (".ts", ".json"):
            shutil.copy(file, copy)
    return [third_party.node(), copy / "adapter.ts"]


def problem(runner, language, command):
    """Runs the suite on an adapter, prints the findings and returns the problem, if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [runner, "test", "--format", "json", "--allow", "create,update,delete,execute", "--", *command],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=SECONDS,
        )
    report = json.loads(run.stdout or "{}")
    summary = report.get("summary", {})
    print(f"{language:10} level {report.get('conformanceLevel')}: "
          + ", ".join(f"{count} {word}" for word, count in summary.items()))
    if run.returncode == 0 and report["conformanceLevel"] == 2 and not summary["failed"] and not summary["warnings"]:
        return None
    for category in report.get("categories", []):
        for check in category["checks"]:
            if check["verdict"] not in ("pass", "n/a"):
                print(json.dumps(check, indent=2))
    return f"{language}: exit code {run.returncode}, {report.get('obstacles')}"


def main():
    runner = built("mcp-aql-conformance")
    adapters = {"Python": python(), "TypeScript": typescript()}
    with ThreadPoolExecutor() as pool:
        problems = list(pool.map(lambda it: problem(runner, *it), adapters.items()))
    for each in filter(None, problems):
        print(each, file=sys.stderr)
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
