import { join } from "node:path";
import { FolderSegments } from "../objects/folder/folder-segments.ts";
import { S3Segments } from "../objects/s3/s3-segments.ts";
import { FolderOutputs } from "../output/folder/folder-outputs.ts";
import type { Outputs } from "../output/outputs.ts";
import type { SegmentPlaces } from "../output/shared/read-parts.ts";
import { SharedOutputs } from "../output/shared/shared-outputs.ts";
import type { Clock } from "../runtime/clock/clock.ts";
import type { Failpoint } from "../runtime/failpoint.ts";
import type { DatabaseInUse } from "../store/database/database-in-use.ts";
import type { OutputTable } from "../store/output-table.ts";
import { s3SettingsOf } from "./settings/s3-settings.ts";
import { type HubSettings, placesOf } from "./settings/settings.ts";

type OutputSources = {
  home: string;
  settings: HubSettings;
  clock: Clock;
  failpoint: Failpoint;
  inUse?: DatabaseInUse | undefined;
};

/**
 * Opens the storage of outputs: files in the home, or, with PostgreSQL, a place that every hub of the database reaches.
 * Call it after the database was opened.
 */
export async function openOutputs({
  home,
  settings,
  clock,
  failpoint,
  inUse,
}: OutputSources): Promise<Outputs> {
  const { database } = placesOf(home, settings);
  if (database.kind === "file") return new FolderOutputs(join(home, "outputs"), { failpoint });
  const { openOutputTable } = await import("../store/postgres/output-table.ts");
  const table = await openOutputTable({ url: database.url, inUse });
  try {
    return new SharedOutputs(table, { places: await openPlaces(settings, table, clock), clock, failpoint });
  } catch (error) {
    await table.close();
    throw error;
  }
}

async function openPlaces(settings: HubSettings, table: OutputTable, clock: Clock): Promise<SegmentPlaces> {
  const s3 = await s3SettingsOf(settings);
  const { outputsDir } = settings;
  return {
    ...(s3 === null ? {} : { bucket: new S3Segments(s3, clock) }),
    ...(outputsDir === null
      ? {}
      : { folder: await FolderSegments.open(outputsDir, (mark) => table.markFolder(mark)) }),
  };
}
