/**
 * What vscode.py lets a browser do in VS Code: open a file, read what is shown, point at a kernel, type, wait for
 * what is shown then. Its task is JSON on the command line, its result JSON on stdout.
 */

import { pathToFileURL } from "node:url";

const task = JSON.parse(process.argv[2]);
const { chromium } = await import(pathToFileURL(task.playwright).href);
const HINT = /[\d.]+\s[mµk]?W\s·\s\d+\s%/; // the blanks of a line are U+00A0
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"];

const browser = await chromium.launch({ executablePath: task.chromium, args: FLAGS });
const page = await browser.newPage({ viewport: { width: 1100, height: 640 } });
page.setDefaultTimeout(task.patience_ms);
await page.goto(task.url);
await page.waitForSelector(".monaco-workbench");
await page.waitForTimeout(4000);
await page.keyboard.press("Control+B"); // the side bar away
await page.keyboard.press("Control+P");
await page.waitForSelector(".quick-input-widget input");
await page.keyboard.type(task.file);
await page.waitForTimeout(2000);
const opened = Date.now();
await page.keyboard.press("Enter");
await page.waitForFunction(
  (source) => new RegExp(source).test(document.querySelector(".view-lines")?.innerText ?? ""),
  HINT.source,
);
const result = { opened_ms: Date.now() - opened };
await page.waitForSelector(".codelens-decoration");
await page.waitForSelector("[id*='wattslice.gpu']");
await page.waitForTimeout(1500);
result.hints = await hints();
result.lenses = await page.locator(".codelens-decoration").allInnerTexts();
result.status = (await page.locator("[id*='wattslice.gpu']").first().innerText()).trim();
result.problems = await page.locator("[id='status.problems']").first().getAttribute("aria-label");

const kernel = page.locator(`.view-line span:text-is("${task.kernel}")`).first();
const box = await kernel.boundingBox();
await page.mouse.move(box.x + 20, box.y + 8);
await page.waitForSelector(".monaco-hover:not(.hidden) table");
await page.waitForTimeout(1000);
result.hover = (await page.locator(".monaco-hover:not(.hidden)").first().innerText()).replace(/\s*\n\s*/g, "\n").trim();
await page.screenshot({ path: task.picture });
await page.mouse.move(10, 620);
await page.keyboard.press("Escape");

await page.keyboard.press("Control+G");
await page.waitForTimeout(800);
await page.keyboard.type(`${task.line}:${task.column}`);
await page.keyboard.press("Enter");
await page.waitForTimeout(1500);
result.latencies_ms = [];
for (let number = 1; number <= task.edits; number += 1) {
  const before = await hintOf(task.line);
  const started = Date.now();
  await page.keyboard.insertText(` * 1.${String(number).padStart(2, "0")}f`);
  await page.waitForFunction(
    ([line, text, source]) => {
      const shown = window.wattsliceHint(line, source);
      return shown && shown !== text;
    },
    [task.line, before, HINT.source],
    { polling: 5 },
  );
  result.latencies_ms.push(Date.now() - started);
  await page.waitForTimeout(700);
}
result.after = await hintOf(task.line);
await browser.close();
console.log(JSON.stringify(result));

/** Texts of all hints in sight, with their lines. */
async function hints() {
  await page.evaluate(() => {
    // The number in the margin and the text of a line have the same place.
    window.wattsliceHint = (line, source) => {
      const numbers = [...document.querySelectorAll(".line-numbers")];
      const number = numbers.find((one) => one.innerText.trim() === String(line));
      const top = number?.parentElement?.style.top;
      const text = [...document.querySelectorAll(".view-line")].find((one) => one.style.top === top)?.innerText ?? "";
      return (new RegExp(source).exec(text)?.[0] ?? "").replace(/\s/g, " ");
    };
  });
  const found = [];
  for (let line = 1; line <= 60; line += 1) {
    const text = await hintOf(line);
    if (text) found.push({ line, text });
  }
  return found;
}

/** @param {number} line */
function hintOf(line) {
  return page.evaluate(([number, source]) => window.wattsliceHint(number, source), [line, HINT.source]);
}
