// MCP's SDK for TypeScript, of either major version, as a third-party client that `clients.py` gives commands.
//
//     node client.mjs PACKAGE
//
// PACKAGE is the folder of the SDK. For the commands and their answers see client.py. Version 1 has no modes.
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${folder}/dist/${path}`));
const paths = existsSync(`${folder}/dist/esm`)
  ? ["client/index.js", "client/stdio.js", "client/streamableHttp.js", "types.js"].map((path) => `esm/${path}`)
  : ["index.mjs"];
const sdk = Object.assign({}, ...(await Promise.all(paths.map(load))));

const sessions = {};

const deeds = {
  async open(session, { target, mode = "legacy", token }) {
    const capabilities = token ? { elicitation: { form: {} } } : {};
    const versionNegotiation = { mode: mode === "legacy" ? mode : { pin: mode } };
    const client = new sdk.Client({ name: "client", version: "1" }, { capabilities, versionNegotiation });
    if (token) {
      client.setRequestHandler("elicitation/create", ({ params }) => {
        session.asked.push(params.message);
        const action = session.answers.shift();
        return action === "accept" ? { action, content: {} } : { action };
      });
    }
    const requestInit = token && { headers: { Authorization: `Bearer ${token}` } };
    const [command, ...args] = typeof target === "string" ? [] : target;
    await client.connect(command
      ? new sdk.StdioClientTransport({ command, args })
      : new sdk.StreamableHTTPClientTransport(new URL(target), { requestInit }));
    session.client = client;
    session.tasks = client.experimental?.tasks;
    return client.getServerCapabilities();
  },
  async tools({ client }) {
    const { tools } = await client.listTools();
    return Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  },
  async call(session, { tool, arguments: params, answers = [], task: how }) {
    Object.assign(session, { answers, asked: [] });
    const call = { name: tool, arguments: params };
    if (!how) return { result: await session.client.callTool(call), asked: session.asked };
    let task;
    const messages = session.tasks.callToolStream(call, sdk.CallToolResultSchema, { task: { ttl: 60_000 } });
    for await (const message of messages) {
      if (message.type === "error") throw message.error;
      task ??= message.task;
      if (how === "start" || message.type === "result") return { task, result: message.result };
    }
    throw new Error("the task has no result");
  },
  get_task: ({ tasks }, { task }) => tasks.getTask(task),
  cancel_task: ({ tasks }, { task }) => tasks.cancelTask(task),
  list_tasks: ({ tasks }) => tasks.listTasks(),
  close: ({ client }) => client.close(),
};

async function run({ session: name, do: what, ...command }) {
  const session = (sessions[name] ??= {});
  const answer = await Promise.resolve().then(() => deeds[what](session, command)).then(
    (reply) => ({ reply: reply ?? null }),
    ({ name, message, code, data }) => ({ error: { message: `${name}: ${message}`, code, data } }),
  );
  console.log(JSON.stringify({ session: name, ...answer }));
}

createInterface(process.stdin).on("line", (line) => run(JSON.parse(line))).on("close", () => process.exit());
