#!/usr/bin/env python3
"""Installs packages from PyPI under target/clients, once, into a Python of their own.

    scripts/pypi.py NAME PACKAGE...      prints the folder with their programs

NAME is the folder's: packages that do not agree on what they need are to have another.
"""

import fcntl
import hashlib
import subprocess
import sys

from npm import CLIENTS


def install(name, *packages):
    """The folder with the programs of the packages, and their Python."""
    # Other versions, other folder.
    home = CLIENTS / f"{name}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"
    ready = home / "ready"
    home.mkdir(parents=True, exist_ok=True)
    # Two checks at once may want the same.
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            subprocess.run([sys.executable, "-m", "venv", home], check=True, stdout=sys.stderr)
            subprocess.run(
                [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
                check=True, stdout=sys.stderr,
            )
            ready.touch()
    return home / "bin"


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print(install(*sys.argv[1:]))
