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
  ["delta", "--delta"],
  ["denseFrom", "--dense-from"],
  ["set", "--set"],
  ["data", "--data"],
  ["launch", "--launch"],
  ["args", "--args"],
  ["include", "-I"],
  ["define", "-D"],
  ["nvccFlags", "--nvcc-flags"],
  ["std", "--std"],
  ["compileCommands", "-p"],
  ["profile", "--profile"],
  ["coreMhz", "--core-mhz"],
  ["memMhz", "--mem-mhz"],
  ["select", "--select"],
  ["ignore", "--ignore"],
  ["severity", "--severity"],
];

/** Where a project may keep its settings, as a glob. */
const SETTINGS_FILES = "**/{wattslice.toml,pyproject.toml}";

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
 * The documents that the server is told of. Which of them it looks at is its own matter: C only where a settings
 * file holds, or `plainC` says so.
 * @returns {Selector[]}
 */
function documentSelector() {
  const schemes = ["file", "untitled"];
  const languages = ["cuda-cpp", "cuda", "c"];
  const known = schemes.flatMap((scheme) => languages.map((language) => ({ scheme, language })));
  return [...known, { scheme: "file", pattern: "**/*.{cu,cuh}" }];
}

/**
 * Whether a document of ours is worth a server by itself. Most C is no kernel: it takes a settings file, too.
 * @param {Get} get
 * @param {string} language
 */
function isWorthServer(get, language) {
  return language !== "c" || get("plainC") === true;
}

module.exports = { OPTIONS, SETTINGS_FILES, analysisOptions, documentSelector, executablePath, isWorthServer };
