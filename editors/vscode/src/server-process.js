"use strict";
/** The process of the language server, and its last words; knows nothing of VS Code. */

const { spawn } = require("node:child_process");

const KEPT = 4096;

/** Starts `wattslice lsp` and remembers the end of what it says on stderr. */
class ServerProcess {
  /**
   * @param {string} executable
   * @param {string | undefined} cwd
   */
  constructor(executable, cwd) {
    this.executable = executable;
    this.words = ["lsp"];
    this.cwd = cwd;
    this.said = "";
  }

  /**
   * Rejects when the executable cannot be run at all.
   * @returns {Promise<import("node:child_process").ChildProcess>}
   */
  start() {
    this.said = "";
    return new Promise((resolve, reject) => {
      const child = spawn(this.executable, this.words, { cwd: this.cwd, stdio: "pipe" });
      child.stderr.on("data", (data) => {
        this.said = (this.said + data).slice(-KEPT);
      });
      child.once("error", reject);
      child.once("spawn", () => resolve(child));
    });
  }

  /** The last line on stderr: wattslice says there why it gave up, and what to do; "" where it said nothing. */
  lastWords() {
    return this.said.trim().split("\n").at(-1)?.trim() ?? "";
  }
}

module.exports = { ServerProcess };
