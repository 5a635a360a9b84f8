/** Everything the extension needs in one file, dist/extension.js, and beside it the licences of what is in there. */

import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: ["src/extension.js"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  target: "node20",
  external: ["vscode"],
  minify: true,
  legalComments: "none",
  metafile: true,
});
const packages = new Set(
  Object.keys(metafile.inputs)
    .map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1])
    .filter((folder) => folder !== undefined),
);
writeFileSync("dist/third-party-notices.txt", [...packages].sort().map(notice).join("\n"));

/** @param {string} folder */
function notice(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf-8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file || !existsSync(join(folder, file))) throw new Error(`${name}: no licence text beside its package.json`);
  return `${name} ${version}\n\n${readFileSync(join(folder, file), "utf-8").trim()}\n`;
}
