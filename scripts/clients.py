"""Third-party clients of MCP, for the scripts that test with them: MCP's SDKs, and MCP Inspector."""

import itertools
import json
import os
import re
import subprocess
import threading
from pathlib import Path

import third_party
from testing import check

# The lifecycles of MCP: with `initialize`, and without.
MODES = ("legacy", "2026-07-28")
# In seconds, for one reply.
LIMIT = 120


class Refused(Exception):
    """An error instead of a reply, with its `message` and, if the server sent it, its `code` and `data`."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.error = error


def refused(ask, *what, **details):
    """Returns the error of a command that must fail."""
    try:
        reply = ask(*what, **details)
    except Refused as error:
        return error.error
    check(False, f"{what} is refused: {details}", reply)


class Sdk:
    """MCP's SDK for a language, in a process of its own: client.py or client.mjs. Installs it first."""

    # What is in the error if the server does not know the caller.
    unknown_caller = ""

    def __init__(self, language, version, **options):
        self.name, self.sessions = f"MCP's SDK for {language} {version}", itertools.count()
        folder = Path(__file__).parent
        if language == "Python":
            command = [third_party.pypi(*third_party.PYTHON[version]) / "python", "-W", "ignore", folder / "client.py"]
        else:
            command = [third_party.node(), folder / "client.mjs", third_party.npm(*third_party.TYPESCRIPT[version])]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def send(self, session, do, **details):
        print(json.dumps({"session": session, "do": do, **details}), file=self.process.stdin, flush=True)

    def receive(self):
        # A client that hangs is killed, which ends the read.
        limit = threading.Timer(LIMIT, self.process.kill)
        limit.start()
        line = self.process.stdout.readline()
        limit.cancel()
        check(line, f"{self.name} answers")
        return json.loads(line)

    def ask(self, session, do, **details):
        """Returns the reply to a command."""
        self.send(session, do, **details)
        answer = self.receive()
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["reply"]

    def open(self, target, **options):
        """Opens a session with a server: a URL, or the words of a command."""
        return Connection(self, str(next(self.sessions)), target, options)


class Connection:
    """A session of an SDK with a server, to be closed at the end of a block."""

    def __init__(self, sdk, session, target, options):
        self.sdk, self.session = sdk, session
        target = target if isinstance(target, str) else list(map(str, target))
        self.capabilities = self.ask("open", target=target, **options)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.ask("close")

    def ask(self, do, **details):
        return self.sdk.ask(self.session, do, **details)

    def call(self, tool, arguments, **options):
        return self.ask("call", tool=tool, arguments=arguments, **options)


class Inspector:
    """MCP Inspector's command line, for single requests and for connections that last."""

    name, unknown_caller = "MCP Inspector", "auth_required"

    def __init__(self, folder):
        clients, node = third_party.npm(*third_party.INSPECTOR) / "clients", third_party.node()
        self.sessions = itertools.count()
        options = ["--stored-auth-only", "--format", "json"]
        self.single = [node, clients / "launcher" / "build" / "index.js", "--cli", *options]
        self.lasting = [node, clients / "mcpdo" / "build" / "mcp-bin.js", *options]
        # Nothing of it is kept in the user's home.
        names = {"MCP_CATALOG_PATH": "catalog.json", "MCP_CLIENT_CONFIG_PATH": "client.json",
                 "MCP_INSPECTOR_DAEMON_DIR": "daemon"}
        self.env = os.environ | {name: str(folder / file) for name, file in names.items()}
        self.env |= {"MCP_INSPECTOR_DAEMON_TOKEN": "of-this-test", "MCP_INSPECTOR_SECRET_STORE": "memory",
                     "PATH": f"{node.parent}:{os.environ['PATH']}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run(*self.lasting, "daemon", "stop")

    def run(self, *command):
        """Returns what it prints, as JSON."""
        ran = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=LIMIT)
        if ran.returncode:
            raise Refused({"message": ran.stdout + ran.stderr})
        return json.loads(ran.stdout) if ran.stdout.strip() else None

    def ask(self, target, method, *arguments):
        """Returns the result of a request, which has a connection of its own, and over stdio a process of its own."""
        options, command = target
        answer = self.run(*self.single, *options, "--method", method, *arguments, *command)
        return answer.get("result", answer)

    def open(self, target, mode="legacy", token=None):
        """Opens a connection that lasts."""
        if isinstance(target, str):
            target = ["--transport", "http", "--server-url", target]
            target += ["--header", f"Authorization: Bearer {token}"] if token else []
        else:
            target = ["--transport", "stdio", "--", *target]
        return InspectorConnection(self, target, mode)


class InspectorConnection:
    """A connection of the Inspector that lasts, to be closed at the end of a block."""

    def __init__(self, inspector, target, mode):
        self.inspector, self.session = inspector, f"connection-{next(inspector.sessions)}"
        self.ask("connect", "--era", "legacy" if mode == "legacy" else "modern", *target)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.inspector.run(*self.inspector.lasting, "disconnect", self.session)

    def ask(self, *arguments):
        return self.inspector.run(*self.inspector.lasting, "--connection", self.session, *arguments)

    def call(self, tool, arguments, answers=(), task=False):
        flags = ["--task"] if task else []
        result, asked = self.ask("tools/call", *flags, tool, "--tool-args-json", json.dumps(arguments)), []
        for answer in answers:
            asked.append(json.dumps(result))
            question = re.search(r'"(?:id|elicitationId)": "([^"]+)"', asked[-1])
            check(question, "a question is pending", result)
            option = "{}" if answer == "accept" else f"--{answer}"
            result = self.ask("elicitation/respond", question[1], option)
        return {"result": result, "asked": asked}
