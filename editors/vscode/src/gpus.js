"use strict";
/** The choice among the GPUs that `wattslice gpus` lists. */

const vscode = require("vscode");
const { run } = require("./run");
const { gpuEntries } = require("./gpu-entries");

/**
 * Asks, and writes the answer into the setting; the server takes it up by itself.
 * @param {string} executable
 */
async function chooseGpu(executable) {
  const entries = gpuEntries(await run(executable, ["gpus", "--format", "json"], undefined));
  const chosen = await vscode.window.showQuickPick(entries, {
    title: "GPU to predict for",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (!chosen) return;
  const settings = vscode.workspace.getConfiguration("wattslice");
  const target = vscode.workspace.workspaceFolders
    ? vscode.ConfigurationTarget.Workspace
    : vscode.ConfigurationTarget.Global;
  await settings.update("gpu", chosen.gpu || undefined, target);
}

module.exports = { chooseGpu };
