import { WritError } from "../../core/errors.ts";
import { diffPath } from "../../core/jobs/diff-path.ts";
import { showAll } from "../../core/text/neutralise.ts";
import type { McpHub } from "../mcp-hub.ts";
import { beginningOf, untrustedCharsMax } from "./untrusted.ts";

/** More is never read by pages, and it is held in memory for each reader. */
const diffBytesMax = 16 * 1024 * 1024;

type DiffPart = { text: string; size: number; next: number | null };

/** A part of the diff that a coding agent has left, from a character on; null if there is none. */
export async function readDiff(hub: McpHub, jobId: string, offset: number): Promise<DiffPart | null> {
  const { body } = await hub.call("listArtifacts", { params: { id: jobId } });
  const file = body.files.find(({ path }) => path === diffPath);
  if (file === undefined) return null;
  if (!file.available) throw new WritError("FILE_REMOVED", `the diff of job ${jobId} is no longer stored`);
  const bytes = await hub.readArtifact({
    jobId,
    key: file.object_key,
    folderId: file.folder_id,
    bytesMax: diffBytesMax,
  });
  const whole = showAll(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  const text = beginningOf(whole.slice(offset), untrustedCharsMax);
  const end = offset + text.length;
  return { text, size: whole.length, next: end < whole.length ? end : null };
}
