import type { SealCall, SealFindings } from "../../jobs/seal-check.ts";
import type { AuditReader } from "../../log/audit-reader.ts";
import { openAuditReader as openFramedAudit } from "../reads/audit-reader.ts";
import { findBrokenSeals as findInFrames } from "../reads/seal-reader.ts";
import { openAuditReader as openRowsAudit } from "../rows/audit-reader.ts";
import { findBrokenSeals as findInRows } from "../rows/seal-reader.ts";
import { readFileForm } from "./file-form.ts";

/** For programs that look at a database file without a hub, of whichever form it is. Why: ADR 0014, ADR 0116. */
export function openAuditReader(path: string): AuditReader {
  return readFileForm(path) === "frames" ? openFramedAudit(path) : openRowsAudit(path);
}

/** Rows are compared with nothing else: they are put into frames, and are then. */
export function findBrokenSeals(path: string, call: SealCall): SealFindings {
  return readFileForm(path) === "frames"
    ? findInFrames(path, call)
    : findInRows(path, call.macKey, call.most);
}
