"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { run } = require("../src/run");
const { ServerProcess } = require("../src/server-process");

test("the last line on stderr is kept", async () => {
  const server = new ServerProcess(process.execPath, undefined);
  server.words = ["-e", "console.error('first'); console.error('remedy'); process.exit(2)"];
  await server.start();
  assert.equal(await server.lastWords(), "remedy");
});

test("an executable that cannot be run rejects", async () => {
  await assert.rejects(new ServerProcess("/nonexistent/wattslice", undefined).start(), /ENOENT/);
});

test("a failed run says what stood on stderr", async () => {
  const failing = ["-e", "console.error('wattslice: no such GPU'); process.exit(2)"];
  await assert.rejects(run(process.execPath, failing, undefined), /^Error: wattslice: no such GPU$/);
  assert.equal(await run(process.execPath, ["-e", "console.log(7)"], undefined), "7\n");
});
