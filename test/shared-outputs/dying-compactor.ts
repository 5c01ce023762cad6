import { FolderSegments } from "../../src/objects/folder/folder-segments.ts";
import { SharedOutputs } from "../../src/output/shared/shared-outputs.ts";
import { systemClock } from "../../src/runtime/clock/clock.ts";
import { openOutputTable } from "../../src/store/postgres/output-table.ts";

/** A hub that is killed in the moment in which an object is complete and its chunks are still there. */
const [url = "", root = "", bounds = ""] = process.argv.slice(2);
const table = await openOutputTable({ url, bounds: JSON.parse(bounds) });
const folder = await FolderSegments.open(root, (mark) => table.markFolder(mark));
const outputs = new SharedOutputs(table, {
  clock: systemClock,
  places: { folder },
  times: { idleMs: 0, staleMs: 3_600_000 },
  failpoint: () => process.kill(process.pid, "SIGKILL") as never,
});
await outputs.compact(new AbortController().signal);
