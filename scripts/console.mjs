// Drives the operator console in a real browser. `console.py` starts it with the arguments: the link, Chromium, the folder
// of playwright-core, axe's script, and a folder for screenshots or "".
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [link, chromium, playwright, axe, pictures] = process.argv.slice(2);
const { chromium: browserType } = createRequire(import.meta.url)(playwright);
const origin = new URL(link).origin;
const faults = [];
let checks = 0;

function check(shows, holds, found) {
  checks += 1;
  console.log(`${holds ? "ok  " : "FAIL"} ${shows}`);
  if (!holds) faults.push(`${shows}${found === undefined ? "" : `: ${JSON.stringify(found)}`}`);
}

const browser = await browserType.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
    "--host-resolver-rules=MAP rebound.test 127.0.0.1"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light" });
const page = await context.newPage();
const elsewhere = [];
const complaints = [];
page.on("request", (request) => {
  if (new URL(request.url()).origin !== origin) elsewhere.push(request.url());
});
page.on("console", (message) => {
  // The browser logs each refused request, and some of the checks below cause refusals.
  if (["error", "warning"].includes(message.type()) && !/Failed to load resource/.test(message.text())) {
    complaints.push(message.text());
  }
});
page.on("pageerror", (error) => complaints.push(String(error)));
page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
await page.addInitScript(() => {
  window.violations = [];
  document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
});

