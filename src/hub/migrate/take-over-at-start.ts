import type { Logger } from "../../runtime/log/logger.ts";
import { readMacKey } from "../../signing/key-files.ts";
import { refuseMoved } from "../../store/database/database-copy.ts";
import type { MigrationPlan } from "../../store/database/migration-plan.ts";
import { readOwnFileForm } from "../../store/sqlite/forms/file-form.ts";
import { refuseOtherKeys } from "../database/database-history.ts";
import type { DatabasePlace } from "../database/database-place.ts";
import type { OnProgress } from "./copy-parts.ts";

type Start = {
  home: string;
  database: DatabasePlace;
  keysDir: string;
  plan: MigrationPlan;
  /** Whether an earlier start was killed while it took the sample; this one does without. */
  wasSampleKilled: boolean;
  logger: Logger;
  onProgress: OnProgress;
  /** Is called with a sentence for the person who started the hub. */
  onNotice(line: string): void;
};

/** Whether the next start of a hub would take over the file of this database. */
export function needsTakeOver(database: DatabasePlace, plan: MigrationPlan): database is FilePlace {
  return database.kind === "file" && plan.identity !== null && readOwnFileForm(database.path) === "rows";
}

type FilePlace = Extract<DatabasePlace, { kind: "file" }>;

/** A hub that finds a file of rows takes it over before it opens it. Why: ADR 0121. */
export async function takeOverAtStart(start: Start): Promise<void> {
  const { home, database, keysDir, plan, wasSampleKilled, logger, onProgress, onNotice } = start;
  if (!needsTakeOver(database, plan)) return;
  refuseMoved(plan.move);
  refuseOtherKeys({ database, keysDir }, plan);
  const { takeOver } = await import("./take-over.ts");
  const { path } = database;
  const call = { home, path, keysDir, macKey: readMacKey(keysDir), wasSampleKilled, onProgress };
  const taken = await takeOver({
    ...call,
    onSample() {
      const line = `the database ${path} gets another form; a sample of it tells first how long that takes, and how much disk it needs`;
      logger.info(line);
      onNotice(line);
    },
    onBegin({ rows, ms }) {
      const about = ms === null ? "for a time that is not known" : describeDuration(ms);
      const line = `the database ${path} gets another form: ${rows} rows, ${about}; if this is interrupted, the next start continues`;
      logger.info({ rows, estimated_ms: ms === null ? null : Math.round(ms) }, line);
      onNotice(line);
    },
  });
  logger.info(
    { ...taken, damaged: taken.damaged.length },
    "the database has its new form, which was verified",
  );
  onNotice(
    `the database has its new form: ${taken.jobs} jobs and ${taken.records} audit records were compared with the old one`,
  );
}

/** Without false precision: it is estimated from a sample. */
export function describeDuration(ms: number): string {
  if (ms < 60_000) return "less than a minute";
  const minutes = Math.ceil(ms / 60_000);
  return minutes === 1 ? "about a minute" : `about ${minutes} minutes`;
}
