"use strict";
/** The process of the language server, and its last words; knows nothing of VS Code. */

const { spawn } = require("node:child_process");
const { setTimeout } = require("node:timers/promises");

const KEPT = 4096;
const PATIENCE_MS = 2000;

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
    /** @type {Promise<unknown>} */
    this.closed = Promise.resolve();
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
      this.closed = new Promise((closed) => child.once("close", closed));
      child.once("error", reject);
      child.once("spawn", () => resolve(child));
    });
  }

  /**
   * Why it gave up and what to do: the last line on stderr, "" where it said nothing. Waits for it a little: a broken
   * pipe is noticed before the process has ended.
   */
  async lastWords() {
    await Promise.race([this.closed, setTimeout(PATIENCE_MS, undefined, { ref: false })]);
    return this.said.trim().split("\n").at(-1)?.trim() ?? "";
  }
}

module.exports = { ServerProcess };
