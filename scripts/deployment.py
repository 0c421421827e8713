#!/usr/bin/env python3
"""Runs the files of the book's chapter on deployment, which are in examples/deployment.

    scripts/deployment.py PROGRAM

PROGRAM is the built example `tasks`. Behind each configuration of nginx and HAProxy it runs two processes: sessions
must stay with their process, calls and streams must succeed, and new sessions must open after one process has stopped.
Both processes are then restarted in turn, and no call or, with sessions, no `initialize` may fail.
Copies of a running process's SQLite files are restored. The unit is verified by systemd-analyze if that is installed,
and its command runs as systemd would run it. The last stage of the container image is laid out in an empty folder, and
its command runs there with the user of the image, which needs root. Requires openssl, nginx and haproxy; as root on
Debian-based systems, installs the proxies if they are missing. Exits with 1 if a check failed.
"""

import collections
import contextlib
import hashlib
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deployment_client import HOST, INITIALIZE, LIMIT, Client, expect
from testing import ROOT, free_port

FILES = ROOT / "examples/deployment"
TOKENS = [f"token-{number}" for number in range(24)]
# Requests that wait while others are made.
CALLS = ThreadPoolExecutor(8)


def until(condition, what):
    end = time.monotonic() + LIMIT
    while not condition():
        expect(time.monotonic() < end, "timed out:", what)
        time.sleep(0.1)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def install_proxies():
    if shutil.which("nginx") and shutil.which("haproxy"):
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        sys.exit("nginx and haproxy are missing: install them")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # Their packages must not start services.
    policy = Path("/usr/sbin/policy-rc.d")
    added = not policy.exists()
    if added:
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
    try:
        for arguments in (["update", "-qq"],
                          ["install", "-qq", "-y", "--no-install-recommends", "nginx-light", "haproxy"]):
            subprocess.run(["apt-get", *arguments], check=True, env=quiet, stdout=sys.stderr)
    finally:
        if added:
            policy.unlink()


def configuration(folder, port=8787, audit_log=None):
    """Writes the chapter's configuration with tokens, a port and an audit log of our own."""
    text = (FILES / "mcp-aql.toml").read_text().replace("127.0.0.1:8787", f"127.0.0.1:{port}")
    text = text.replace('"/var/lib/tasks/audit.jsonl"', json.dumps(str(audit_log or folder / "audit.jsonl")))
    head, token = text.split("# The hash of a token")
    scopes = re.search(r"^scopes = .*$", token, re.MULTILINE).group()
    for number, name in enumerate(TOKENS):
        digest = hashlib.sha256(name.encode()).hexdigest()
        head += f'[[auth.tokens]]\nsha256 = "{digest}"\nsubject = "user-{number}"\n{scopes}\n'
    file = folder / "mcp-aql.toml"
    file.write_text(head)
    file.chmod(0o644)
    return file


