import type { JobInput } from "../../../client/index.ts";
import { parseDuration } from "../../terminal/duration.ts";

export const uniqueHelp =
  "at most one job with this key at a time, until its end; or fields such as key=K,until=start,on-duplicate=postpone,debounce=5s";

export const uniqueAllowed =
  "a key, or fields with commas between them: key=KEY, until=start, end or window, window=TIME, on-duplicate=keep, replace or postpone, debounce=TIME and max-wait=TIME";

type Unique = NonNullable<JobInput["unique"]>;

const readers: Readonly<Record<string, (text: string) => Partial<Unique> | undefined>> = {
  key: (key) => ({ key }),
  until: (text) => (text === "start" || text === "end" || text === "window" ? { until: text } : undefined),
  window: (text) => seconds(text, (window_sec) => ({ window_sec })),
  "on-duplicate": (text) =>
    text === "keep" || text === "replace" || text === "postpone" ? { on_duplicate: text } : undefined,
  debounce: (text) => seconds(text, (debounce_sec) => ({ debounce_sec })),
  "max-wait": (text) => seconds(text, (max_wait_sec) => ({ max_wait_sec })),
};

/** The text of --unique; undefined if it is none. What goes together is for the hub to say. */
export function parseUnique(text: string): Unique | undefined {
  if (!text.startsWith("key=")) return text === "" ? undefined : { key: text, until: "end" };
  const unique: Unique = { key: "", until: "end" };
  const given = new Set<string>();
  for (const field of text.split(",")) {
    const at = field.indexOf("=");
    const name = field.slice(0, Math.max(0, at));
    const read = Object.hasOwn(readers, name) ? readers[name]!(field.slice(at + 1)) : undefined;
    if (read === undefined || given.has(name)) return undefined;
    given.add(name);
    Object.assign(unique, read);
  }
  return unique.key === "" ? undefined : unique;
}

function seconds(text: string, field: (sec: number) => Partial<Unique>): Partial<Unique> | undefined {
  const ms = parseDuration(text);
  return ms === undefined ? undefined : field(Math.ceil(ms / 1000));
}
