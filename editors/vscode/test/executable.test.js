"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { afterEach, beforeEach, test } = require("node:test");
const { findExecutable } = require("../src/executable");

const posix = { skip: process.platform === "win32" };
let folder = "";

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), "wattslice-"));
});
afterEach(() => fs.rmSync(folder, { recursive: true }));

/**
 * @param {string} name
 * @param {number} mode
 */
function file(name, mode = 0o755) {
  const target = path.join(folder, name);
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.writeFileSync(target, "", { mode });
  return target;
}

test("a workspace's environment comes before the PATH", posix, () => {
  const onPath = file("bin/wattslice");
  const PATH = path.dirname(onPath);
  assert.equal(findExecutable("", [folder], { PATH }).found, onPath);
  const inWorkspace = file(".venv/bin/wattslice");
  assert.equal(findExecutable("", [folder], { PATH }).found, inWorkspace);
  assert.equal(findExecutable("", [], { PATH }).found, onPath, "folders that are not trusted are not given");
});

test("what the setting names is taken, and nothing else", posix, () => {
  const own = file("tools/wattslice");
  const other = file(".venv/bin/wattslice");
  const PATH = path.dirname(own);
  assert.equal(findExecutable("tools/wattslice", [folder], {}).found, own);
  assert.equal(findExecutable("wattslice", [], { PATH }).found, own, "a bare name is looked for on the PATH");
  const lookup = findExecutable("tools/gone", [folder], { PATH: path.dirname(other) });
  assert.deepEqual(lookup, { found: undefined, tried: ["tools/gone"] });
});

test("what cannot be executed is not found", posix, () => {
  fs.mkdirSync(path.join(folder, "bin/wattslice"), { recursive: true });
  file("venv/bin/wattslice", 0o644);
  const { found, tried } = findExecutable("", [folder], { PATH: path.join(folder, "bin") });
  assert.equal(found, undefined);
  assert.deepEqual(tried.slice(-2), [path.join(folder, "venv/bin/wattslice"), "PATH"]);
});

test("relative entries of the PATH are not followed", posix, () => {
  file("wattslice");
  assert.equal(findExecutable("", [], { PATH: path.relative(process.cwd(), folder) }).found, undefined);
});