def end(process):
    """Ends a process that may still run. nginx must stop its workers, so it is not killed at once."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def running(command, port=None, stop=signal.SIGTERM, code=0, **options):
    """A process that is stopped at the end, and must then exit with this code."""
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, **options)
    try:
        if port:
            until(lambda: process.poll() is not None or listens(port), f"{command[0]} listens on {port}")
            expect(process.poll() is None, command[0], "ended with", process.returncode)
        yield process
        if process.poll() is None:
            process.send_signal(stop)
            expect(process.wait(LIMIT) == code, command[0], "ended with", process.returncode)
    finally:
        # After a failure.
        end(process)


def adapter(program, folder, name, flags=()):
    """The command of a process with a database of its own, and its port."""
    port = free_port()
    folder = folder / name
    folder.mkdir()
    config = configuration(folder)
    address = ["--http", f"127.0.0.1:{port}", "--allow-host", HOST]
    return [program, "--db", folder / "tasks.db", "serve", *address, "--config", config, *flags], port


def proxy(folder, name, ports):
    """The command of a proxy with a configuration of the chapter, and its port."""
    port = free_port()
    text = (FILES / name).read_text()
    expect("10.0.0.11:8787" in text and "10.0.0.12:8787" in text, name, "has other processes")
    for process, own in zip(("10.0.0.11:8787", "10.0.0.12:8787"), ports):
        text = text.replace(process, f"127.0.0.1:{own}")
    for file in ("tasks.pem", "tasks.key"):
        text = re.sub(rf"/etc/\w+/{file}", str(folder / file), text)
    file = folder / name
    if name.startswith("haproxy"):
        file.write_text(text.replace("bind :443", f"bind 127.0.0.1:{port}"))
        subprocess.run(["haproxy", "-c", "-q", "-f", file], check=True)
        return ["haproxy", "-db", "-q", "-f", file], port
    file.write_text(text.replace("listen 443", f"listen 127.0.0.1:{port}"))
    main = folder / "nginx.conf"
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n"
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    main.write_text(f"daemon off;\npid {folder}/nginx.pid;\nerror_log stderr crit;\n"
                    f"{'user root;' if os.geteuid() == 0 else ''}\nevents {{}}\n"
                    f"http {{\naccess_log off;\n{temporary}include {file};\n}}\n")
    return ["nginx", "-p", folder, "-c", main, "-e", "stderr"], port


def check_sessions(port):
    listener = Client(port, TOKENS[0])
    expect(listener.open() == 200, "initialize was refused")
    # The first comment comes after 15 seconds.
    event = CALLS.submit(listener.first_event)
    for token in TOKENS:
        client = Client(port, token)
        expect(client.open() == 200, "initialize was refused")
        for _ in range(3):
            client.create()
        status, reply = client.call("mcp_aql_execute", "execute_export", {"format": "json"})
        expect(status == 200 and reply["success"], "execute_export:", status, reply)
    expect(event.result(), "the stream of events is empty")


def check_stateless(port):
    for token in TOKENS:
        client = Client(port, token)
        for _ in range(3):
            client.create(**client.stateless("mcp_aql_create"))
        # Earlier versions of MCP, without a session.
        client.create()


def check_proxy(program, name):
    """Two processes behind a proxy, of which one stops."""
    is_stateless = "stateless" in name
    flags = ["--stateless"] if is_stateless else []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        folder = Path(folder)
        certify(folder, name)
        (first, one), (second, two) = (adapter(program, folder, each, flags) for each in ("first", "second"))
        quiet = {"stderr": subprocess.DEVNULL}
        stopping = stack.enter_context(running(first, one, **quiet))
        stack.enter_context(running(second, two, **quiet))
        command, port = proxy(folder, name, (one, two))
        stop = signal.SIGQUIT if command[0] == "nginx" else signal.SIGUSR1
        stack.enter_context(running(command, port, stop))
        until(lambda: Client(port, TOKENS[0]).request("GET").status < 500, "the proxy finds a process")
        if command[0] == "nginx":
            expect(Client(port, TOKENS[0]).request("GET", path="/readyz").status == 200, "the proxy passes no probes")
        (check_stateless if is_stateless else check_sessions)(port)
        counts = [Client(each, TOKENS[0], secure=False).count() for each in (one, two)]
        expect(all(counts) and sum(counts) == len(TOKENS) * (4 if is_stateless else 3), "calls of each process:", counts)
        client = Client(port, TOKENS[0])
        expect(is_stateless or client.open() == 200)
        stopping.terminate()
        expect(stopping.wait(LIMIT) == 0, "the process ended with", stopping.returncode)
        # The others serve all clients, whose sessions may be new.
        for token in TOKENS:
            other = Client(port, token)
            if is_stateless:
                until(lambda: other.call("mcp_aql_create", "create_task", {"title": "On"})[0] == 200, "a call succeeds")
            else:
                until(lambda: other.open() == 200, "a session opens")
                other.create()
        if not is_stateless:
            status = client.call("mcp_aql_read", "list_tasks", {})[0]
            expect(status in (200, 404), "a session of the stopped process:", status)
    return f"{name}: {counts[0]} and {counts[1]} calls, and one process took over"


def check_restarts(program, name):
    """Restarts two processes behind a proxy in turn, while clients call or open sessions. No request fails."""
    is_stateless = "stateless" in name
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        folder = Path(folder)
        certify(folder, name)
        flags = ["--stateless"] if is_stateless else []
        processes = [adapter(program, folder, each, flags) for each in ("first", "second")]
        quiet = {"stderr": subprocess.DEVNULL}
        command, port = proxy(folder, name, [own for _, own in processes])
        stop = signal.SIGQUIT if command[0] == "nginx" else signal.SIGUSR1
        stack.enter_context(running(command, port, stop))
        started = []
        stack.callback(lambda: [end(each) for each in started])
        for command, _ in processes:
            started.append(subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, **quiet))
        until(lambda: all(listens(own) for _, own in processes), "the processes listen")
        until(lambda: Client(port, TOKENS[0]).request("GET").status < 500, "the proxy finds a process")
        counts, done = collections.Counter(), threading.Event()

        def load(token):
            while not done.is_set():
                client = Client(port, token)
                try:
                    if is_stateless:
                        status = client.call("mcp_aql_read", "list_tasks", {}, **client.stateless("mcp_aql_read"))[0]
                    else:
                        # A session belongs to one process and ends with it, so further requests in it may fail.
                        status = client.post("initialize", INITIALIZE)[0]
                except (OSError, http.client.HTTPException) as error:
                    status = type(error).__name__
                counts[status] += 1

        with ThreadPoolExecutor(8) as pool:
            loads = [pool.submit(load, token) for token in TOKENS[:8]]
            try:
                time.sleep(1)
                for number, (command, own) in enumerate(processes):
                    started[number].terminate()
                    expect(started[number].wait(LIMIT) == 0, "the process ended with", started[number].returncode)
                    started[number] = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, **quiet)
                    until(lambda: listens(own), "the process listens again")
                    time.sleep(2.5)
            finally:
                # The pool waits for the loads, also after a failure.
                done.set()
            for each in loads:
                each.result()
        expect(set(counts) == {200} and counts[200] > 100, name, "answers during the restarts:", dict(counts))
    kind = "calls" if is_stateless else "new sessions"
    return f"{name}: {counts[200]} {kind} while both processes restarted, and none failed"


def certify(folder, name):
    """Makes the key and the certificate of a proxy."""
    key, certificate = folder / "tasks.key", folder / "tasks.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={HOST}",
                    "-keyout", key, "-out", certificate], check=True, stderr=subprocess.DEVNULL)
    if name.startswith("haproxy"):
        # HAProxy reads both from one file.
        certificate.write_text(certificate.read_text() + key.read_text())


def check_backup(program):
    """Copies the databases of a running process as the chapter says, and goes back to the copies."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        command, port = adapter(program, folder, "backup")
        client = Client(port, TOKENS[0], secure=False)
        database = folder / "backup/tasks.db"
        files = [database, database.with_name("tasks.db.state")]
        quiet = {"stderr": subprocess.DEVNULL}
        with running(command, port, **quiet):
            for _ in range(2):
                client.create(**client.stateless("mcp_aql_create"))
            # Creates the state, whose store is opened with its first use.
            client.call("mcp_aql_delete", "delete_task", {"task_id": "t-1"}, **client.stateless("mcp_aql_delete"))
            for file in files:
                with sqlite3.connect(file) as source, sqlite3.connect(f"{file}.copy") as copy:
                    source.backup(copy)
            client.create(**client.stateless("mcp_aql_create"))
            expect(client.count() == 3, "a task is missing")
        for file in files:
            os.replace(f"{file}.copy", file)
            for rest in ("-wal", "-shm"):
                Path(f"{file}{rest}").unlink(missing_ok=True)
        with running(command, port, **quiet):
            expect(client.count() == 2, "the backup has other tasks")
    return "SQLite: the copies of a running process were restored"


