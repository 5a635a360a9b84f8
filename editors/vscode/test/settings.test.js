"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { OPTIONS, analysisOptions, documentSelector, executablePath, isWorthServer } = require("../src/settings");
const manifest = require("../package.json");

/** @param {Record<string, unknown>} values */
const settings = (values) => (/** @type {string} */ key) => values[key];

test("nothing set: no options, CUDA alone, the executable looked for", () => {
  /** @type {Record<string, { default: unknown }>} */
  const declared = manifest.contributes.configuration.properties;
  const defaults = settings(
    Object.fromEntries(Object.entries(declared).map(([key, entry]) => [key.replace("wattslice.", ""), entry.default])),
  );
  assert.deepEqual(analysisOptions(defaults), []);
  assert.equal(executablePath(defaults), "");
  assert.ok(!isWorthServer(defaults, "c"));
});

test("every option has its setting in the manifest", () => {
  const declared = Object.keys(manifest.contributes.configuration.properties);
  assert.deepEqual(OPTIONS.filter(([key]) => !declared.includes(`wattslice.${key}`)), []);
});

test("settings become options, lists one by one", () => {
  const get = settings({ gpu: "h100", set: ["n=4096", "k.m=1"], include: ["a dir"], coreMhz: 1410 });
  assert.deepEqual(analysisOptions(get), [
    ...["--gpu", "h100", "--set", "n=4096", "--set", "k.m=1", "-I", "a dir", "--core-mhz", "1410"],
  ]);
});

test("values of the wrong type, written by hand, are no values", () => {
  assert.deepEqual(analysisOptions(settings({ gpu: { id: "h100" }, set: [null, ""], std: true })), []);
  assert.equal(executablePath(settings({ path: null })), "");
});

test("the server is told of C and of texts without a file, and chooses", () => {
  const told = documentSelector().map(({ scheme, language }) => `${scheme} ${language}`);
  for (const scheme of ["file", "untitled"]) {
    for (const language of ["cuda-cpp", "cuda", "c"]) assert.ok(told.includes(`${scheme} ${language}`));
  }
});

test("C starts a server by itself only where the settings say so", () => {
  assert.ok(isWorthServer(settings({}), "cuda-cpp"));
  assert.ok(isWorthServer(settings({ plainC: true }), "c"));
  assert.ok(!isWorthServer(settings({ plainC: "yes" }), "c"));
});