const cards = () => page.locator("#request-list > li").count();
const until = async (what, wanted, most = 50) => {
  for (let tries = 0; tries < most; tries += 1) {
    if (await what() === wanted) return true;
    await page.waitForTimeout(100);
  }
  return false;
};
const settle = () => page.waitForTimeout(900);
const rules = async (shows) => {
  await page.evaluate(readFileSync(axe, "utf8"));
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const found = result.violations.map((each) => `${each.id}: ${each.nodes.map((node) => node.target.join(" ")).join(", ")}`);
  check(`axe finds nothing: ${shows}`, found.length === 0, found);
};
const picture = async (name, options) => {
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png`, ...options });
};

// Access without a link.
const refused = await page.goto(`${origin}/`);
check("without a link the page is refused with an explanation", refused.status() === 401
  && await page.getByRole("heading", { name: "Sign in with a link" }).isVisible());
await rules("signed out");
await picture("signed-out");

// Access with the link, which works once.
await page.goto(link);
await page.locator("#request-list > li").first().waitFor();
check("the link signs in, and nothing of it stays in the address", page.url() === `${origin}/`, page.url());
const cookies = await context.cookies();
check("one session cookie, for HTTP only and this site only", cookies.length === 1 && cookies[0].httpOnly
  && cookies[0].sameSite === "Strict" && cookies[0].expires === -1, cookies);
const other = await browser.newContext();
const again = await other.newPage();
check("the link is used up", (await again.goto(link)).status() === 401);
await other.close();

// The contents of the page.
const open = await cards();
check("requests, blocks, agents and the audit trail are shown", open >= 3
  && await page.locator("#block-list > li").count() >= 1 && await page.locator("#agent-list > li").count() >= 2
  && await page.locator("#audit-list > li").count() >= 3);
check("the title counts what is open", (await page.title()).startsWith(`(${open}) `), await page.title());
check("the live region tells how many wait", await until(
  async () => (await page.locator("#announcer").textContent()).startsWith(`${open} requests wait`), true));
const text = await page.locator("#request-list").textContent();
check("an agent's markup stays text", text.includes("<img src=x onerror=") && text.includes("<script>alert(1)</script>")
  && await page.locator("main img, main script").count() === 0);
const tried = page.locator('[data-request="rq-tried"]');
check("after a wrong code the page says what happened and what comes next",
  (await tried.textContent()).includes("A wrong code was given.") && (await tried.textContent()).includes("Press New code")
  && await tried.locator('[data-act="approve"], [data-act="code"]').count() === 0
  && await tried.locator('[data-act="renew"]').count() === 1);
check("text turned around is shown as it is", text.includes("U+202Egpj.exeU+202C"));
await rules("light");
await picture("console-light", { fullPage: true });
await page.emulateMedia({ colorScheme: "dark" });
await rules("dark");
await picture("console-dark", { fullPage: true });
await page.emulateMedia({ colorScheme: "light" });

// A narrow window.
await page.setViewportSize({ width: 320, height: 700 });
check("nothing is wider than 320 px", await page.evaluate(() => document.documentElement.scrollWidth) <= 320);
await rules("narrow");
await picture("console-narrow", { fullPage: true });
await page.setViewportSize({ width: 1280, height: 900 });

// Keyboard navigation.
await page.keyboard.press("j");
check("j goes to the first block, which is above the requests", await page.evaluate(
  () => document.activeElement.matches("#block-list > li:first-child")));
for (let blocks = await page.locator("#block-list > li").count(); blocks > 0; blocks -= 1) await page.keyboard.press("j");
check("and on to the first request", await page.evaluate(() => document.activeElement.matches("#request-list > li:first-child")));
await page.keyboard.press("j");
await page.keyboard.press("k");
check("k goes back", await page.evaluate(() => document.activeElement.matches("#request-list > li:first-child")));
check("the focus can be seen", await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== "none"));
const first = await page.locator("#request-list > li").first().getAttribute("data-request");
await page.keyboard.press("c");
const code = page.locator("#request-list > li").first().locator("output");
await code.waitFor();
check("c shows the code", /^[0-9A-Z]{4}(-[0-9A-Z]{4}){12}$/.test(await code.textContent()));
await page.waitForTimeout(1500);
await picture("console-code", { fullPage: false });
await page.keyboard.press("c");
check("c hides it", await code.count() === 0);
await page.keyboard.press("d");
await page.locator("#ask[open]").waitFor();
await page.keyboard.press("Escape");
await page.waitForTimeout(1200);
check("Esc changes nothing, and the focus is back", await cards() === open
  && await page.evaluate(() => document.activeElement.matches("#request-list > li:first-child")));
await page.keyboard.press("a");
await page.locator("#ask[open]").waitFor();
check("a asks first", await cards() === open);
await rules("a question");
await page.waitForTimeout(300);
await picture("console-question");
await page.keyboard.press("Enter");
check("Enter approves", await until(cards, open - 1)
  && await page.locator(`[data-request="${first}"]`).count() === 0);
check("the focus goes on to the next request", await until(
  () => page.evaluate(() => document.activeElement.matches("#request-list > li:first-child")), true));
check("the audit trail names who decided", await until(
  async () => (await page.locator("#audit-list > li").first().textContent()).includes("(by ada, console)"), true));
check("and the page says so", await page.locator("#toast").textContent() === "Approved.");
check("the title counts anew", (await page.title()).startsWith(`(${open - 1}) `), await page.title());

// Tab reaches every button of the page, in order.
await page.evaluate(() => { document.activeElement.blur(); window.scrollTo(0, 0); });
const reached = new Set();
for (let presses = 0; presses < 120; presses += 1) {
  await page.keyboard.press("Tab");
  reached.add(await page.evaluate(() => [...document.querySelectorAll("button, input, select, summary")].indexOf(document.activeElement)));
}
const all = await page.evaluate(() => [...document.querySelectorAll("button, input, select, summary")]
  .map((node, place) => [node, place]).filter(([node]) => !node.closest("dialog") && !node.disabled && node.checkVisibility()).map(([, place]) => place));
check("Tab reaches every control", all.every((place) => reached.has(place)), all.filter((place) => !reached.has(place)));

// A click on an element that has just moved is ignored.
await settle();
const deny = page.locator("#request-list > li").first().getByRole("button", { name: /^Deny/ });
const press = async () => {
  const { x, y } = await deny.boundingBox();
  await page.mouse.click(x + 5, y + 5);
};
const before = await cards();
await press();
await until(cards, before - 1);
await press();
await page.waitForTimeout(1500);
check("a click on what has just moved does nothing", await cards() === before - 1, await cards());

// Blocks.
const blocked = await page.locator("#block-list > li").count();
await settle();
await page.getByRole("button", { name: /^Unblock/ }).first().click();
await page.locator("#ask[open]").waitFor();
check("Unblock asks, and Cancel has the focus", await page.evaluate(() => document.activeElement.id === "ask-no"));
await page.locator("#ask-yes").click();
check("Unblock unblocks", await until(() => page.locator("#block-list > li").count(), blocked - 1));

// Stopping an agent.
await settle();
const running = page.locator("#agent-list > li").filter({ hasText: "release-bot" });
await running.getByRole("button", { name: /^Stop/ }).click();
await page.locator("#ask[open]").waitFor();
check("Stop asks, and Cancel has the focus", await page.evaluate(() => document.activeElement.id === "ask-no"));
await page.locator("#ask-yes").click();
check("a stopped agent is blocked", await until(() => page.locator('[data-block="release-bot"]').count(), 1)
  && await until(async () => (await running.locator(".chip").textContent()), "Blocked")
  && await running.getByRole("button", { name: /^Stop/ }).count() === 0);
check("its block can only be lifted", await page.locator('[data-block="release-bot"] [data-act="approve"]').count() === 0
  && await page.locator('[data-block="release-bot"] [data-act="unblock"]').count() === 1);

// The audit trail.
await page.keyboard.press("/");
await page.keyboard.type("unblocked");
check("the audit trail is filtered", await page.locator("#audit-list > li").count() === 1);
await page.keyboard.press("Escape");
await page.locator("#audit-list summary").first().click();
check("an entry shows in full", await page.locator("#audit-list pre").first().isVisible());
await rules("an entry in full");

// Records that cannot be read.
const strangers = [{ collection: "safety_agents", key: "of <b>tomorrow</b>" }, { collection: "safety_approvals", key: "7f" }];
const warning = page.locator("#unreadable");
const waiting = await cards();
check("nothing is said of records as long as all can be read", await warning.isHidden());
await page.route("**/api/overview", async (route) => {
  const answer = await route.fetch({ headers: { ...route.request().headers(), "if-none-match": "" } });
  const headers = { ...answer.headers(), etag: '"another"' };
  await route.fulfill({ response: answer, headers, json: { ...await answer.json(), unreadable: strangers } });
});
check("what cannot be read is named, and the rest shown", await until(() => warning.isVisible(), true)
  && (await warning.textContent()).includes("safety_agents of <b>tomorrow</b>, safety_approvals 7f") && await cards() === waiting);
await rules("unreadable records");
await page.unroute("**/api/overview");
check("and no more when it is readable", await until(() => warning.isVisible(), false));

// Many requests, and a block that arrives while the page is open.
const soon = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();
const long = Array.from({ length: 60 }, (_, line) => `copy /srv/data/part-${line} to /backup`).join("\n");
const actions = ["git push origin main", "deploy_service checkout --env staging --version 2.4.0 --replicas 12", "write_file notes.md"];
const crowd = {
  blocks: [],
  requests: Array.from({ length: 70 }, (_, place) => ({
    id: `many-${place}`, kind: ["step", "start", "operation"][place % 3], agent: `worker-${place % 7}`,
    action: place === 1 ? long : actions[place % 3], reasons: ["The action needs approval.", "matched pattern git push*"],
    session: `s-2b7c9a7be2d84c1${place % 7}`, client: place % 2 ? "cursor 1.7.2" : "claude-code 2.1.0",
    asked_at: soon(-150), expires_at: soon(900), has_code: true, void: null,
  })),
};
const failing = new Set(["many-69"]);
await page.route("**/api/overview", async (route) => {
  const { "if-none-match": _, ...headers } = route.request().headers();
  const overview = await (await route.fetch({ headers })).json();
  await route.fulfill({ json: { ...overview, ...crowd } });
});
await page.route("**/api/requests/many-*/*", async (route) => {
  const [, id] = /requests\/([^/]+)\//.exec(route.request().url());
  if (failing.has(id)) return route.fulfill({ status: 404, json: { error: "There is none." } });
  crowd.requests = crowd.requests.filter((each) => each.id !== id);
  return route.fulfill({ status: 204 });
});
await page.evaluate(() => {
  window.alerts = [];
  window.Notification = class {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(...told) { window.alerts.push(told); }
  };
  document.hasFocus = () => false;
});
await page.getByRole("button", { name: "Alerts" }).click();
await page.getByLabel("Show a desktop notification").check();
await page.getByLabel("Play a sound").check();
await rules("alerts");
await page.keyboard.press("Escape");
check("70 requests are shown", await until(cards, 70));
check("each with its client, its session and the time", await until(async () => {
  const asked = await page.locator('[data-request="many-3"] .who').textContent();
  return ["worker-3", "client cursor 1.7.2", "session s-2b7c9a7be2d84c13", "asked 2 min ago"].every((part) => asked.includes(part));
}, true));
await settle();
await page.evaluate(() => window.scrollTo(0, 0));
await rules("70 requests");
await picture("console-many");

// The end of a long text.
const text70 = page.locator('[data-request="many-1"]');
const approve = text70.locator('[data-act="approve"]');
check("a long text has a sign, and cannot be approved yet", await approve.isDisabled() && await text70.locator(".more").isVisible());
// The sign disappears at the end, maybe between two steps of a click.
for (let clicks = 0; clicks < 40 && await text70.locator(".more").isVisible(); clicks += 1) {
  await text70.locator(".more").evaluate((sign) => sign.click());
  await page.waitForTimeout(100);
}
check("once its end was shown it can", await until(() => approve.isEnabled(), true) && await text70.locator(".more").isHidden());
check("a short text has no sign", await page.locator('[data-request="many-3"] .more').isHidden()
  && await page.locator('[data-request="many-3"] [data-act="approve"]').isEnabled());

// A block arrives.
await page.locator('[data-request="many-40"]').focus();
const blocking = { agent: "worker-2", action: "rm -rf /srv", client: "cursor 1.7.2", session: "s-2b7c9a7be2d84c12" };
crowd.blocks = [{ ...blocking, reason: "It is denied.", since: soon(-1), stopped: false, challenge_id: "many-block" }];
crowd.requests = [...crowd.requests, { ...blocking, id: "many-block", kind: "block", reasons: ["It is denied."], asked_at: soon(-1), expires_at: soon(300), has_code: true, void: null }];
check("a block that arrives is above everything else", await until(
  () => page.evaluate(() => document.querySelector("main [data-request], main [data-block]").dataset.block), "worker-2")
  && await page.locator("#request-list > li").count() === 70);
check("the bar and the title say so", await page.locator("#bar-blocked").textContent() === "1 blocked"
  && (await page.title()).startsWith("(70) 1 blocked – "), await page.title());
check("the focus stays", await page.evaluate(() => document.activeElement.dataset.request === "many-40"));
check("a notification calls who does not look", await until(
  async () => JSON.stringify((await page.evaluate(() => window.alerts)).at(-1) || "").includes("rm -rf /srv"), true));

// Filter, groups, and several decisions at once, in a narrow window.
await page.setViewportSize({ width: 390, height: 844 });
await page.evaluate(() => window.scrollTo(0, 0));
check("nothing is wider than 390 px", await page.evaluate(() => document.documentElement.scrollWidth) <= 390);
await rules("70 requests, narrow");
await picture("console-many-narrow");
await page.getByLabel("Filter requests by text").fill("worker-5");
check("requests are filtered", await until(cards, 10));
await page.getByLabel("Filter requests by text").fill("");
await page.getByLabel("Group requests").selectOption("agent");
check("and grouped", await until(() => page.locator("#request-list > .group").count(), 7) && await cards() === 77);
await page.locator("#request-list > .group button").nth(1).click();
check("a group is selected at once", await until(() => page.locator("[data-pick]:checked").count(), 10)
  && (await page.locator("#several-text").textContent()) === "10 selected");
await rules("selected requests");
await settle();
await picture("console-several-narrow");
await page.getByRole("button", { name: "Approve 10 …" }).click();
await page.locator("#ask[open]").waitFor();
check("all of them are shown before", await page.locator("#ask-what pre").count() === 10 && await page.locator("#ask-yes").isDisabled());
await rules("several in question");
await picture("console-several-question");
await page.locator("#ask-what").evaluate((box) => { box.scrollTop = box.scrollHeight; });
check("and can be approved once the last was in sight", await until(() => page.locator("#ask-yes").isEnabled(), true));
await page.locator("#ask-yes").click();
check("several are approved at once", await until(() => page.locator("#requests-count").textContent(), "60")
  && await until(() => page.locator("#toast").textContent(), "10 approved."));
await page.getByLabel("Group requests").selectOption("");
await page.locator("#several-all").check();
await settle();
await page.getByRole("button", { name: "Deny 60 …" }).click();
await page.locator("#ask[open]").waitFor();
await page.locator("#ask-yes").click();
check("what cannot be decided stays, and is told of", await until(() => page.locator("#requests-count").textContent(), "1", 300)
  && await until(async () => (await page.locator("#toast").textContent()).startsWith("59 denied, 1 failed"), true));
await page.setViewportSize({ width: 1280, height: 900 });
await page.unroute("**/api/requests/many-*/*");
await page.unroute("**/api/overview");
check("the demonstration is back", await until(async () => await page.locator('[data-request^="many"]').count(), 0));

// Neither another site nor another port of this machine, which receives the same cookies, may query, read or embed
// the console, nor may a site whose name resolves to this machine.
const stranger = await page.locator("#request-list > li").first().getAttribute("data-request");
const target = `${origin}/api/requests/${stranger}/approve`;
for (const attacker of ["http://evil.test/", "http://127.0.0.1:9000/"]) {
  const tab = await context.newPage();
  const answers = [];
  tab.on("response", (response) => {
    const asked = response.request();
    if (asked.url() === target && asked.isNavigationRequest()) answers.push(response.status());
  });
  await tab.route(attacker, (route) => route.fulfill({ contentType: "text/html", body: `<iframe src="${origin}/"></iframe>` }));
  await tab.goto(attacker);
  const remaining = await cards();
  const [, frame] = tab.frames();
  const shown = await frame.locator("body").textContent().catch(() => "");
  check(`no frame of ${attacker} shows it`, !shown.includes("Waiting for you") && !shown.includes("Sign in"), shown);
  const sent = await tab.evaluate(async (address) => {
    const outcomes = [];
    for (const options of [{ mode: "no-cors" }, { mode: "cors" }, { mode: "cors", headers: { "X-Console-Token": "x" } }]) {
      outcomes.push(await fetch(address, { method: "POST", credentials: "include", ...options })
        .then((answer) => answer.type, () => "nothing"));
    }
    return outcomes;
  }, target);
  check(`${attacker} posts without an answer`, sent.every((each) => ["opaque", "nothing"].includes(each)), sent);
  for (const path of ["/", "/api/overview", "/console.js", "/login"]) {
    const read = await tab.evaluate(async (address) => {
      const seen = [];
      for (const mode of ["cors", "no-cors"]) {
        try {
          const answer = await fetch(address, { mode, credentials: "include" });
          seen.push(answer.type === "opaque" ? "" : await answer.text());
        } catch {
          seen.push("");
        }
      }
      return seen.join("");
    }, origin + path);
    check(`${attacker} reads nothing of ${path}`, read === "", read);
  }
  const loaded = await tab.evaluate((address) => Promise.all([["script", "/console.js"], ["img", "/icon.svg"]].map(([name, path]) =>
    new Promise((done) => {
      const node = document.createElement(name);
      node.onload = () => done(path);
      node.onerror = () => done("");
      node.src = address + path;
      document.body.append(node);
    }))), origin);
  check(`${attacker} uses none of its files`, loaded.join("") === "", loaded);
  const opened = await tab.evaluate(async (address) => {
    const shown = window.open(address);
    await new Promise((done) => setTimeout(done, 1000));
    try {
      return shown === null || shown.closed ? "nothing" : shown.document.title;
    } catch {
      return "nothing";
    }
  }, `${origin}/`);
  check(`${attacker} reaches into no window with it`, opened === "nothing" || opened === "", opened);
  await tab.evaluate((address) => {
    const form = Object.assign(document.createElement("form"), { method: "POST", action: address });
    document.body.append(form);
    form.submit();
  }, target);
  check(`a form of ${attacker} is refused`, await until(async () => answers.join(), "403"), answers);
  await page.waitForTimeout(1500);
  check(`and nothing that ${attacker} did was done`, await cards() === remaining
    && await page.locator(`[data-request="${stranger}"]`).count() === 1);
  for (const each of context.pages()) if (each !== page) await each.close();
}
{
  // The browser resolves this name to the console's address, as in a DNS rebinding attack.
  const rebound = `http://rebound.test:${new URL(origin).port}`;
  const tab = await context.newPage();
  for (const path of ["/", "/api/overview", "/console.js", "/login"]) {
    const answer = await tab.goto(rebound + path);
    check(`${path} is refused under another name`, answer.status() === 403
      && (await answer.text()).includes("Open the console as 127.0.0.1"), answer.status());
  }
  const sent = await tab.evaluate(async (path) => {
    const own = await fetch("/api/overview").then((answer) => answer.status);
    return [own, await fetch(path, { method: "POST", headers: { "X-Console-Token": "x" } }).then((answer) => answer.status)];
  }, new URL(target).pathname);
  check("nor does a page of that name get anything", sent.join() === "403,403", sent);
  check("and it has no cookie of the console's", (await context.cookies(rebound)).length === 0);
  await tab.close();
}

