import type { JobInput } from "../../../client/index.ts";
import { parseDuration } from "../../terminal/duration.ts";

export const retryHelp =
  "how often and when to try again after a failure: a number, or fields such as max=5,delay=10s,backoff=exponential,max-delay=10m,jitter=0.5,not-on=2+CARD_DECLINED";

export const retryAllowed =
  "a number of retries, or fields with commas between them: max=N, delay=TIME, backoff=fixed, linear or exponential, max-delay=TIME, jitter=0 to 1, and on=CODES or not-on=CODES with + between codes and exit codes";

type Retry = NonNullable<JobInput["retry"]>;

const readers: Readonly<Record<string, (text: string) => Retry | undefined>> = {
  max: (text) => (/^\d{1,2}$/.test(text) ? { max: Number(text) } : undefined),
  delay: (text) => seconds(text, (delay_sec) => ({ delay_sec })),
  backoff: (text) =>
    text === "fixed" || text === "linear" || text === "exponential" ? { backoff: text } : undefined,
  "max-delay": (text) => seconds(text, (max_delay_sec) => ({ max_delay_sec })),
  jitter: (text) => (/^(0|1|0?\.\d{1,9})$/.test(text) ? { jitter: Number(text) } : undefined),
  on: (text) => ({ on: codes(text) }),
  "not-on": (text) => ({ not_on: codes(text) }),
};

/** The policy in the text of --retry; undefined if it is none. What the fields may hold is for the hub to say. */
export function parseRetry(text: string): Retry | undefined {
  if (/^\d{1,2}$/.test(text)) return { max: Number(text) };
  const retry: Retry = {};
  for (const field of text.split(",")) {
    const at = field.indexOf("=");
    const name = field.slice(0, Math.max(0, at));
    const read = Object.hasOwn(readers, name) ? readers[name]!(field.slice(at + 1)) : undefined;
    if (read === undefined || Object.keys(read).some((known) => known in retry)) return undefined;
    Object.assign(retry, read);
  }
  return retry;
}

function seconds(text: string, field: (sec: number) => Retry): Retry | undefined {
  const ms = parseDuration(text);
  return ms === undefined ? undefined : field(Math.ceil(ms / 1000));
}

function codes(text: string): (string | number)[] {
  return text.split("+").map((code) => (/^\d{1,3}$/.test(code) ? Number(code) : code));
}
