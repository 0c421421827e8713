"""Helps the scripts that test running programs: the first failed check ends a script, and servers end with it."""

import contextlib
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60


def check(condition, message, seen=None):
    if not condition:
        sys.exit(f"FAILED: {message}" + (f"\n  seen: {seen}" if seen is not None else ""))


def built(program):
    """Returns the program that the first argument names, or that of the release build."""
    return Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target" / "release" / program).resolve()


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def served(command, log, **options):
    """Runs a command that serves MCP over HTTP. Yields its URL and its process."""
    with log.open("w") as stderr:
        process = subprocess.Popen([*command, "--http", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stderr=stderr,
                                   **options)
    try:
        until = time.monotonic() + START_SECONDS
        while not (found := re.search(r"http://\S+/mcp", log.read_text())):
            runs = process.poll() is None and time.monotonic() < until
            check(runs, "it says where it listens", log.read_text())
            time.sleep(0.05)
        yield found[0], process
    finally:
        process.terminate()
        process.wait()
