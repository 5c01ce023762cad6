import type { JobInput } from "../../../client/index.ts";
import { parsed } from "../../program.ts";
import { parseDuration } from "../../terminal/duration.ts";

export const laneHelp =
  "a concurrency key or rate limit that the job shares with others: a name, then max=N or rate=LIMIT/TIME or both, such as stripe,max=5,rate=100/1m; can be repeated";

const laneAllowed =
  "a name, then max=N, rate=LIMIT/TIME and burst=N with commas between them, such as stripe,max=5,rate=100/1m";

type Lane = NonNullable<JobInput["lanes"]>[number];

const readLane = parsed(parseLane, laneAllowed);

export function collectLane(text: string, earlier: Lane[] | undefined): Lane[] {
  return [...(earlier ?? []), readLane(text)];
}

/** The lane in the text of --lane; undefined if it is none. What its numbers may be is for the hub to say. */
export function parseLane(text: string): Lane | undefined {
  const [name = "", ...fields] = text.split(",");
  const said = new Map(fields.map((field) => field.split("=", 2) as [string, string | undefined]));
  if (said.size !== fields.length || name === "") return undefined;
  const max = number(said.get("max"));
  const burst = number(said.get("burst"));
  const rate = parseRate(said.get("rate"), burst);
  const isRead = { max: max !== undefined, rate: rate !== undefined, burst: burst !== undefined && !!rate };
  for (const field of said.keys()) if (isRead[field as keyof typeof isRead] !== true) return undefined;
  return {
    name,
    ...(max === undefined ? {} : { max_running: max }),
    ...(rate === undefined ? {} : { rate }),
  };
}

function parseRate(text: string | undefined, burst: number | undefined): Lane["rate"] {
  const [limit, time = ""] = (text ?? "").split("/", 2);
  const ms = parseDuration(time);
  const most = number(limit);
  if (most === undefined || ms === undefined) return undefined;
  return { limit: most, period_sec: Math.ceil(ms / 1000), ...(burst === undefined ? {} : { burst }) };
}

function number(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,7}$/.test(text) ? Number(text) : undefined;
}
