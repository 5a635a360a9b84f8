"use strict";
/** What this side needs of the settings; the server asks for them by itself. Knows nothing of VS Code. */

/**
 * How a setting is spelled on the command line.
 * @type {readonly (readonly [string, string])[]}
 */
const OPTIONS = [
  ["gpu", "--gpu"],
  ["model", "--model"],
  ["method", "--method"],
  ["branches", "--branches"],
  ["delta", "--delta"],
  ["denseFrom", "--dense-from"],
  ["set", "--set"],
  ["launch", "--launch"],
  ["include", "-I"],
  ["define", "-D"],
  ["std", "--std"],
  ["compileCommands", "-p"],
  ["profile", "--profile"],
  ["coreMhz", "--core-mhz"],
  ["memMhz", "--mem-mhz"],
];

/** @typedef {(key: string) => unknown} Get  a setting, undefined or any other type where settings.json has it */

/** @typedef {{ language?: string, scheme: string, pattern?: string }} Selector */

/**
 * Options of a command that analyses, such as `wattslice annotate`. What is not set is not said: the settings
 * file of the project holds then.
 * @param {Get} get
 * @returns {string[]}
 */
function analysisOptions(get) {
  return OPTIONS.flatMap(([key, option]) => values(get(key)).flatMap((value) => [option, value]));
}

/**
 * @param {unknown} value
 * @returns {string[]}
 */
function values(value) {
  const all = Array.isArray(value) ? value : [value];
  return all.filter((entry) => typeof entry === "number" || (typeof entry === "string" && entry)).map(String);
}

/**
 * The setting `path`, "" where the executable is to be looked for.
 * @param {Get} get
 */
function executablePath(get) {
  const path = get("path");
  return typeof path === "string" ? path.trim() : "";
}

/**
 * The documents that the server is asked about: C only where the settings say so, most C is no kernel.
 * @param {Get} get
 * @returns {Selector[]}
 */
function documentSelector(get) {
  const scheme = "file";
  const languages = ["cuda-cpp", "cuda", ...(get("plainC") === true ? ["c"] : [])];
  return [...languages.map((language) => ({ scheme, language })), { scheme, pattern: "**/*.{cu,cuh}" }];
}

module.exports = { OPTIONS, analysisOptions, documentSelector, executablePath };
