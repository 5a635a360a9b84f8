"use strict";
/** One run of `wattslice` to its end; knows nothing of VS Code. */

const { execFile } = require("node:child_process");

const LIMIT_BYTES = 64 * 1024 * 1024;

/**
 * Its stdout. Rejects with what it said on stderr.
 * @param {string} executable
 * @param {string[]} words
 * @param {string | undefined} cwd
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>}
 */
function run(executable, words, cwd, signal) {
  return new Promise((resolve, reject) => {
    execFile(executable, words, { cwd, signal, maxBuffer: LIMIT_BYTES }, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new Error(stderr.trim() || error.message));
    });
  });
}

module.exports = { run };
