#!/usr/bin/env python3
"""Breaks the connections of third-party clients to examples/tasks, which must get their replies or clear errors.

    scripts/resumption.py [ADAPTER]      default: target/release/examples/tasks

The clients are MCP's SDKs for Python and TypeScript, both major versions of each, with sessions. Each makes its calls
through a proxy of its own. While a change or a READ runs, its connection is lost, or the proxy or the server is
restarted; or the connection is lost with the reply on it. Each call must end within ten seconds of that: with its reply,
or, if the server was restarted, with an error that says so. No change may be made twice. Installs the clients under
target/clients on the first run. Fails at the first unexpected answer.
"""

import asyncio
import contextlib
import re
import signal
import sqlite3
import tempfile
import time
from pathlib import Path

from clients import Sdk
from real_clients import DOUBLINGS, EXECUTE, EXPORT, database, reply_of
from testing import built, check

# The time in which a call must end after a fault.
SECONDS = 10
# The time for which the clients may start, on a busy machine.
START_SECONDS = 120
# The proxy is away for this long, and a change runs on for this long after the fault.
PAUSE = 1
SESSION_ENDED = "The session of this request has ended"


class Proxy:
    """Passes connections on, until the fault."""

    def __init__(self, upstream, drops_reply):
        self.upstream, self.drops_reply = upstream, drops_reply
        self.writers, self.port = set(), 0
        # Set when the events of the call begin, or when its reply was dropped.
        self.reached = asyncio.Event()

    async def listen(self):
        self.server = await asyncio.start_server(self.connection, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    def drop(self):
        for writer in self.writers:
            writer.transport.abort()

    async def restart(self):
        self.server.close()
        self.drop()
        await asyncio.sleep(PAUSE)
        await self.listen()

    async def connection(self, reader, writer):
        self.writers.add(writer)
        try:
            there, onward = await asyncio.open_connection("127.0.0.1", self.upstream)
        except OSError:
            writer.transport.abort()
            return
        self.writers.add(onward)
        calls = []
        await asyncio.gather(self.requests(reader, onward, calls), self.replies(there, writer, calls),
                             return_exceptions=True)
        for each in (writer, onward):
            each.transport.abort()
            self.writers.discard(each)

    async def requests(self, reader, onward, calls):
        while piece := await reader.read(1 << 16):
            if b'"create_task"' in piece or b'"get_execution"' in piece:
                calls.append(True)
            onward.write(piece)
            await onward.drain()
        onward.close()

    async def replies(self, there, writer, calls):
        while piece := await there.read(1 << 16):
            if calls and not self.reached.is_set():
                if self.drops_reply and b'"result"' in piece:
                    # The event before the reply may be in the same piece, and arrives.
                    writer.write(piece[:piece.rfind(b"data: ", 0, piece.index(b'"result"'))])
                    await writer.drain()
                    await asyncio.sleep(0.2)
                    self.reached.set()
                    self.drop()
                    return
                if not self.drops_reply and b"data:" in piece:
                    self.reached.set()
            writer.write(piece)
            await writer.drain()
        writer.close()


class Server:
    """The adapter with a database of its own."""

    def __init__(self, adapter, database):
        self.adapter, self.database, self.port, self.process = adapter, database, 0, None
        self.log = database.with_suffix(".log")

    async def start(self):
        with self.log.open("w") as stderr:
            self.process = await asyncio.create_subprocess_exec(
                self.adapter, "--db", self.database, "serve", "--http", f"127.0.0.1:{self.port}", stderr=stderr)
        until = time.monotonic() + START_SECONDS
        while not (found := re.search(r"http://127.0.0.1:(\d+)/mcp", self.log.read_text())):
            starts = self.process.returncode is None and time.monotonic() < until
            check(starts, "the server listens", self.log.read_text())
            await asyncio.sleep(0.05)
        self.port = int(found[1])

    async def stop(self):
        self.process.send_signal(signal.SIGTERM)
        await self.process.wait()

    def lock(self):
        """Holds changes up."""
        connection = sqlite3.connect(self.database, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        return connection


class Fault:
    """A server, the proxies of its clients, and what happens to them while their calls run."""

    def __init__(self, name, happens, adapter, database):
        self.name, self.happens = name, happens
        self.server, self.proxies = Server(adapter, database), {}

    async def prepare(self, clients):
        await self.server.start()
        for client in clients:
            self.proxies[client.name] = Proxy(self.server.port, self.name == "reply lost")
            await self.proxies[client.name].listen()

    def url(self, client):
        return f"http://127.0.0.1:{self.proxies[client].port}/mcp"

    async def run(self, go):
        """Returns when the fault happened."""
        lock = self.server.lock() if self.name not in ("read", "reply lost") else None
        go.set()
        reached = asyncio.gather(*(proxy.reached.wait() for proxy in self.proxies.values()))
        await asyncio.wait_for(reached, START_SECONDS)
        happened = time.monotonic()

        async def release():
            await asyncio.sleep(PAUSE)
            if lock:
                lock.close()
        await asyncio.gather(release(), self.happens(self))
        return happened

    def created(self):
        with sqlite3.connect(self.server.database) as connection:
            return [title for (title,) in connection.execute("SELECT title FROM task WHERE title <> 'Export it'")]


async def connection_lost(fault):
    for proxy in fault.proxies.values():
        proxy.drop()


async def proxy_restarted(fault):
    await asyncio.gather(*(proxy.restart() for proxy in fault.proxies.values()))


async def server_restarted(fault):
    await fault.server.stop()
    await fault.server.start()


async def nothing(_):
    """The proxy has dropped the reply."""


FAULTS = {
    "connection lost": connection_lost,
    "read": connection_lost,
    "proxy restarted": proxy_restarted,
    "server restarted": server_restarted,
    "reply lost": nothing,
}


class Client:
    """A client, which makes a call for each fault. Its sessions have the names of the faults."""

    def __init__(self, sdk):
        self.sdk, self.name, self.calls, self.ended = sdk, sdk.name, {}, {}

    def prepare(self, faults):
        """Opens the sessions."""
        for fault in faults:
            self.sdk.ask(fault.name, "open", target=fault.url(self.name))
            # Otherwise version 1 asks for the tools after its first call, perhaps while the server is away.
            self.sdk.ask(fault.name, "tools")
            tool, operation, params = "mcp_aql_create", "create_task", {"title": self.name}
            if fault.name == "read":
                result = self.sdk.ask(fault.name, "call", tool=EXECUTE, arguments=EXPORT)["result"]
                begun = reply_of(result, "the export")["data"]["execution_id"]
                tool, operation, params = "mcp_aql_read", "get_execution", {"execution_id": begun, "wait_seconds": 4}
            self.calls[fault.name] = {"tool": tool, "arguments": {"operation": operation, "params": params}}

    def talk(self):
        for name, call in self.calls.items():
            self.sdk.send(name, "call", **call)
        while len(self.ended) < len(self.calls):
            answer = self.sdk.receive()
            self.ended[answer["session"]] = time.monotonic(), answer

    async def run(self, go):
        await go.wait()
        await asyncio.to_thread(self.talk)

    def judge(self, fault, happened):
        what = f"{self.name}, {fault.name}"
        check(fault.name in self.ended, f"{what}: the call ends", self.ended)
        when, ended = self.ended[fault.name]
        seconds = when - happened
        check(seconds < SECONDS, f"{what}: the call ends within {SECONDS} s", seconds)
        if "error" in ended:
            outcome = ended["error"]["message"]
            restarted = fault.name == "server restarted" and SESSION_ENDED in outcome
            check(restarted, f"{what}: the call gets its reply", ended)
        else:
            outcome, reply = "its reply", reply_of(ended["reply"]["result"], what)
            check(reply["success"], f"{what}: the call succeeds", reply)
        print(f"ok: {what}: {outcome}, after {max(seconds, 0):.1f} s")


async def run(adapter, folder, stack):
    # Enough tasks for an export that also lasts in a release build.
    template = database(folder, adapter, DOUBLINGS + 3)
    faults = []
    for name, happens in FAULTS.items():
        path = folder / f"{name.replace(' ', '-')}.db"
        path.write_bytes(template.read_bytes())
        faults.append(Fault(name, happens, adapter, path))
    clients = [Client(stack.enter_context(Sdk(language, version))) for language in ("Python", "TypeScript")
               for version in (1, 2)]
    try:
        await asyncio.gather(*(fault.prepare(clients) for fault in faults))
        await asyncio.gather(*(asyncio.to_thread(client.prepare, faults) for client in clients))
        go = asyncio.Event()
        running = [asyncio.create_task(client.run(go)) for client in clients]
        happened = await asyncio.gather(*(fault.run(go) for fault in faults))
        await asyncio.wait(running, timeout=SECONDS + 2)
        for fault, when in zip(faults, happened):
            for client in clients:
                client.judge(fault, when)
            expected = [] if fault.name == "read" else sorted(client.name for client in clients)
            check(sorted(fault.created()) == expected, f"{fault.name}: each change is made once", fault.created())
    finally:
        # Ends the reads of the clients, for which asyncio waits.
        stack.close()
        for fault in faults:
            if fault.server.process and fault.server.process.returncode is None:
                fault.server.process.kill()
                await fault.server.process.wait()
    return len(faults) * len(clients)


def main():
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        calls = asyncio.run(run(built("examples/tasks"), Path(folder), stack))
    print(f"{calls} passed, 0 failed")


if __name__ == "__main__":
    main()
