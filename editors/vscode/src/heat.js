"use strict";
/** The page of `wattslice annotate --format html` in a tab beside the source. */

const path = require("node:path");
const vscode = require("vscode");
const { run } = require("./run");

/**
 * Saves the document first: the page is made from the file.
 * @param {vscode.TextDocument} document
 * @param {string} executable
 * @param {string[]} options
 */
async function showHeat(document, executable, options) {
  if (document.isDirty && !(await document.save())) return;
  const name = document.uri.path.split("/").at(-1) ?? "";
  const progress = {
    location: vscode.ProgressLocation.Notification,
    title: `wattslice annotates ${name}`,
    cancellable: true,
  };
  const page = await vscode.window.withProgress(progress, (_, token) => {
    const stop = new AbortController();
    token.onCancellationRequested(() => stop.abort());
    const cwd = vscode.workspace.getWorkspaceFolder(document.uri)?.uri.fsPath;
    const file = cwd ? path.relative(cwd, document.uri.fsPath) : document.uri.fsPath;
    const words = ["annotate", "--format", "html", ...options, "--", file];
    return run(executable, words, cwd, stop.signal).catch((error) => {
      if (stop.signal.aborted) return "";
      throw error;
    });
  });
  if (!page) return;
  const panel = vscode.window.createWebviewPanel(
    "wattslice.power.heat",
    `Heat: ${name}`,
    { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
    { enableScripts: true, enableFindWidget: true, localResourceRoots: [] },
  );
  panel.webview.html = page;
}

module.exports = { showHeat };
