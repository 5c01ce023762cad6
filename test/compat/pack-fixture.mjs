import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

/** The same order and the same owner, whichever user packs it. Logs and what can be made again are left out. */
export function packFixture(made, name) {
  rmSync(join(made, "home/logs"), { recursive: true, force: true });
  const flags = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-C", made];
  const archive = execFileSync("tar", ["-c", ...flags, ...readdirSync(made).sort()], { maxBuffer: 2 ** 28 });
  const file = join(import.meta.dirname, "fixtures", name);
  mkdirSync(dirname(file), { recursive: true });
  const packed = gzipSync(archive, { level: 9 });
  writeFileSync(file, packed);
  return `${name}: ${packed.length} bytes`;
}
