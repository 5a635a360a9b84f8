"use strict";
/** What the item in the status bar says; knows nothing of VS Code. */

/**
 * The server's notification `$/wattslice/analyzed`.
 * @typedef {object} Analyzed
 * @property {string} uri
 * @property {string} gpu        id
 * @property {string} gpuName    full name
 * @property {string} gpuSource  where the choice came from
 * @property {number} launches   of kernels, analysed
 * @property {number} timeMs     that the analysis took
 */

/**
 * @param {Analyzed | undefined} result
 * @param {string} failure  why there is no server, "" where there is one
 */
function statusText(result, failure) {
  if (failure) return "$(warning) wattslice";
  return result ? `$(zap) ${result.gpu}` : "$(zap) wattslice";
}

/**
 * @param {Analyzed | undefined} result
 * @param {string} failure
 * @returns {string[]}
 */
function tooltipLines(result, failure) {
  if (failure) return [`wattslice: ${failure}`, "Click for its output"];
  if (!result) return ["wattslice: not analysed yet", "Click to choose the GPU"];
  const launches = `${result.launches} ${result.launches === 1 ? "launch" : "launches"}`;
  return [
    `wattslice predicts for the ${result.gpuName} (${result.gpuSource})`,
    `${launches} in this file, analysed in ${Math.round(result.timeMs)} ms`,
    "Click to choose another GPU",
  ];
}

module.exports = { statusText, tooltipLines };
