#!/usr/bin/env python3
"""Installs MCP's SDK for Python under target/clients, once, with the servers that require the same version.

    scripts/sdk.py      prints the path of the Python that has it
"""

import pypi

SERVERS = ["mcp-server-git==2026.10.19", "mcp-server-time==2026.10.19"]


def programs():
    """Returns the folder with the Python and the servers."""
    return pypi.install("python", "mcp==2.3.0", *SERVERS)


def python():
    """Returns the path of a Python with the SDK."""
    return programs() / "python"


if __name__ == "__main__":
    print(python())
