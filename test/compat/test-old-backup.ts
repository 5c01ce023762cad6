import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { claimJob, jobReader } from "../support/jobs.ts";
import { runCli } from "../support/run-cli.ts";
import { clockAfter } from "./clock-after.ts";
import type { OldHome } from "./old-home.ts";

/** What the backup of an older version must still be good for. `env` names its database, if that is no file. */
export function testOldBackup(open: () => Promise<{ old: OldHome; env: Record<string, string> }>): void {
  test("its backup is restored by today's `writ restore`, and a hub runs in what comes out", async () => {
    const { old, env } = await open();
    onTestFinished(() => old.remove());
    const home = join(dirname(old.home), "restored");
    const passphrase = join(dirname(old.home), "passphrase");
    writeFileSync(passphrase, `${old.backup.passphrase}\n`, { mode: 0o600 });
    const words = ["restore", old.backup.file, "--home", home, "--passphrase-file", passphrase, "--json"];
    const restored = await runCli("writ", words, { env });
    expect(restored).toMatchObject({ code: 0, stderr: "" });
    // The two that a worker held, in states assigned and running.
    expect(JSON.parse(restored.stdout)).toMatchObject({ recalled: 2, ended: 0, damaged: [], refused: 0 });

    const hub = await startTestHub({ ...stillEnv, ...env }, { home, clock: clockAfter(old.made) });
    onTestFinished(() => hub.stop());
    const { shown, jobs } = old.made;
    for (const name of ["completed", "signed", "failed", "quarantined", "cancelled", "pending"]) {
      const { status, result, document_sha256 } = shown[name]!;
      const same = JSON.parse(JSON.stringify({ status, result, document_sha256 }));
      expect(await jobReader(hub)(jobs[name]!.id), name).toMatchObject(same);
    }
    expect((await claimJob(hub, { workerId: "by-hand", type: "pending" })).id).toBe(jobs["pending"]!.id);
  });
}
