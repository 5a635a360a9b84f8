"use strict";
/** What VS Code calls: everything is put together here and taken apart again. */

const vscode = require("vscode");
const { chooseGpu } = require("./gpus");
const { showHeat } = require("./heat");
const { Server, setting } = require("./server");
const { analysisOptions } = require("./settings");
const { Status } = require("./status");

/** @type {Server | undefined} */
let server;

/** @param {vscode.ExtensionContext} context */
function activate(context) {
  const output = vscode.window.createOutputChannel("wattslice", { log: true });
  const status = new Status();
  const started = new Server(output, status);
  server = started;
  context.subscriptions.push(
    output,
    status,
    vscode.window.onDidChangeActiveTextEditor(() => status.show()),
    vscode.workspace.onDidOpenTextDocument((document) => started.opened(document)),
    vscode.workspace.onDidCloseTextDocument((document) => status.closed(document)),
    vscode.workspace.onDidChangeConfiguration((event) => {
      const keys = ["path", "plainC"]; // all others the server takes up while it runs
      if (keys.some((key) => event.affectsConfiguration(`wattslice.${key}`))) started.restartIfWanted();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => started.restartIfWanted()),
    vscode.commands.registerCommand("wattslice.restart", () => started.restart()),
    vscode.commands.registerCommand("wattslice.showOutput", () => output.show()),
    vscode.commands.registerCommand("wattslice.chooseGpu", () =>
      withExecutable(started, (executable) => chooseGpu(executable)),
    ),
    vscode.commands.registerCommand("wattslice.showHeat", () =>
      withExecutable(started, async (executable) => {
        const document = vscode.window.activeTextEditor?.document;
        if (document) await showHeat(document, executable, analysisOptions(setting));
      }),
    ),
  );
  vscode.workspace.textDocuments.forEach((document) => started.opened(document));
}

/**
 * @param {Server} started
 * @param {(executable: string) => Promise<void>} action
 */
async function withExecutable(started, action) {
  const executable = started.executable();
  if (!executable) return;
  try {
    await action(executable);
  } catch (error) {
    void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
  }
}

function deactivate() {
  return server?.stop();
}

module.exports = { activate, deactivate };
