#!/usr/bin/env python3
"""Uses the operator console in a real, headless Chromium, as an operator would and as an attacker would.

    scripts/console.py [--pictures DIR] [COMMAND …]

COMMAND serves a console and prints its login link anywhere on its output; it is ended by the end of its
standard input, or killed. It needs the state of the tests' demonstration, which runs by default:

    CONSOLE_DEMO=1 cargo test -p mcp-aql --lib --features console -- operator::console::demo --nocapture

Needs node, npm, and Chromium: `chromium` or `google-chrome` on PATH, or CHROMIUM; as root on Debian and
its kin, installs it where there is none. playwright-core and axe-core come from npm, once, into
target/clients. Ends with 1 when a check failed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import npm

ROOT = Path(__file__).resolve().parent.parent
DEMO = ["cargo", "test", "--locked", "-p", "mcp-aql", "--lib", "--features", "console", "--",
        "operator::console::demo", "--nocapture"]
LINK = re.compile(r"http://127\.0\.0\.1:\d+/login\?once=[\w-]+")
PLAYWRIGHT = "playwright-core", "1.65.1"
AXE = "axe-core", "4.14.1"


def chromium():
    names = [os.environ.get("CHROMIUM", ""), "chromium", "google-chrome", "chromium-browser"]
    if found := next(filter(None, map(shutil.which, names)), None):
        return found
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit("Chromium is missing: install it, or set CHROMIUM to its path")
    print("Chromium is not installed: installing Debian's package", file=sys.stderr)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for arguments in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", "chromium"]):
        subprocess.run(["apt-get", *arguments], check=True, env=quiet, stdout=sys.stderr)
    return shutil.which("chromium")


def link(process):
    """The first login link that the process prints; what comes after is read and dropped."""
    seen = []
    for line in process.stdout:
        if found := LINK.search(line):
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return found.group()
        seen.append(line)
    sys.exit(f"{''.join(seen)}\n{process.args} ended without a login link")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, default="", help="puts screenshots there")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    browser = chromium()
    node, playwright, axe = npm.node(), npm.install(*PLAYWRIGHT), npm.install(*AXE)
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        options.command or DEMO, cwd=ROOT, env={**os.environ, "CONSOLE_DEMO": "1"}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    try:
        script = ROOT / "scripts" / "console.mjs"
        pictures = options.pictures and options.pictures.resolve()
        return subprocess.run([node, script, link(process), browser, playwright, axe / "axe.min.js", pictures],
                              check=False, timeout=300).returncode
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()


if __name__ == "__main__":
    sys.exit(main())