def settings_of(unit, name):
    return re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)


def check_unit(program):
    """Runs the command of the unit as systemd does, as far as that is possible without it."""
    unit = (FILES / "tasks.service").read_text()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        port = free_port()
        configuration(folder, port).rename(folder / "config")
        state = folder / "state"
        state.mkdir()
        local = unit.replace("/usr/local/bin/tasks", str(program)).replace("/var/lib/tasks", str(state))
        verified = "systemd-analyze is not installed"
        if shutil.which("systemd-analyze"):
            (folder / "tasks.service").write_text(local)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", folder / "tasks.service"],
                                  capture_output=True, text=True)
            expect(done.returncode == 0 and "tasks.service" not in done.stderr, done.stderr)
            verified = "verified"
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(str(folder / "notify"))
        manager.settimeout(LIMIT)
        environment = {**os.environ, **dict(each.split("=", 1) for each in settings_of(local, "Environment")),
                       "CREDENTIALS_DIRECTORY": str(folder), "NOTIFY_SOCKET": str(folder / "notify")}

        def command_of(name, **variables):
            (line,) = settings_of(local, name)
            for variable, value in variables.items():
                line = line.replace(f"${{{variable}}}", value).replace(f"${variable}", value)
            return shlex.split(line)

        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        credentials = {"CREDENTIALS_DIRECTORY": str(folder)}
        subprocess.run(command_of("ExecStartPre", **credentials), env=environment, cwd=state, check=True, **quiet)
        command = command_of("ExecStart", **credentials)
        expect(settings_of(local, "Type") == ["notify"])
        with running(command, port, env=environment, cwd=state, **quiet) as process:
            expect(manager.recv(4096).startswith(b"READY=1\n"), "the first message has another state")
            client = Client(port, TOKENS[0], secure=False)
            expect(client.open() == 200)
            client.create()
            audit_log = folder / "audit.jsonl"
            until(audit_log.exists, "the audit log exists")
            audit_log.rename(folder / "audit.jsonl.1")
            subprocess.run(command_of("ExecReload", MAINPID=str(process.pid)), check=True)
            until(audit_log.exists, "the audit log is opened again")
            client.create()
        expect(manager.recv(4096).startswith(b"STOPPING=1\n"), "the last message has another state")
        manager.close()
        # Codes that no restart corrects, as the unit says.
        (prevented,) = settings_of(local, "RestartPreventExitStatus")
        wrong = subprocess.run([*command, "--no-such-flag"], env=environment, cwd=state, **quiet)
        expect(str(wrong.returncode) in prevented.split(), "an invalid argument ended with", wrong.returncode)
        invalid = environment | {"MCP_AQL_ENDPOINT_MODE": "none"}
        wrong = subprocess.run(command, env=invalid, cwd=state, **quiet)
        expect(str(wrong.returncode) in prevented.split(), "an invalid setting ended with", wrong.returncode)
    return f"tasks.service: {verified}; its commands check, start, reload and end it, and it notifies"


