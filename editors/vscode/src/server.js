"use strict";
/** The language server of this window: found, started, stopped, and started again when settings change. */

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { findExecutable } = require("./executable");
const { ServerProcess } = require("./server-process");
const { analysisOptions, documentSelector, readSettings } = require("./settings");

const INSTALL = "pip install 'wattslice[lsp]'";

/** At most one client at a time; starting and stopping are serialised. */
class Server {
  /**
   * @param {vscode.LogOutputChannel} output
   * @param {import("./status").Status} status
   */
  constructor(output, status) {
    this.output = output;
    this.status = status;
    /** @type {LanguageClient | undefined} */
    this.client = undefined;
    /** @type {Promise<void>} */
    this.queue = Promise.resolve();
    this.told = "";
  }

  /** Starts, or stops and starts again. */
  restart() {
    this.queue = this.queue.then(() => this.stopNow()).then(() => this.startNow());
    return this.queue;
  }

  stop() {
    this.queue = this.queue.then(() => this.stopNow());
    return this.queue;
  }

  get settings() {
    const settings = vscode.workspace.getConfiguration("wattslice");
    return readSettings((key) => settings.get(key));
  }

  get options() {
    return analysisOptions(this.settings);
  }

  /** The executable, or undefined with the user told how to get one. */
  executable() {
    const folders = vscode.workspace.isTrusted ? workspaceFolders() : [];
    const { found, tried } = findExecutable(this.settings.path, folders, process.env);
    if (!found) this.tellMissing(tried);
    return found;
  }

  /** @private */
  async startNow() {
    const selector = documentSelector(this.settings);
    this.status.restarted(selector);
    const executable = this.executable();
    if (!executable) return;
    const server = new ServerProcess(executable, this.options, workspaceFolders()[0]);
    this.output.info(`starting ${executable} ${server.words.join(" ")}`);
    const client = new LanguageClient("wattslice", "wattslice", () => server.start(), {
      documentSelector: selector,
      outputChannel: this.output,
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/{wattslice,pyproject}.toml") },
    });
    client.onNotification("wattslice/analyzed", (result) => this.status.analyzed(result));
    try {
      await client.start();
      this.client = client;
      this.told = "";
    } catch (error) {
      const reason = server.lastWords() || (error instanceof Error ? error.message : String(error));
      await client.dispose().catch(() => undefined);
      this.tell(`The language server did not start: ${reason}`, "Show Output");
    }
  }

  /** @private */
  async stopNow() {
    const client = this.client;
    this.client = undefined;
    await client?.dispose().catch((error) => this.output.warn(`while stopping: ${error}`));
  }

  /**
   * @private
   * @param {string[]} tried
   */
  tellMissing(tried) {
    const reason = this.settings.path
      ? `the setting wattslice.path names ${tried[0]}, which is no executable file`
      : `no wattslice in ${tried.join(", ")}`;
    this.output.error(`${reason}. Install it (${INSTALL}), or name it in the setting wattslice.path`);
    const remedy = this.settings.path ? "Correct the setting." : `Install it: ${INSTALL}, or name it in the settings.`;
    this.tell(`wattslice was not found. ${remedy}`, "Open Settings");
  }

  /**
   * Once for each different message: a restart by a changed setting must not repeat it.
   * @private
   * @param {string} message
   * @param {"Show Output" | "Open Settings"} action
   */
  tell(message, action) {
    this.status.failed(message);
    if (this.told === message) return;
    this.told = message;
    void vscode.window.showErrorMessage(message, action, "Show Output").then((chosen) => {
      if (chosen === "Open Settings") {
        void vscode.commands.executeCommand("workbench.action.openSettings", "wattslice.path");
      } else if (chosen) this.output.show();
    });
  }
}

function workspaceFolders() {
  return (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
}

module.exports = { Server };
