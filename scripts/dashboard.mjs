// Takes screenshots of the page of `dashboard.py`, which starts it with the arguments: Chromium, the folder of
// playwright-core, the page, and the folder of the screenshots. Exits with 1 if the page is wider than the window.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [chromium, playwright, page, pictures] = process.argv.slice(2);
const { chromium: browserType } = createRequire(import.meta.url)(playwright);
const browser = await browserType.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });
for (const width of [1280, 390]) {
  const tab = await browser.newPage({ viewport: { width, height: 900 } });
  await tab.goto(pathToFileURL(page).href);
  const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
  if (wide > width) {
    console.error(`the page is ${wide} pixels wide in a window of ${width}`);
    process.exitCode = 1;
  }
  await tab.screenshot({ path: `${pictures}/dashboard-${width}.png`, fullPage: true });
}
await browser.close();
