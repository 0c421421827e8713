#!/usr/bin/env node
// Runs the program for this platform, which is part of the package, with the same streams, signals and exit code.
"use strict";

const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const { constants } = require("node:os");
const path = require("node:path");

const platform = `${process.platform}-${process.arch}`;
const name = process.platform === "win32" ? "mcp-aql-conformance.exe" : "mcp-aql-conformance";
const program = path.join(__dirname, "..", "native", platform, name);
if (!existsSync(program)) {
  console.error(`mcp-aql-conformance: this package has no program for ${platform}`);
  process.exit(3);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(`mcp-aql-conformance: the program does not start: ${error.message}`);
  process.exit(3);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
