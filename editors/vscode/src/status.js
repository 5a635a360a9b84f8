"use strict";
/** The item in the status bar: the GPU that is predicted for, and how the server is. */

const vscode = require("vscode");
const { tooltipLines, statusText } = require("./status-text");

/** @typedef {import("./status-text").Analyzed} Analyzed */

/** One item, hidden while no CUDA file is in front. */
class Status {
  constructor() {
    this.item = vscode.window.createStatusBarItem("wattslice.gpu", vscode.StatusBarAlignment.Right, 100);
    this.item.name = "wattslice: GPU";
    this.item.command = "wattslice.chooseGpu";
    /** @type {Map<string, Analyzed>} the latest result of each document, by URI */
    this.results = new Map();
    this.selector = /** @type {vscode.DocumentSelector} */ ([]);
    this.failure = "";
  }

  /** @param {vscode.DocumentSelector} selector */
  restarted(selector) {
    this.selector = selector;
    this.failure = "";
    this.results.clear();
    this.show();
  }

  /** @param {string} reason */
  failed(reason) {
    this.failure = reason;
    this.show();
  }

  /** @param {Analyzed} result */
  analyzed(result) {
    this.results.set(vscode.Uri.parse(result.uri).toString(), result);
    this.show();
  }

  /** @param {vscode.TextDocument} document */
  closed(document) {
    this.results.delete(document.uri.toString());
  }

  show() {
    const document = vscode.window.activeTextEditor?.document;
    if (!document || vscode.languages.match(this.selector, document) === 0) return this.item.hide();
    const result = this.results.get(document.uri.toString());
    if (!result && document.languageId === "c") return this.item.hide(); // the server may well leave it alone
    this.item.text = statusText(result, this.failure);
    this.item.tooltip = tooltipLines(result, this.failure).join("\n");
    this.item.command = this.failure ? "wattslice.showOutput" : "wattslice.chooseGpu";
    this.item.backgroundColor = this.failure
      ? new vscode.ThemeColor("statusBarItem.warningBackground")
      : undefined;
    return this.item.show();
  }

  dispose() {
    this.item.dispose();
  }
}

module.exports = { Status };
