import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { withOldSources } from "./old-sources.ts";
import { packFixture } from "./pack-fixture.mjs";

// Opens the database of an older home with version 0.1.0, which upgrades it, and nothing else: a hub would also take back
// leases that are over by now. `node_modules/.writ/node test/compat/pass-home.mjs HOME.tar.gz`; the README says of which commit.
const version = "7137a49";
const node = join(import.meta.dirname, "../../node_modules/.writ/node");
const open = `import { readFileSync } from "node:fs";
import { openSqliteStore } from "./src/store/sqlite/open-store.ts";
const macKey = Buffer.from(readFileSync("made/home/keys/mac.key", "utf8").trim(), "hex");
await (await openSqliteStore({ path: "made/home/writ.sqlite", macKey })).close();
`;

const [archive] = process.argv.slice(2);
const line = await withOldSources(version, (dir) => {
  mkdirSync(join(dir, "made"));
  execFileSync("tar", ["-xzf", archive, "--no-same-owner", "-C", join(dir, "made")]);
  writeFileSync(join(dir, "open.mjs"), open);
  execFileSync(node, ["open.mjs"], { cwd: dir, stdio: "inherit" });
  return packFixture(join(dir, "made"), join("passed", basename(archive)));
});
process.stdout.write(`${line}\n`);
