import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { copyTree } from "../src/runners/delegate/repository/copy-tree.ts";
import { readTree } from "../src/runners/delegate/repository/read-tree.ts";
import { figure } from "./_figures.ts";

// npm run bench -- delegate-copy [FILES] [MEGABYTES] [DIRECTORY]
// What a private copy costs a delegate job: a repository of many files is copied as the runner copies it, and hashed, and
// beside that copied by cp, in turns. Why: ADR 0066.
const [files = 20_000, megabytes = 300] = process.argv.slice(2, 4).map(Number);
const dir = mkdtempSync(join(process.argv[4] ?? "/var/tmp", "writ-copy-"));
const rounds = 3;

try {
  const repository = join(dir, "repository");
  const bytes = Buffer.alloc(Math.round((megabytes * 1e6) / files), "a line of some program\n");
  for (let at = 0; at < files; at++) {
    const folder = join(repository, `src/${at % 100}`);
    if (at < 100) mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${at}.txt`), bytes);
  }
  const look = { roots: ["src"], hidden: [] };
  for (let round = 0; round < rounds; round++) {
    const to = join(dir, `copy-${round}`);
    mkdirSync(to);
    const copySec = await secondsOf(() =>
      copyTree(repository, { ...look, to, fileBytesMax: Number.MAX_SAFE_INTEGER }),
    );
    const hashSec = await secondsOf(() => readTree(to, look));
    const cp = ["-a", "--reflink=auto", join(repository, "src"), join(dir, `cp-${round}`)];
    const cpSec = await secondsOf(async () => execFileSync("cp", cp));
    const about = { files, megabytes };
    figure("a copy for an agent", copySec, "s", about);
    figure("the hashes of what it has", hashSec, "s", about);
    figure("cp -a --reflink=auto", cpSec, "s", about);
    for (const name of [`copy-${round}`, `cp-${round}`]) rmSync(join(dir, name), { recursive: true });
  }
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function secondsOf(act: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await act();
  return (performance.now() - begin) / 1000;
}
