"use strict";
/** Where the `wattslice` executable is; knows nothing of VS Code. */

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const NAMES = process.platform === "win32" ? ["wattslice.exe"] : ["wattslice"];
const BIN = process.platform === "win32" ? "Scripts" : "bin";
const ENVIRONMENTS = [".venv", "venv"];

/**
 * @typedef {object} Lookup
 * @property {string | undefined} found  absolute path of the executable
 * @property {string[]} tried            what was looked at, for the message when nothing was found
 */

/**
 * The executable: the one that the settings name, and then no other; else that of a Python environment in one of
 * the folders; else the first on the PATH.
 * @param {string} configured            the setting, "" without one; relative to the first folder
 * @param {string[]} folders             workspace folders; none where they are not trusted
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Lookup}
 */
function findExecutable(configured, folders, environment) {
  if (configured) {
    const home = configured.replace(/^~(?=[/\\])/, () => os.homedir());
    const bare = !/[/\\]/.test(home);
    const candidate = path.resolve(folders[0] ?? os.homedir(), home);
    const candidates = bare ? onPath([home], environment) : [candidate];
    return { found: candidates.find(isExecutable), tried: [configured] };
  }
  const inFolders = folders.flatMap((folder) =>
    ENVIRONMENTS.flatMap((name) => NAMES.map((file) => path.join(folder, name, BIN, file))),
  );
  const found = [...inFolders, ...onPath(NAMES, environment)].find(isExecutable);
  return { found, tried: [...inFolders, "PATH"] };
}

/**
 * @param {string[]} names
 * @param {NodeJS.ProcessEnv} environment
 */
function onPath(names, environment) {
  const folders = (environment.PATH ?? environment.Path ?? "").split(path.delimiter).filter(path.isAbsolute);
  return folders.flatMap((folder) => names.map((name) => path.join(folder, name)));
}

/** @param {string} file */
function isExecutable(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

module.exports = { findExecutable };
