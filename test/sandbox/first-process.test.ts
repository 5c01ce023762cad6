import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { rootTest } from "./cage-stage.ts";

const examineCage = join(import.meta.dirname, "../../src/sandbox/host/examine-cage.ts");

/** Looks which parts of a cage the host allows, and then which processes there are: all but the first and what it runs. */
const program = `
import { readdirSync, readFileSync } from "node:fs";
import { examineCage } from ${JSON.stringify(examineCage)};
const { parts } = await examineCage({ workDir: process.argv[1], pid: process.pid, uid: 0 });
const isThere = Object.fromEntries(parts.map(({ part, had }) => [part, had]));
const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name) && name !== "1");
const left = pids.map((pid) => readFileSync("/proc/" + pid + "/stat", "utf8").split(" ").slice(1, 3).join(" "));
console.log(JSON.stringify({ pid: process.pid, namespaces: isThere.namespaces, left }));
`;

// As in a container without the rights for a cage, and without an init that reaps what others leave.
rootTest("cages that fail leave no dead process behind, even where ours is the first one", async () => {
  // The jobs' user may not enter it, so the last step fails.
  const dir = mkdtempSync(join(tmpdir(), "writ-first-process-"));
  chmodSync(dir, 0o700);
  try {
    const words = [
      ...["--pid", "--fork", "--kill-child", "--mount-proc"],
      ...["setpriv", "--bounding-set=-sys_admin,-net_admin,-mknod", "--inh-caps=-all"],
      ...[
        process.execPath,
        "--disable-warning=ExperimentalWarning",
        "--input-type=module",
        "-e",
        program,
        dir,
      ],
    ];
    const printed = JSON.parse(execFileSync("unshare", words, { encoding: "utf8", timeout: 120_000 }));
    expect(printed).toEqual({ pid: 1, namespaces: false, left: [] });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
