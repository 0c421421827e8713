#!/usr/bin/env python3
"""Uses the operator console in a real, headless Chromium, as an operator and as an attacker.

    scripts/console.py [--pictures DIR] [COMMAND …]

COMMAND serves a console until its standard input is closed. It gets a terminal of its own, and must print the login
link only there. The console must show the data of the tests' demonstration, which is the default command:

    CONSOLE_DEMO=1 cargo test --workspace --all-features --lib -- console::demo --nocapture

Requires node, npm and Chromium: `chromium` or `google-chrome` on PATH, or CHROMIUM. As root on Debian-based systems,
installs it if it is missing. playwright-core and axe-core are installed from npm into target/clients. Exits with 1 if
a check failed.
"""

import argparse
import fcntl
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

import third_party
from testing import ROOT

# The profile of the tests, so that nothing needs to be rebuilt.
DEMO = ["cargo", "test", "--locked", "--workspace", "--all-features", "--lib", "--",
        "console::demo", "--nocapture"]
LINK = re.compile(rb"http://127\.0\.0\.1:\d+/login\?once=[\w-]+(?=\s)")
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


def start(command, output):
    """Starts the process on a terminal of its own, and returns both."""
    terminal, own = pty.openpty()
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "CONSOLE_DEMO": "1"},
        stdin=subprocess.PIPE, stdout=output, stderr=output, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(own, termios.TIOCSCTTY, 0), pass_fds=[own],
    )
    os.close(own)
    return process, terminal


def link(terminal):
    """Returns the login link as the operator sees it, or None if the process ends without printing one."""
    shown = b""
    while not (found := LINK.search(shown)):
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            # The terminal was closed.
            return None
    return found.group().decode()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, help="puts screenshots there")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    browser = chromium()
    node, playwright, axe = third_party.node(), third_party.npm(*PLAYWRIGHT), third_party.npm(*AXE)
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile() as output:
        process, terminal = start(options.command or DEMO, output)
        try:
            address = link(terminal)
            pictures = options.pictures.resolve() if options.pictures else ""
            script = ROOT / "scripts" / "console.mjs"
            failed = 1 if address is None else subprocess.run(
                [node, script, address, browser, playwright, axe / "axe.min.js", pictures],
                check=False, timeout=300,
            ).returncode
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        output.seek(0)
        printed = output.read()
    if address is None:
        sys.exit(f"{printed.decode(errors='replace')}\nit ended without a login link on its terminal")
    if b"once=" in printed:
        sys.exit("the login link is on standard output or standard error, where agents read")
    return failed


if __name__ == "__main__":
    sys.exit(main())