// A wrong code is entered while the page is open: the server reports that the request is gone, and why.
await page.route("**/api/overview", async (route) => {
  const { "if-none-match": _, ...headers } = route.request().headers();
  const overview = await (await route.fetch({ headers })).json();
  overview.requests = overview.requests.filter((each) => each.id !== "rq-old");
  overview.audit.unshift({ event: "CHALLENGE_FAILED", outcome: "failed", challenge_id: "rq-old" });
  await route.fulfill({ json: overview });
});
check("a request that a wrong code took away is told of", await until(
  async () => (await page.locator("#toast").textContent()).includes("A wrong code was given, and the challenge is no longer valid."), true));
await page.unroute("**/api/overview");

// The connection state.
await context.setOffline(true);
check("a lost connection is told", await until(() => page.locator("#banner").isVisible(), true)
  && (await page.locator("#banner").textContent()).startsWith("Connection lost."));
check("the title says so", (await page.title()).startsWith("Not connected – "), await page.title());
check("and nothing can be decided meanwhile", await page.locator("main button:enabled").count() === 0);
await rules("connection lost");
await picture("console-lost");
await page.getByRole("button", { name: "Sign out" }).click();
check("nor can anybody believe to be signed out", (await page.locator("#toast").textContent()).startsWith("You are still signed in"));
await context.setOffline(false);
check("and told when it is back", await until(() => page.locator("#banner").isVisible(), false));

// Signing out.
await page.getByRole("button", { name: "Sign out" }).click();
check("signing out ends it", await until(() => page.locator("#main").isVisible(), false)
  && (await page.goto(`${origin}/`)).status() === 401);

check("nothing was asked from anywhere else", elsewhere.length === 0, elsewhere);
const violations = await page.evaluate(() => window.violations);
check("no complaint of the browser, no violation of the policy", complaints.length === 0 && violations.length === 0, [complaints, violations]);

await browser.close();
console.log(`${checks} checks, ${faults.length} failed`);
faults.forEach((fault) => console.log(`  ${fault}`));
process.exit(faults.length ? 1 : 0);
