#!/usr/bin/env python3
"""Calls an operation of the service, with the token in the variable TOKEN.

    ./call.py FAMILY OPERATION [PARAMS]
    ./call.py read list_tickets '{"filter":{"status":"open"}}'

The request is one of MCP 2026-07-28, which needs no connection: any process of the service can answer it.
"""

import json
import os
import sys
import urllib.error
import urllib.request

VERSION = "2026-07-28"

family, operation, *params = sys.argv[1:]
tool = f"mcp_aql_{family}"
body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
    "name": tool,
    "arguments": {"operation": operation, "params": json.loads(params[0]) if params else {}},
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    },
}}
request = urllib.request.Request(
    os.environ.get("URL", "http://127.0.0.1:8787/mcp"),
    json.dumps(body).encode(),
    {
        "Authorization": f"Bearer {os.environ['TOKEN']}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    },
)
try:
    answer = urllib.request.urlopen(request).read()
except urllib.error.HTTPError as error:
    answer = error.read()
    if error.code != 403:
        sys.exit(f"{error}: {answer.decode()}")
# Many replies are streams of events.
lines = answer.decode().splitlines()
answer = next((line.removeprefix("data: ") for line in lines if line.startswith("data: {")), answer)
reply = json.loads(answer)["result"]["content"][0]["text"]
print(json.dumps(json.loads(reply), indent=2, ensure_ascii=False))
