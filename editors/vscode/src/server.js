"use strict";
/** The language server of this window: found, started, stopped. */

const vscode = require("vscode");
const { Client } = require("./client");
const { findExecutable } = require("./executable");
const { ServerProcess } = require("./server-process");
const { SETTINGS_FILES, documentSelector, executablePath, isWorthServer } = require("./settings");

const INSTALL = "pip install '.[lsp]' in the checkout";

/** @param {string} key */
function setting(key) {
  return vscode.workspace.getConfiguration("wattslice").get(key);
}

/** At most one client at a time; what starts and stops waits for its turn. */
class Server {
  /**
   * @param {vscode.LogOutputChannel} output
   * @param {import("./status").Status} status
   */
  constructor(output, status) {
    this.output = output;
    this.status = status;
    /** @type {Client | undefined} */
    this.client = undefined;
    /** @type {Promise<void>} */
    this.queue = Promise.resolve();
    this.wanted = false;
    this.told = "";
  }

  /**
   * Starts with the first document that is ours: a folder of other sources needs no server.
   * @param {vscode.TextDocument} document
   */
  opened(document) {
    if (this.wanted || vscode.languages.match(documentSelector(), document) === 0) return;
    if (isWorthServer(setting, document.languageId)) void this.restart();
    else void this.startWithSettings();
  }

  /** @private */
  async startWithSettings() {
    const found = await vscode.workspace.findFiles(SETTINGS_FILES, undefined, 1);
    if (found.length > 0 && !this.wanted) void this.restart();
  }

  /** Starts, or stops and starts again. */
  restart() {
    this.wanted = true;
    this.queue = this.queue.then(() => this.stopNow()).then(() => this.startNow());
    return this.queue;
  }

  /** After a change of what only a new process takes up. */
  restartIfWanted() {
    if (this.wanted) void this.restart();
    else vscode.workspace.textDocuments.forEach((document) => this.opened(document));
  }

  stop() {
    this.queue = this.queue.then(() => this.stopNow());
    return this.queue;
  }

  /** The executable, or undefined with the user told how to get one. */
  executable() {
    const folders = vscode.workspace.isTrusted ? workspaceFolders() : [];
    const configured = executablePath(setting);
    const { found, tried } = findExecutable(configured, folders, process.env);
    if (!found) this.tellMissing(configured, tried);
    return found;
  }

  /** @private */
  async startNow() {
    const selector = documentSelector();
    this.status.restarted(selector);
    const executable = this.executable();
    if (!executable) return;
    const server = new ServerProcess(executable, workspaceFolders()[0]);
    this.output.info(`starting ${executable} ${server.words.join(" ")}`);
    const client = new Client(() => server.start(), {
      documentSelector: selector,
      outputChannel: this.output,
      initializationOptions: vscode.workspace.getConfiguration("wattslice"),
      synchronize: { configurationSection: "wattslice" },
    });
    client.onNotification("$/wattslice/analyzed", (result) => this.status.analyzed(result));
    try {
      await client.start();
      this.client = client;
      this.told = "";
    } catch (error) {
      const reason = (await server.lastWords()) || (error instanceof Error ? error.message : String(error));
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
   * @param {string} configured
   * @param {string[]} tried
   */
  tellMissing(configured, tried) {
    const reason = configured
      ? `the setting wattslice.path names ${configured}, which is no executable file`
      : `no wattslice in ${tried.join(", ")}`;
    this.output.error(`${reason}. Install it (${INSTALL}), or name it in the setting wattslice.path`);
    this.tell(
      configured
        ? `There is no executable ${configured}, which the setting wattslice.path names.`
        : `wattslice was not found. Install it: ${INSTALL}, or name it in the settings.`,
      "Open Settings",
    );
  }

  /**
   * Each message once, however often the server is started meanwhile.
   * @private
   * @param {string} message
   * @param {"Show Output" | "Open Settings"} action
   */
  tell(message, action) {
    this.status.failed(message);
    if (this.told === message) return;
    this.told = message;
    const actions = [...new Set([action, "Show Output"])];
    void vscode.window.showErrorMessage(message, ...actions).then((chosen) => {
      if (chosen === "Open Settings") {
        void vscode.commands.executeCommand("workbench.action.openSettings", "wattslice.path");
      } else if (chosen) this.output.show();
    });
  }
}

function workspaceFolders() {
  return (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath);
}

module.exports = { Server, setting };
