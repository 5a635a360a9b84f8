"use strict";
/** From the settings of the editor to the command line of the server; knows nothing of VS Code. */

/**
 * @typedef {object} Settings
 * @property {string} path     the executable, "" where it is to be looked for
 * @property {string} gpu      "" for the project's own choice
 * @property {string[]} options  further options of the analysis
 * @property {boolean} plainC  whether .c files are analysed as well
 */

/** @typedef {{ language?: string, scheme: string, pattern?: string }} Selector */

/**
 * What the settings say. A value of the wrong type (settings.json is written by hand) counts as not given.
 * @param {(key: string) => unknown} get
 * @returns {Settings}
 */
function readSettings(get) {
  const options = get("arguments");
  return {
    path: text(get("path")),
    gpu: text(get("gpu")),
    options: Array.isArray(options) ? options.map((option) => String(option)) : [],
    plainC: get("plainC") === true,
  };
}

/** @param {unknown} value */
function text(value) {
  return typeof value === "string" ? value.trim() : "";
}

/**
 * Options of an analysis, for `wattslice lsp` as for any other command. A GPU chosen in the editor is the more
 * recent wish and takes the place of a `--gpu` among the options.
 * @param {Settings} settings
 * @returns {string[]}
 */
function analysisOptions(settings) {
  if (!settings.gpu) return settings.options;
  const rest = settings.options.filter(
    (option, index, all) => !/^--gpu(=|$)/.test(option) && all[index - 1] !== "--gpu",
  );
  return ["--gpu", settings.gpu, ...rest];
}

/**
 * The documents that the server is asked about.
 * @param {Settings} settings
 * @returns {Selector[]}
 */
function documentSelector(settings) {
  const scheme = "file";
  const languages = ["cuda-cpp", "cuda", ...(settings.plainC ? ["c"] : [])];
  return [
    ...languages.map((language) => ({ scheme, language })),
    { scheme, pattern: "**/*.{cu,cuh}" },
  ];
}

module.exports = { readSettings, analysisOptions, documentSelector };
