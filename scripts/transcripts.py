#!/usr/bin/env python3
"""Records what the examples answer on the wire, so that two builds can be compared.

    scripts/transcripts.py record FOLDER OUT     FOLDER contains the built examples, e.g. target/debug/examples
    scripts/transcripts.py compare OLD NEW       prints the first differences and fails if there is one

Each example answers the same requests in both endpoint modes, over standard input and over HTTP: its tools,
all of its introspection, each operation with its own examples and with wrong values for each parameter,
batches, confirmations, malformed requests. Identifiers, times and tokens differ in each run; they are
replaced by numbers in the order of their first occurrence. `compare --structure` ignores the texts of
messages and descriptions.
"""

import difflib
import http.client
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

EXAMPLES = {
    "tasks": ["--db", "{}/tasks.db"],
    "notes": [],
    "library": [],
    "rest": [],
    "guard": ["--state", "{}"],
}
WRONG_VALUES = [None, True, -1, 1.5, "", "no such value", "x" * 20_000, [], ["a", "a"], {}, {"a": {"b": 1}}]
TEXTS = {"message", "description", "instructions", "summary", "title", "rationale", "reason", "hint", "next"}

MAX_SHOWN_CHARACTERS = 400

VOLATILE = re.compile(
    r"\b(?:conf_|exec_(?=\w{20}))[\w-]+"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    r"|\d{4}-\d\d-\d\d"
    r"|(?<![A-Za-z0-9_-])(?=[A-Za-z0-9_-]*[0-9])(?=[A-Za-z0-9_-]*[A-Z])[A-Za-z0-9_-]{14,}(?![A-Za-z0-9_-])"
    r"|\b(?:s|run|ex)-[0-9a-f]{16}\b|\b[0-9a-f]{32,}\b"
    r"|(?<=Cursor\\\":\\\")[\w-]+"
    r"|(?<=/)tmp[A-Za-z0-9_]{8}"
)
# An execution that has just begun may have reported something already.
RACING = re.compile(r',\\"progress\\":{\\"current\\":\d+,\\"total\\":[^}]*}')
MEASURED = re.compile(r'("(?:\w*_ms|duration\w*|expires_in\w*|retry_after\w*|remaining\w*|age\w*|wait\w*)"\s*:\s*)-?\d+(?:\.\d+)?')


class Stdio:
    """A client over standard input and output."""

    def __init__(self, command, env, folder):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=env, cwd=folder)

    def send(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        while reply := self.process.stdout.readline().decode().rstrip("\n"):
            if '"method"' not in reply:
                return reply
        return ""

    def send_malformed(self, line):
        """The reply to a line with an id, or everything that comes before the reply to a ping that follows."""
        if b'"id":' in line:
            return self.send(line)
        self.process.stdin.write(line + b'\n{"jsonrpc":"2.0","id":"after","method":"ping"}\n')
        self.process.stdin.flush()
        replies = []
        while reply := self.process.stdout.readline().decode().rstrip("\n"):
            if '"id":"after"' in reply:
                break
            replies.append(reply)
        return " ".join(replies)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Http:
    """A client over streamable HTTP."""

    def __init__(self, command, env, folder):
        self.process = subprocess.Popen([*command, "serve", "--http", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, cwd=folder)
        for line in self.process.stderr:
            if found := re.search(rb"http://([^/\s]+)/mcp", line):
                self.host = found[1].decode()
                break
        else:
            sys.exit(f"{command[0]} does not say where it listens")
        self.session = None

    def send(self, line):
        connection = http.client.HTTPConnection(self.host, timeout=30)
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": "2025-06-18"}
        connection.request("POST", "/mcp", line, headers)
        reply = connection.getresponse()
        body = reply.read().decode()
        self.session = self.session or reply.headers.get("Mcp-Session-Id")
        connection.close()
        data = [part[5:].strip() for part in body.splitlines() if part.startswith("data:")]
        data = [part for part in data if part and '"method"' not in part]
        return f"{reply.status} {' '.join(data) if data else body}"

    def send_malformed(self, line):
        return self.send(line)

    def close(self):
        self.process.terminate()
        self.process.wait(30)


class Recorder:
    """Sends requests, writes them and their replies down."""

    def __init__(self, client):
        self.client, self.number, self.lines, self.names = client, 0, [], {}

    def name(self, found):
        return self.names.setdefault(found[0], f"<{len(self.names)}>")

    def note(self, text):
        text = RACING.sub("", text)
        self.lines.append(VOLATILE.sub(self.name, MEASURED.sub(r"\1<number>", text)))

    def raw(self, line, send=None):
        shown = line.decode(errors="replace")
        self.note("> " + (shown if len(shown) < 500 else shown[:200] + f"… {len(shown)}"))
        reply = (send or self.client.send)(line)
        self.note("< " + reply)
        return reply

    def request(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        reply = self.raw(json.dumps(message).encode())
        try:
            return json.loads(reply[reply.index("{"):])
        except ValueError:
            return {}

    def call(self, tool, arguments):
        reply = self.request("tools/call", {"name": tool, "arguments": arguments})
        try:
            answer = json.loads(reply["result"]["content"][0]["text"])
        except (KeyError, IndexError, ValueError, TypeError):
            return {}
        return answer if isinstance(answer, dict) else {}

    def confirmed(self, tool, operation, params):
        """Calls an operation; if it needs a confirmation, twice more with the token."""
        answer = self.call(tool, {"operation": operation, "params": params})
        details = (answer.get("error") or {}).get("details") or {}
        token = details.get("confirmation_token") or (details.get("confirmation") or {}).get("token")
        if isinstance(token, str):
            arguments = {"operation": operation, "params": params, "_confirmation": token}
            self.call(tool, arguments)
            self.call(tool, arguments)
        return answer


def record(recorder):
    """Everything that one example is asked."""
    recorder.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "transcripts", "version": "1"}})
    recorder.raw(b'{"jsonrpc":"2.0","method":"notifications/initialized"}', recorder.client.send_malformed)
    for method in ["ping", "prompts/list", "resources/list", "no/such"]:
        recorder.request(method, {})
    tools = recorder.request("tools/list", {})["result"]["tools"]
    reader = next(tool["name"] for tool in tools if re.search(r"mcp_aql(_read|_discover)?$", tool["name"]))
    tools = [tool["name"] for tool in tools]
    read = lambda params: recorder.call(reader, {"operation": "introspect", "params": params})
    for query in ["types", "categories", "protocol", "examples", "x"]:
        read({"query": query})
    known = []
    for entry in read({"query": "operations"})["data"]["operations"]:
        details = read({"query": "operations", "name": entry["name"]})["data"]["operation"]
        known.append((entry["name"], details["mcpTool"], details))
    types = {name for line in recorder.lines for name in re.findall(r'\\"name\\":\\"([A-Z][a-z]\w+)\\"', line)}
    for name in sorted(types):
        read({"query": "types", "name": name})
    for name, tool, details in known:
        if name != "introspect":
            probe(recorder, name, tool, [other for other in tools if other != tool], details)
    for tool in tools:
        for arguments in [
            {}, {"operation": 1}, {"operation": ""}, {"operation": "no_such"}, {"operation": "introspect"},
            {"operation": "introspect", "params": []}, {"operation": "introspect", "params": "x"},
            {"operations": []}, {"operations": ["introspect"]}, {"operations": {}},
            {"operations": [{"operation": "introspect"}, {"operation": "no_such"}, {}, 1]},
            {"operations": [{"operation": name, "params": {}} for name, *_ in known]},
            {"operations": [{"operation": "introspect"}] * 101},
            {"operation": "introspect", "extra": 1},
        ]:
            recorder.call(tool, arguments)
    for line in [b"", b"x", b"[]", b"{}", b'{"jsonrpc":"2.0","id":"a"}', b'{"jsonrpc":"2.0","id":7,"method":"tools/call"}',
                 b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"none","arguments":{}}}',
                 b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"mcp_aql_read","arguments":{"operation":"introspect","operation":"x"}}}']:
        if line or isinstance(recorder.client, Http):
            recorder.raw(line, recorder.client.send_malformed)


