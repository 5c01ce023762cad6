import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FolderOutputs } from "../src/output/folder/folder-outputs.ts";
import type { Outputs } from "../src/output/outputs.ts";
import { SharedOutputs } from "../src/output/shared/shared-outputs.ts";
import { systemClock } from "../src/runtime/clock/clock.ts";
import { openPostgresStore } from "../src/store/postgres/open-store.ts";
import { openOutputTable } from "../src/store/postgres/output-table.ts";
import { quantile } from "./_figures.ts";
import { needPeers } from "./peers/needs.ts";
import { startPostgres } from "./peers/servers.ts";

/**
 * How fast output is appended: to files of a home, which are synced once at the end, and to PostgreSQL, where each append is
 * a commit. Four senders at once, each with one chunk under way, as workers do. Usage: npm run bench -- output
 * Why: ADR 0085.
 */
const rounds = 3;
const senders = 4;
const bytesOf = new Map([
  [32, 16],
  [256, 64],
]);

needPeers(["postgres"]);
const server = await startPostgres();
const root = mkdtempSync(join(tmpdir(), "writ-bench-output-"));
const url = `postgres://bench@127.0.0.1:${server.port}/postgres`;
await (await openPostgresStore({ url, macKey: Buffer.alloc(32, 1) })).close();
const drivers: [string, Outputs][] = [
  ["folder", new FolderOutputs(root)],
  ["PostgreSQL", new SharedOutputs(await openOutputTable({ url }), { clock: systemClock })],
];
let made = 0;
try {
  for (const [chunkKib, mib] of bytesOf) {
    const rates = drivers.map(() => [] as number[]);
    for (let round = 0; round < rounds; round++) {
      for (const [index, [, outputs]] of drivers.entries())
        rates[index]!.push(await appendRate(outputs, chunkKib * 1024, mib * 1024 ** 2));
    }
    const [folder = 0, shared = 0] = rates.map((rate) => quantile(rate, 0.5));
    console.log(
      `${chunkKib} KiB chunks: folder ${folder.toFixed(0)} MB/s, PostgreSQL ${shared.toFixed(0)} MB/s, ratio ${(shared / folder).toFixed(2)}`,
    );
  }
} finally {
  for (const [, outputs] of drivers) await outputs.close();
  await server.stop();
  rmSync(root, { recursive: true, force: true });
}

/** Megabytes a second until everything would survive a power failure. */
async function appendRate(outputs: Outputs, chunkBytes: number, bytes: number): Promise<number> {
  const chunk = Buffer.alloc(chunkBytes, "0123456789abcdef");
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: senders }, async () => {
      const jobId = `0198c0de-0000-7000-8000-${String(++made).padStart(12, "0")}`;
      const output = { jobId, attempt: 1, stream: "stdout" } as const;
      for (let offset = 0; offset < bytes / senders; offset += chunkBytes)
        await outputs.append(output, { offset, bytes: chunk });
      await outputs.sync(jobId);
    }),
  );
  return bytes / 1e3 / (performance.now() - startedAt);
}
