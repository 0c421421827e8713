#!/usr/bin/env python3
"""Installs packages from PyPI under target/clients, once, in a virtual environment.

    scripts/pypi.py NAME PACKAGE...      prints the folder with their programs

NAME is the name of the environment. Packages with conflicting requirements need different ones.
"""

import fcntl
import hashlib
import subprocess
import sys

from npm import CLIENTS


def install(name, *packages):
    """Returns the folder with the programs of the packages and their Python."""
    # Other versions are installed in another folder.
    home = CLIENTS / f"{name}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"
    ready = home / "ready"
    home.mkdir(parents=True, exist_ok=True)
    # Concurrent checks may install the same packages.
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