def probe(recorder, name, tool, other_tools, details):
    """One operation, right and wrong."""
    requests = [example.get("request", example) for example in details.get("examples", [])]
    examples = [request.get("params", {}) for request in requests]
    good = examples[0] if examples else {}
    for params in examples:
        recorder.confirmed(tool, name, params)
    recorder.confirmed(tool, name, {})
    recorder.confirmed(tool, name, {**good, "no_such_parameter": 1})
    recorder.call(tool, {"operation": name, "params": good, "dry_run": True})
    recorder.call(tool, {"operation": name.upper(), "params": good})
    for other in other_tools:
        recorder.call(other, {"operation": name, "params": good})
    for parameter in details.get("parameters", []):
        for value in WRONG_VALUES:
            recorder.confirmed(tool, name, {**good, parameter["name"]: value})
    recorder.call(tool, {"operations": [{"operation": name, "params": good}, {"operation": name, "params": {}}]})


def record_all(folder, out):
    out.mkdir(parents=True, exist_ok=True)
    for name, arguments in EXAMPLES.items():
        for mode in ["semantic", "single"]:
            for transport in [Stdio, Http]:
                with tempfile.TemporaryDirectory() as state:
                    command = [str((folder / name).resolve()), *(word.format(state) for word in arguments)]
                    env = {"HOME": state, "PATH": "/usr/bin:/bin", "MCP_AQL_ENDPOINT_MODE": mode}
                    client = transport(command, env, state)
                    recorder = Recorder(client)
                    try:
                        record(recorder)
                    finally:
                        client.close()
                    file = out / f"{name}-{mode}-{transport.__name__.lower()}.txt"
                    file.write_text("\n".join(recorder.lines) + "\n")
                    print(f"{file.name}: {len(recorder.lines) // 2} requests", flush=True)


def without_texts(line):
    return re.sub(r'(\\*"(?:%s)\\*":)\s*\\*".*?(?<!\\)\\*"(?=[,}\]])' % "|".join(TEXTS), r"\1<text>", line)


def compare(old, new, structure):
    different = 0
    for file in sorted({path.name for folder in (old, new) for path in folder.iterdir()}):
        texts = [(folder / file).read_text().splitlines() if (folder / file).exists() else [] for folder in (old, new)]
        if structure:
            texts = [[without_texts(line) for line in text] for text in texts]
        if texts[0] != texts[1]:
            different += 1
            print(f"{file} differs:")
            for line in list(difflib.unified_diff(*texts, lineterm="", n=1))[2:14]:
                print("   ", line[:MAX_SHOWN_CHARACTERS])
    print(f"{different} transcripts differ")
    return different


def main():
    match sys.argv[1:]:
        case ["record", folder, out]:
            record_all(Path(folder), Path(out))
        case ["compare", *options, old, new] if set(options) <= {"--structure"}:
            sys.exit(1 if compare(Path(old), Path(new), "--structure" in options) else 0)
        case _:
            sys.exit(__doc__)


main()
