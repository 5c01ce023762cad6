import { WritError } from "../core/errors.ts";
import { isJobId } from "../core/ids.ts";

// The start of an id is time, so a prefix has to be longer than a suffix to mean anything.
const PREFIX_CHARS_MIN = 8;
const SUFFIX_CHARS_MIN = 6;
// One page of the hub. Whoever looks for an older job has its whole id.
const NEWEST_JOBS = 1000;
const MATCHES_SHOWN_MAX = 10;

/** What tables show of an id: its end, because the start of ids made together is the same. */
export function shortId(id: string): string {
  return id.slice(-8);
}

type ListsJobs = { newestIds(count: number): Promise<string[]> };

/** The whole id of a job of which somebody gave the start or the end. */
export async function resolveJobId(hub: ListsJobs, text: string): Promise<string> {
  const part = text.toLowerCase();
  if (isJobId(part)) return part;
  if (!/^[0-9a-f-]{6,36}$/.test(part)) throw notAnId(text);
  const matches = findMatches(await hub.newestIds(NEWEST_JOBS), part);
  const [only, second] = matches;
  if (only === undefined) {
    throw new WritError(
      "NOT_FOUND",
      `no job among the newest ${NEWEST_JOBS} has an id with ${part} at its start or end`,
    );
  }
  if (second === undefined) return only;
  const shown = matches
    .slice(0, MATCHES_SHOWN_MAX)
    .map((id) => `\n  ${id}`)
    .join("");
  const more = matches.length > MATCHES_SHOWN_MAX ? `\n  and ${matches.length - MATCHES_SHOWN_MAX} more` : "";
  throw new WritError(
    "INVALID_ARGUMENT",
    `${part} could be any of ${matches.length} jobs; give more of the id`,
    {
      list: shown + more,
    },
  );
}

export function findMatches(ids: readonly string[], part: string): string[] {
  return ids.filter(
    (id) =>
      (part.length >= PREFIX_CHARS_MIN && id.startsWith(part)) ||
      (part.length >= SUFFIX_CHARS_MIN && id.endsWith(part)),
  );
}

function notAnId(text: string): WritError {
  return new WritError(
    "INVALID_ARGUMENT",
    `${JSON.stringify(text)} is not a job id: give all of it, its first 8 or more, or its last 6 or more characters`,
  );
}
