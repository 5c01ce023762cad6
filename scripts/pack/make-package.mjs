import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programs, root } from "../paths.mjs";
import { bundlePackage } from "./bundle-package.mjs";
import { copyDashboard } from "./dashboard-of-package.mjs";
import { declareTypes } from "./declarations.mjs";
import { hubNodeFacts } from "./hub-node.mjs";
import { buildLaunchers } from "./launchers.mjs";
import { licencesOf } from "./licences.mjs";
import { packageManifest } from "./manifest.mjs";

// Makes the tarball that npm installs. `npm run pack` runs this on the pinned Node, after set-up; docs/adr/0068 says why
// the package is made this way. Arguments are the folder to write to (default: dist), and another version number than that of
// the checkout, for tests of an upgrade. Why: ADR 0068.
const [, , outDir = join(root, "dist"), otherVersion] = process.argv;
const copied = [
  "LICENSE",
  "README.md",
  "CHANGELOG.md",
  "templates",
  "src/jobs",
  "src/store/postgres/database/migrations",
  "src/store/sqlite/database/migrations",
];
const say = (line) => process.stderr.write(`writ: ${line}\n`);
const ofCheckout = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const manifest = { ...ofCheckout, version: otherVersion ?? ofCheckout.version };

const packageDir = mkdtempSync(join(tmpdir(), "writ-package-"));
try {
  mkdirSync(join(packageDir, "built"));
  for (const path of copied) copy(path);
  for (const path of readdirSync(join(root, "launcher"), { recursive: true }))
    if (/^(?!test\/).*\.[ch]$|^build\.mjs$/.test(path)) copy(`launcher/${path}`);
  for (const path of readdirSync(join(root, "docs"), { recursive: true }))
    if (path.endsWith(".md")) copy(`docs/${path}`);
  copyDashboard(join(packageDir, "built/dashboard"));
  buildLaunchers({ packageDir, say });
  const { inputs } = await bundlePackage({ packageDir, version: manifest.version });
  declareTypes({ packageDir });
  writeFileSync(join(packageDir, "THIRD-PARTY-LICENSES.txt"), licencesOf(Object.keys(inputs)));
  writePrograms();
  const fields = packageManifest(manifest);
  writeFileSync(join(packageDir, "package.json"), `${JSON.stringify(fields, null, 2)}\n`);
  pack();
} finally {
  rmSync(packageDir, { recursive: true, force: true });
}

function copy(path) {
  const filter = (file) => !file.endsWith(".test.ts");
  cpSync(join(root, path), join(packageDir, path), { recursive: true, filter });
}

/** npm links these on every platform: a shell script could not be started on Windows. */
function writePrograms() {
  cpSync(join(root, "scripts/pack/bin"), join(packageDir, "bin"), { recursive: true });
  writeFileSync(
    join(packageDir, "bin/hub-node.json"),
    `${JSON.stringify(hubNodeFacts(manifest), null, 2)}\n`,
  );
  for (const name of programs) {
    const file = join(packageDir, `bin/${name}.js`);
    const start = 'import { startProgram } from "./start-program.js";';
    writeFileSync(file, `#!/usr/bin/env node\n${start}\n\nvoid startProgram("${name}");\n`);
    chmodSync(file, 0o755);
  }
}

/** npm gives every file the same old time, so that the same sources make the same tarball. */
function pack() {
  mkdirSync(outDir, { recursive: true });
  const args = ["pack", "--ignore-scripts", "--silent", "--pack-destination", outDir];
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd: packageDir, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm pack failed: ${stderr}`);
  process.stdout.write(`${join(outDir, stdout.trim())}\n`);
}