def check_image(program):
    """Lays out the last stage of the image without its base, and runs its command."""
    if os.geteuid() != 0:
        return "Containerfile: not run, which needs root"
    last = (FILES / "Containerfile").read_text().split("\nFROM ")[-1]

    def instruction(name):
        return re.findall(rf"^{name} (.*)$", last, re.MULTILINE)

    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        (user,) = instruction("USER")
        (work,) = instruction("WORKDIR")
        (_, target), (_, data) = (line.split()[-2:] for line in instruction("COPY"))
        for each in (Path(target).parent, data, "/run/secrets", "/tmp"):
            (root / str(each).lstrip("/")).mkdir(parents=True)
        os.chown(root / data.lstrip("/"), *map(int, user.split(":")))
        libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for source, goal in [(str(program), target), *((each, each) for each in re.findall(r"(/\S+) \(", libraries))]:
            place = root / goal.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, place)
        # The port of the image may be in use here.
        port = free_port()
        variables = dict(each.replace(":8787", f":{port}").split("=", 1)
                         for line in instruction("ENV") for each in line.split())
        configuration(root / "run/secrets", audit_log=f"{data}/audit.jsonl")
        command = json.loads(instruction("ENTRYPOINT")[0]) + json.loads(instruction("CMD")[0])
        inside = [shutil.which("chroot"), f"--userspec={user}", root, *command]
        expect(work == data, "the folder of the data is another one")
        with running(inside, port, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            client = Client(port, TOKENS[0], secure=False)
            expect(client.open() == 200)
            client.create()
        expect((root / data.lstrip("/") / "tasks.db").exists(), "the data is elsewhere")
    return "Containerfile: its command runs as the user of the image, in a folder with only the program and its libraries"


def main():
    program = Path(sys.argv[1]).resolve() if len(sys.argv) == 2 else sys.exit(__doc__)
    install_proxies()
    names = ["nginx-sessions.conf", "nginx-stateless.conf", "haproxy-sessions.cfg", "haproxy-stateless.cfg"]
    checks = [(check_proxy, name) for name in names] + [(check_backup,), (check_unit,), (check_image,)]
    restarts = [(check_restarts, name) for name in names]
    with ThreadPoolExecutor(len(checks)) as pool:
        outcomes = [(pool.submit(check, program, *arguments), check.__name__, *arguments) for check, *arguments in checks]
    # One after another: their clients need the processors.
    with ThreadPoolExecutor(1) as pool:
        outcomes += [(pool.submit(check, program, name), check.__name__, name) for check, name in restarts]
    failed = 0
    for outcome, *check in outcomes:
        if fault := outcome.exception():
            failed += 1
            print(f"FAILED: {' '.join(check)}: {fault!r}")
        else:
            print(outcome.result())
    sys.exit(1 if failed else 0)


main()
