import { WritError } from "../../core/errors.ts";
import { isJobId } from "../../core/ids.ts";

// An id begins with the time, so a prefix needs more characters than a suffix to be unique.
const prefixCharsMin = 8;
const suffixCharsMin = 6;
const matchesShownMax = 10;

/** The part of an id that tables show: its end, because ids made at the same time begin alike. */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** At most 100 ids, newest first. */
type FindsIds = { findIds(part: string): Promise<string[]> };
const foundMax = 100;

/** Help for the argument that names a job. */
export const jobIdHelp = "the job's id; its last 6 or more, or first 8 or more, characters are enough";

/** Finds the full id of the job that a shortened id stands for. */
export async function resolveJobId(hub: FindsIds, text: string): Promise<string> {
  const part = text.toLowerCase();
  if (isJobId(part)) return part;
  if (!/^[0-9a-f-]{6,36}$/.test(part)) throw notAnId(text);
  const matches = findMatches(await hub.findIds(part), part);
  const [only, second] = matches;
  if (only === undefined) {
    throw new WritError("NOT_FOUND", `no job that you may see has an id that begins or ends with ${part}`);
  }
  if (second === undefined) return only;
  const shown = matches
    .slice(0, matchesShownMax)
    .map((id) => `\n  ${id}`)
    .join("");
  const orMore = matches.length >= foundMax ? " or more" : "";
  const more = matches.length > matchesShownMax ? `\n  and ${matches.length - matchesShownMax} more` : "";
  throw new WritError(
    "INVALID_ARGUMENT",
    `job id ${part} matches ${matches.length}${orMore} jobs; give more characters`,
    {
      list: shown + more,
    },
  );
}

/** An older hub does not know the filter and answers with its newest jobs. */
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
