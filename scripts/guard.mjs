// An operator at the console: executes the commands on standard input and answers each with a line. `guard.py` starts it
// with the arguments: the link, Chromium and the folder of playwright-core.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [link, chromium, playwright] = process.argv.slice(2);
const { chromium: browserType } = createRequire(import.meta.url)(playwright);
const browser = await browserType.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 1100 }, deviceScaleFactor: 1.5, colorScheme: "light" });
const complaints = [];
page.on("console", (message) => {
  if (["error", "warning"].includes(message.type())) complaints.push(message.text());
});
page.on("pageerror", (error) => complaints.push(String(error)));
await page.goto(link);

// A new request ignores clicks for a moment, so that operators do not approve requests that they have not seen.
const settle = () => page.waitForTimeout(1000);
const card = (agent) => page.locator("main [data-request]").filter({ has: page.getByText(agent, { exact: true }) });

const deeds = {
  async approve({ agent }) {
    await card(agent).waitFor();
    await settle();
    await card(agent).locator('[data-act="approve"]').click();
    await card(agent).waitFor({ state: "detached" });
  },
  async code({ agent }) {
    await card(agent).waitFor();
    await settle();
    await card(agent).locator('[data-act="code"]').click();
    return card(agent).locator("output").textContent();
  },
  // Waits until the expected number of agents is blocked, or until a time limit, and returns them.
  async blocks({ count }) {
    const blocks = page.locator("#block-list > li");
    for (let tries = 0; tries < 100 && await blocks.count() !== count; tries += 1) await page.waitForTimeout(100);
    return blocks.evaluateAll((shown) => shown.map((each) => each.dataset.block));
  },
  async picture({ path }) {
    // The message about the last click disappears after some time.
    await page.locator("#toast").waitFor({ state: "hidden" });
    await page.mouse.move(0, 0);
    await page.evaluate(() => document.activeElement.blur());
    await page.screenshot({ path });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { what, ...details } = JSON.parse(line);
  const answer = await deeds[what](details);
  process.stdout.write(`${JSON.stringify({ answer: answer ?? null })}\n`);
}
await browser.close();
complaints.forEach((complaint) => console.error(complaint));
process.exit(complaints.length ? 1 : 0);
