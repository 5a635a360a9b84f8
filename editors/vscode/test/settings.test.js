"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { analysisOptions, documentSelector, readSettings } = require("../src/settings");

/** @param {Record<string, unknown>} values */
const settings = (values) => readSettings((key) => values[key]);

test("nothing set: no options, CUDA alone", () => {
  const nothing = settings({});
  assert.deepEqual(nothing, { path: "", gpu: "", options: [], plainC: false });
  assert.deepEqual(analysisOptions(nothing), []);
  assert.ok(!documentSelector(nothing).some(({ language }) => language === "c"));
});

test("a GPU chosen in the editor takes the place of one among the arguments", () => {
  const options = ["--gpu", "v100", "--set", "n=4096", "--gpu=a100"];
  assert.deepEqual(analysisOptions(settings({ gpu: " h100 ", arguments: options })), ["--gpu", "h100", "--set", "n=4096"]);
  assert.deepEqual(analysisOptions(settings({ arguments: options })), options);
});

test("values of the wrong type, written by hand, are no values", () => {
  assert.deepEqual(settings({ path: null, gpu: 7, arguments: "--set", plainC: "yes" }), settings({}));
  assert.deepEqual(analysisOptions(settings({ arguments: ["--core-mhz", 1410] })), ["--core-mhz", "1410"]);
});

test("C files are asked about when the settings say so", () => {
  const languages = documentSelector(settings({ plainC: true })).map(({ language }) => language);
  assert.ok(languages.includes("c") && languages.includes("cuda-cpp"));
});
