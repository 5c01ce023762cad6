import type { Connection } from "../database/connection.ts";
import type { GroupContext, GroupDriver } from "../thread/group-driver.ts";
import type { ReadActs } from "../thread/reader.ts";
import type { FileForm } from "./file-form.ts";

type AnyDriver = GroupDriver<GroupContext>;
type AnyReads = ReadActs<{ readonly sql: Connection }>;

/** What writes a file of this form. A thread loads the code of one form, not of both. Why: ADR 0116. */
export async function loadDriver(form: FileForm): Promise<AnyDriver> {
  if (form === "frames") return (await import("../../framed/framed-driver.ts")).framedDriver as AnyDriver;
  return (await import("../sqlite-driver.ts")).sqliteDriver as unknown as AnyDriver;
}

/** And what reads it beside the writes. */
export async function loadReadActs(form: FileForm): Promise<AnyReads> {
  if (form === "frames") return (await import("../../framed/reads/read-acts.ts")).readActs as AnyReads;
  return (await import("../reads/read-acts.ts")).readActs as AnyReads;
}
