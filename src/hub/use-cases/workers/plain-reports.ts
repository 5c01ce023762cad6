import { WritError } from "../../../core/errors.ts";
import { CanonicalText } from "../../../core/text/json-value.ts";
import { depthMaxDefault, parseJson } from "../../../signing/parse-json.ts";
import { CanonicalScanner } from "../../../signing/scan-canonical.ts";
import { FunctionEnd } from "./function-ends.ts";

type Reports = {
  worker_id: string;
  receipts: { signature: string; leases: [string, number][] };
  ends: FunctionEnd[];
  items: unknown[];
};

const head =
  /\{"worker_id":"([A-Za-z0-9._:@-]{1,100})","receipts":\{"signature":"([A-Za-z0-9+/=:_-]{1,200})","leases":\[/y;
const lease = /\["([0-9a-f]{64})",([1-9]\d{0,2})\]/y;
/** In the body beside those of results and items. */
const ownKeys = 6;
const endsHead = ']},"ends":[';
const itemsHead = '],"items":';
const row =
  /\["([0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})",([1-9]\d{0,14}),"([A-Za-z0-9_-]{16,128})","([0-9a-f]{64})",(0|[1-9]\d{0,14}),(0|[1-9]\d{0,14}),"([0-9a-f]{64})",/y;
const endsMax = 256;

/**
 * Reads the reports that our worker sends for functions, without making values of what is the same in each. Null for every
 * other text: the strict parser and the shape then read it, or say what is wrong. What is accepted here is the same there;
 * `plain-reports.test.ts` compares the two. Why: ADR 0125.
 */
export function readPlainReports(text: string, keysMax: number): Reports | null {
  const reader = new ReportReader(text, keysMax);
  const start = reader.match(head);
  if (start === null || !reader.takeKeys(ownKeys)) return null;
  const [, worker_id = "", signature = ""] = start;
  const leases = reader.list((one) => one.lease());
  if (leases === null || !reader.skip(endsHead)) return null;
  const ends = reader.list((one) => one.end());
  if (ends === null || !reader.skip(itemsHead)) return null;
  const items = reader.items();
  if (items === null || ends.length + items.length > endsMax) return null;
  return { worker_id, receipts: { signature, leases }, ends, items };
}

class ReportReader {
  readonly #text: string;
  readonly #scanner: CanonicalScanner;
  #at = 0;

  constructor(text: string, keysMax: number) {
    this.#text = text;
    this.#scanner = new CanonicalScanner(text, keysMax);
  }

  takeKeys(count: number): boolean {
    return this.#scanner.takeKeys(count);
  }

  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found !== null) this.#at = pattern.lastIndex;
    return found;
  }

  skip(mark: string): boolean {
    if (!this.#text.startsWith(mark, this.#at)) return false;
    this.#at += mark.length;
    return true;
  }

  /** One or more; null if one of them cannot be read here, or if there are too many. */
  list<T>(read: (reader: this) => T | null): T[] | null {
    const all: T[] = [];
    do {
      const one = read(this);
      if (one === null || all.length === endsMax) return null;
      all.push(one);
    } while (this.skip(","));
    return all;
  }

  lease(): [string, number] | null {
    const found = this.match(lease);
    const count = Number(found?.[2]);
    return found !== null && count <= endsMax ? [found[1]!, count] : null;
  }

  end(): FunctionEnd | null {
    const found = this.match(row);
    if (found === null) return null;
    const from = this.#at;
    // The body, the list and the row are three levels.
    const to = this.#scanner.value(from, depthMaxDefault - 3);
    if (to === -1) return null;
    this.#at = to;
    if (!this.skip("]")) return null;
    const [, jobId = "", attempt, token = "", documentSha256 = "", startedAt, endedAt, receiptSha256 = ""] =
      found;
    const result = new CanonicalText(this.#text.slice(from, to));
    const times = [Number(startedAt), Number(endedAt)] as const;
    return new FunctionEnd([jobId, Number(attempt), token, documentSha256, ...times, receiptSha256, result]);
  }

  /** The rest of the body, which is read by the strict parser unless it is empty. */
  items(): unknown[] | null {
    if (this.#text.slice(this.#at) === "[]}") return [];
    if (!this.#text.endsWith("}")) return null;
    try {
      const limits = { maxDepth: depthMaxDefault - 1, keysMax: this.#scanner.keysLeft };
      const items = parseJson(this.#text.slice(this.#at, -1), limits);
      return Array.isArray(items) ? items : null;
    } catch (error) {
      // The strict parser reads the whole body next, and says where it is wrong.
      if (error instanceof WritError) return null;
      throw error;
    }
  }
}
