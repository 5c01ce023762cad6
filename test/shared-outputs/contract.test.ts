import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { FolderSegments } from "../../src/objects/folder/folder-segments.ts";
import { S3Segments } from "../../src/objects/s3/s3-segments.ts";
import type { OutputName } from "../../src/output/outputs.ts";
import { SharedOutputs } from "../../src/output/shared/shared-outputs.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { describeOutputs } from "../outputs-contract/describe-outputs.ts";
import { noPostgres } from "../support/postgres-cluster.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startedForAll } from "../support/use-hub.ts";
import { SharedPlace, smallBounds, unstopped } from "./shared-under-test.ts";

/** Moves everything out of the table that it can, after each append. */
class EagerOutputs extends SharedOutputs {
  override async append(output: OutputName, chunk: { offset: number; bytes: Uint8Array }) {
    const appended = await super.append(output, chunk);
    await this.compact(unstopped);
    return appended;
  }
}

describe.skipIf(noPostgres !== undefined)(`shared outputs${noPostgres ? `: ${noPostgres}` : ""}`, () => {
  const s3 = startedForAll(startS3Server);

  describeOutputs("a table", () => new SharedPlace());

  const times = { idleMs: 0, staleMs: 60_000 };

  describeOutputs("a table and a shared folder", () => {
    const place = new SharedPlace(smallBounds);
    const root = mkdtempSync(join(tmpdir(), "writ-segments-"));
    return {
      async open() {
        const table = await place.openTable();
        const folder = await FolderSegments.open(root, (mark) => table.markFolder(mark));
        return new EagerOutputs(table, { clock: systemClock, times, places: { folder } });
      },
      async remove() {
        await place.remove();
        rmSync(root, { recursive: true, force: true });
      },
    };
  });

  describeOutputs("a table and a bucket", () => {
    const place = new SharedPlace(smallBounds);
    return {
      async open() {
        const bucket = new S3Segments(s3.settings, systemClock);
        return new EagerOutputs(await place.openTable(), { clock: systemClock, times, places: { bucket } });
      },
      remove: () => place.remove(),
    };
  });
});
