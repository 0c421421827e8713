#!/usr/bin/env python3
"""Installs MCP's SDK for Python under target/clients, once.

    scripts/sdk.py      prints the path of the Python that has it
"""

import subprocess
import sys
from pathlib import Path

VERSION = "2.3.0"
HOME = Path(__file__).resolve().parent.parent / "target" / "clients" / f"python-{VERSION}"


def python():
    """A Python that has the SDK."""
    own, ready = HOME / "bin" / "python", HOME / "ready"
    if not ready.exists():
        subprocess.run([sys.executable, "-m", "venv", HOME], check=True, stdout=sys.stderr)
        subprocess.run(
            [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"mcp=={VERSION}"],
            check=True, stdout=sys.stderr,
        )
        ready.touch()
    return own


if __name__ == "__main__":
    print(python())
