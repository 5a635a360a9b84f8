"use strict";
/** The list of GPUs to choose from, out of `wattslice gpus --format json`; knows nothing of VS Code. */

/**
 * @typedef {object} Entry
 * @property {string} gpu          id for `--gpu`, "" for the project's own choice
 * @property {string} label
 * @property {string} description
 * @property {string} detail
 */

/**
 * @typedef {object} Gpu
 * @property {string} id
 * @property {string} name
 * @property {string} architecture
 * @property {string} compute_capability
 * @property {number} power_limit_w
 * @property {string[]} models
 */

/**
 * The newest first, as the list of the command ends with them.
 * @param {string} json
 * @returns {Entry[]}
 */
function gpuEntries(json) {
  /** @type {{ gpus: Gpu[] }} */
  const { gpus } = JSON.parse(json);
  const own = {
    gpu: "",
    label: "As the project says",
    description: "",
    detail: "wattslice.toml or pyproject.toml, else the GPU of this machine, else v100",
  };
  return [own, ...gpus.reverse().map(entry)];
}

/**
 * @param {Gpu} gpu
 * @returns {Entry}
 */
function entry(gpu) {
  const models = gpu.models.length ? `models: ${gpu.models.join(", ")}` : "the model of the nearest measured GPU";
  return {
    gpu: gpu.id,
    label: gpu.name,
    description: gpu.id,
    detail: `${gpu.architecture} ${gpu.compute_capability} · limit ${gpu.power_limit_w} W · ${models}`,
  };
}

module.exports = { gpuEntries };
