"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { gpuEntries } = require("../src/gpu-entries");
const { statusText, tooltipLines } = require("../src/status-text");

const RESULT = {
  uri: "file:///a.cu",
  gpu: "h100",
  gpuName: "H100 SXM5 80GB",
  gpuSource: "--gpu",
  launches: 1,
  timeMs: 41.7,
};

test("the status bar names the GPU, the tooltip where it came from", () => {
  assert.equal(statusText(RESULT, ""), "$(zap) h100");
  assert.match(tooltipLines(RESULT, "").join(), /H100 SXM5 80GB \(--gpu\),1 launch .* 42 ms/);
  assert.equal(statusText(undefined, ""), "$(zap) wattslice");
});

test("a server that does not run is a warning with its reason", () => {
  assert.equal(statusText(RESULT, "not found"), "$(warning) wattslice");
  assert.match(tooltipLines(RESULT, "not found").join(), /not found/);
});

test("the list of GPUs begins with the project's own choice, then the newest", () => {
  const gpu = { name: "N", architecture: "volta", compute_capability: "7.0", power_limit_w: 300, models: ["energy"] };
  const gpus = [{ ...gpu, id: "old", models: [] }, { ...gpu, id: "new" }];
  const entries = gpuEntries(JSON.stringify({ gpus }));
  assert.deepEqual(entries.map((entry) => entry.gpu), ["", "new", "old"]);
  assert.match(entries[1]?.detail ?? "", /limit 300 W · models: energy/);
});
