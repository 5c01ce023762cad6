import type { ClosedNetworkRecord, Usage } from "../../sandbox/sandbox.ts";

/** How often something was asked for, by its name. */
type Counts = Map<string, number>;

/** A job that asks for more hosts than this is still counted, but the rest is not named. */
const namesMax = 32;
const nameCharsMax = 260;
const separator = " ";

/** Counts what a job asks its proxy for. Its size is bounded, whatever the job does. */
export class NetworkLog {
  readonly #allowed: Counts = new Map();
  readonly #denied: Counts = new Map();
  readonly #onDenied: ((host: string, why: string) => void) | undefined;
  #requests = 0;
  #deniedCount = 0;
  #bytes = 0;

  /** `onDenied` is called once for each name, as long as names are kept. */
  constructor(onDenied?: (host: string, why: string) => void) {
    this.#onDenied = onDenied;
  }

  allow(host: string): void {
    this.#requests++;
    count(this.#allowed, shortened(host));
  }

  deny(host: string, why: string): void {
    this.#requests++;
    this.#deniedCount++;
    const name = shortened(host);
    if (count(this.#denied, `${name}${separator}${why}`)) this.#onDenied?.(name, why);
  }

  /** It was allowed as `host`, and then turned out to be something else. */
  takeBack(host: string, why: string): void {
    const name = shortened(host);
    const requests = this.#allowed.get(name);
    if (requests !== undefined && requests > 1) this.#allowed.set(name, requests - 1);
    else this.#allowed.delete(name);
    this.#requests--;
    this.deny(host, why);
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes;
  }

  get use(): NonNullable<Usage["network"]> {
    return { requests: this.#requests, denied: this.#deniedCount, bytes: this.#bytes };
  }

  get record(): Pick<ClosedNetworkRecord, "allowed" | "denied"> {
    return {
      allowed: [...this.#allowed].map(([host, requests]) => ({ host, requests })),
      denied: [...this.#denied].map(([text, requests]) => {
        const at = text.indexOf(separator);
        return { host: text.slice(0, at), why: text.slice(at + 1), requests };
      }),
    };
  }
}

/** True the first time. */
function count(counts: Counts, name: string): boolean {
  const before = counts.get(name);
  if (before === undefined && counts.size >= namesMax) return false;
  counts.set(name, (before ?? 0) + 1);
  return before === undefined;
}

/** The job chose it, so it may contain anything. */
function shortened(host: string): string {
  return host.replaceAll(/[^\x21-\x7e]/g, "?").slice(0, nameCharsMax) || "?";
}
