#!/usr/bin/env python3
"""Packages the conformance runner: an archive, an npm package, a wheel for Python and the folder of a container image.

    scripts/package.py [--check] [--binary [TARGET=]FILE]...

Builds the runner for this machine, on Linux as a static program, and writes to target/packages:

    mcp-aql-conformance-VERSION-TARGET.tar.gz       the program
    mcp-aql-conformance-VERSION.tgz                 for npm, with the programs of all targets
    mcp_aql_conformance-VERSION-py3-none-….whl      for PyPI, one for each target
    container/                                      for `docker build`, if there is a static program for Linux
    SHA256SUMS

--binary packages a program that was built before, instead of building one. It may be repeated for other targets. Without
TARGET, the program is for this machine.

--check installs the packages in fresh folders and tests the adapter in examples/other-languages/python with each of
them, and with the script of the GitHub action. Requires python3 with venv, node and npm.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import shlex
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "crates" / "mcp-aql-conformance" / "dist"
OUTPUT = ROOT / "target" / "packages"
NAME = "mcp-aql-conformance"
LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"]
# The platform of npm, and the platform tags of a wheel. A static program for Linux runs with any C library.
TARGETS = {
    "x86_64-unknown-linux": ("linux-x64", ["manylinux2014_x86_64", "manylinux_2_17_x86_64", "musllinux_1_1_x86_64"]),
    "aarch64-unknown-linux": ("linux-arm64", ["manylinux2014_aarch64", "manylinux_2_17_aarch64", "musllinux_1_1_aarch64"]),
    "x86_64-apple-darwin": ("darwin-x64", ["macosx_10_12_x86_64"]),
    "aarch64-apple-darwin": ("darwin-arm64", ["macosx_11_0_arm64"]),
    "x86_64-pc-windows": ("win32-x64", ["win_amd64"]),
}
CERTIFICATES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"]
# Archives of equal contents are equal.
EPOCH = 315_532_800


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout


def version():
    packages = json.loads(output_of("cargo", "metadata", "--no-deps", "--format-version", "1", "--locked"))["packages"]
    return next(package["version"] for package in packages if package["name"] == NAME)


def host():
    return next(line.split()[1] for line in output_of("rustc", "-vV").splitlines() if line.startswith("host: "))


def build(target):
    """Builds the program and returns its path. Other flags for build scripts and macros require `--target`."""
    flags = "-C target-feature=+crt-static" if "linux" in target else ""
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--package", NAME, "--target", target],
        check=True, cwd=ROOT, env={**os.environ, "RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} {flags}".strip()},
    )
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return folder / target / "release" / (NAME + (".exe" if "windows" in target else ""))


def is_static(program):
    """Returns whether an ELF file names no interpreter, which would load shared libraries."""
    data = program.read_bytes()
    if data[:4] != b"\x7fELF":
        return False
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    interpreter = 3
    return all(struct.unpack_from("<I", data, offset + index * size)[0] != interpreter for index in range(count))


class Program:
    """A program and what its packages are called."""

    def __init__(self, target, path):
        self.target, self.path = target, Path(path).resolve()
        known = [it for it in TARGETS if target.startswith(it)]
        if not known:
            sys.exit(f"no package is known for the target {target}")
        self.platform, self.tags = TARGETS[known[0]]
        self.file = NAME + (".exe" if "windows" in target else "")
        self.is_linux = "linux" in target
        self.is_static = self.is_linux and is_static(self.path)
        if self.is_linux and not self.is_static:
            self.tags = [f"linux_{target.split('-')[0]}"]


def archive(file, members):
    """Writes a tar.gz file. The members are names, contents and whether they are programs."""
    with file.open("wb") as raw, gzip.GzipFile("", "wb", mtime=EPOCH, fileobj=raw) as packed, \
            tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content, is_program in members:
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(content), EPOCH, 0o755 if is_program else 0o644
            tar.addfile(info, io.BytesIO(content))
    return file


def common():
    """Returns the members that are part of every package."""
    licenses = [(name, (ROOT / name).read_bytes(), False) for name in LICENSES]
    return [("README.md", (DIST / "README.md").read_bytes(), False), *licenses]


def tarball(output, release, program):
    folder = f"{NAME}-{release}-{program.target}"
    members = [(program.file, program.path.read_bytes(), True), *common()]
    return archive(output / f"{folder}.tar.gz", [(f"{folder}/{name}", *rest) for name, *rest in members])


def npm_package(output, release, programs):
    manifest = json.loads((DIST / "npm" / "package.json").read_text())
    platforms = [program.platform.split("-") for program in programs]
    manifest = {"name": manifest.pop("name"), "version": release, **manifest,
                "os": sorted({os for os, _ in platforms}), "cpu": sorted({cpu for _, cpu in platforms})}
    launcher = f"bin/{NAME}.js"
    members = [("package.json", json.dumps(manifest, indent=2).encode(), False),
               (launcher, (DIST / "npm" / launcher).read_bytes(), True), *common()]
    for program in programs:
        members.append((f"native/{program.platform}/{program.file}", program.path.read_bytes(), True))
    return archive(output / f"{NAME}-{release}.tgz", [(f"package/{name}", *rest) for name, *rest in members])


def wheel(output, release, program):
    distribution = f"{NAME.replace('-', '_')}-{release.replace('-', '_')}"
    info, manifest = f"{distribution}.dist-info", json.loads((DIST / "npm" / "package.json").read_text())
    metadata = "\n".join([
        "Metadata-Version: 2.1", f"Name: {NAME}", f"Version: {release}", f"Summary: {manifest['description']}",
        f"License: {manifest['license']}", f"Keywords: {','.join(manifest['keywords'])}", "Requires-Python: >=3.8",
        "Description-Content-Type: text/markdown", "", (DIST / "README.md").read_text(),
    ])
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in program.tags)
    members = [
        (f"{distribution}.data/scripts/{program.file}", program.path.read_bytes(), True),
        *((f"{info}/{name}", (ROOT / name).read_bytes(), False) for name in LICENSES),
        (f"{info}/METADATA", metadata.encode(), False),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: package.py\nRoot-Is-Purelib: false\n{tags}".encode(), False),
    ]
    record = [f"{name},sha256={url_safe_digest(content)},{len(content)}" for name, content, _ in members]
    members.append((f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]).encode(), False))
    file = output / f"{distribution}-py3-none-{'.'.join(sorted(program.tags))}.whl"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content, is_program in members:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)
    return file


def url_safe_digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def container(output, program):
    """Writes the folder that the container image is built from."""
    certificates = next((Path(it) for it in CERTIFICATES if Path(it).exists()), None)
    if not certificates:
        sys.exit(f"no certificates for the container image: none of {', '.join(CERTIFICATES)} exists")
    folder = output / "container"
    folder.mkdir()
    shutil.copy(DIST / "Containerfile", folder)
    shutil.copy(certificates, folder / "ca-certificates.crt")
    shutil.copy(program.path, folder / NAME)


def package(output, release, programs):
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    files = [npm_package(output, release, programs)]
    for program in programs:
        files += [tarball(output, release, program), wheel(output, release, program)]
    static = [program for program in programs if program.is_static]
    if static:
        container(output, static[0])
    else:
        print("container/ is left out: no program is static")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)]
    (output / "SHA256SUMS").write_text("".join(sums))
    for file in sorted(files):
        print(f"{file.stat().st_size:>10}  {file.name}")


def try_out(what, command, release, adapter):
    """Runs an installed command: its version, its exit codes, and a test of an adapter."""
    said = subprocess.run([*command, "--version"], stdout=subprocess.PIPE, text=True).stdout
    if said != f"{NAME} {release}\n":
        sys.exit(f"FAILED: {what}: the version is {said!r}")
    wrong = subprocess.run([*command, "test", "--no-such-option"], stderr=subprocess.DEVNULL).returncode
    if wrong != 3:
        sys.exit(f"FAILED: {what}: an unknown option ends with {wrong}")
    test = [*command, "test", "--format", "json", "--category", "tools", "--", *adapter]
    run = subprocess.run(test, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    summary = json.loads(run.stdout or "{}").get("summary", {})
    if not summary.get("passed") or summary.get("failed"):
        sys.exit(f"FAILED: {what}: the test of an adapter ended with {run.returncode}: {summary}")
    print(f"ok: {what}")


def check(output, release, program):
    """Installs each package that this machine can run in a fresh folder, and uses it."""
    # The SDK is only installed for this.
    import other_languages
    adapter = other_languages.python()
    subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=output, check=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with tarfile.open(next(output.glob(f"*{program.target}.tar.gz"))) as tar:
            tar.extractall(folder)
        try_out("archive", [next(folder.glob(f"{NAME}-*/{NAME}"))], release, adapter)

        venv = folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        file = next(it for it in output.glob("*.whl") if it.name.endswith(f"{'.'.join(sorted(program.tags))}.whl"))
        subprocess.run([venv / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", file],
                       check=True)
        try_out("wheel", [venv / "bin" / NAME], release, adapter)

        home = folder / "npm"
        home.mkdir()
        (home / "package.json").write_text('{"private": true}')
        subprocess.run(["npm", "install", "--prefix", home, "--offline", "--no-audit", "--no-fund", "--loglevel=error",
                        next(output.glob("*.tgz"))], check=True, stdout=subprocess.DEVNULL)
        try_out("npm package", [home / "node_modules" / ".bin" / NAME], release, adapter)
        check_action(folder / "action", next(output.glob("*.tgz")), adapter)
        if program.is_static:
            check_container(folder / "root", output / "container", release)


def check_action(folder, tgz, adapter):
    """Runs the script of the GitHub action, which must report the level and fail for an adapter that has none."""
    folder.mkdir()
    results = {}
    for name, command in [("adapter", shlex.join(map(str, adapter))), ("other", "true")]:
        outputs, page = folder / f"{name}.outputs", folder / f"{name}.md"
        run = subprocess.run(
            [DIST / "github" / "run.sh", folder / name], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "COMMAND": command, "URL": "", "LEVEL": "1", "ALLOW": "create,update,delete", "CONFIG": "",
                 "VERSION": f"file:{tgz}", "ACCEPT_WARNINGS": "true", "GITHUB_OUTPUT": str(outputs),
                 "GITHUB_STEP_SUMMARY": str(page)},
        )
        files = sorted(it.name for it in (folder / name).glob("conformance.*"))
        results[name] = run.returncode, outputs.read_text(), page.stat().st_size > 0, files
    files = ["conformance.html", "conformance.json", "conformance.xml"]
    expected = {"adapter": (0, "level=1\n", True, files), "other": (1, "level=0\n", True, files)}
    if results != expected:
        sys.exit(f"FAILED: GitHub action: {results}")
    print("ok: GitHub action")


def check_container(root, context, release):
    """Runs the program in a root folder with the files of the image and nothing else."""
    for line in (context / "Containerfile").read_text().splitlines():
        if line.startswith("COPY "):
            _, source, place = line.split()
            (root / place[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(context / source, root / place[1:])
    own = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    run = subprocess.run([*own, "chroot", root, f"/{NAME}", "--version"], stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "PATH": path})
    if run.stdout != f"{NAME} {release}\n":
        sys.exit(f"FAILED: container: the program ended with {run.returncode}")
    print("ok: container")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--binary", action="append", default=[], metavar="[TARGET=]FILE")
    options = parser.parse_args()
    here, release = host(), version()
    given = [it.rpartition("=") for it in options.binary] or [("", "", build(here))]
    programs = [Program(target or here, path) for target, _, path in given]
    package(OUTPUT, release, programs)
    if options.check:
        own = next((program for program in programs if program.target == here), None)
        if own is None:
            sys.exit(f"nothing to check: no program is for this machine, {here}")
        check(OUTPUT, release, own)


if __name__ == "__main__":
    main()
