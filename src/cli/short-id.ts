import { WritError } from "../core/errors.ts";
import { isJobId } from "../core/ids.ts";

// An id begins with the time, so a prefix needs more characters than a suffix to be unique.
const prefixCharsMin = 8;
const suffixCharsMin = 6;
// One page of the hub's list. An older job needs its full id.
const newestJobs = 1000;
const matchesShownMax = 10;

/** The part of an id that tables show: its end, because ids made at the same time begin alike. */
export function shortId(id: string): string {
  return id.slice(-8);
}

type ListsJobs = { newestIds(count: number): Promise<string[]> };

/** Help for the argument that names a job. */
export const jobIdHelp = "the job's id; its last 6 or more, or first 8 or more, characters are enough";

/** Finds the full id of the job that a shortened id stands for. */
export async function resolveJobId(hub: ListsJobs, text: string): Promise<string> {
  const part = text.toLowerCase();
  if (isJobId(part)) return part;
  if (!/^[0-9a-f-]{6,36}$/.test(part)) throw notAnId(text);
  const matches = findMatches(await hub.newestIds(newestJobs), part);
  const [only, second] = matches;
  if (only === undefined) {
    throw new WritError(
      "NOT_FOUND",
      `no job among the newest ${newestJobs} has an id that begins or ends with ${part}`,
    );
  }
  if (second === undefined) return only;
  const shown = matches
    .slice(0, matchesShownMax)
    .map((id) => `\n  ${id}`)
    .join("");
  const more = matches.length > matchesShownMax ? `\n  and ${matches.length - matchesShownMax} more` : "";
  throw new WritError(
    "INVALID_ARGUMENT",
    `job id ${part} matches ${matches.length} jobs; give more characters`,
    {
      list: shown + more,
    },
  );
}

function findMatches(ids: readonly string[], part: string): string[] {
  return ids.filter(
    (id) =>
      (part.length >= prefixCharsMin && id.startsWith(part)) ||
      (part.length >= suffixCharsMin && id.endsWith(part)),
  );
}

function notAnId(text: string): WritError {
  return new WritError(
    "INVALID_ARGUMENT",
    `${JSON.stringify(text)} is not a job id; give the full id, its last 6 or more characters, or its first 8 or more`,
  );
}
