import {
  batchJobsMax,
  contradictions,
  type JobSubmission,
  submissionFields,
} from "../../../contract/shapes/submit-shapes.ts";
import { CanonicalText } from "../../../core/text/json-value.ts";
import { canonicalize } from "../../../signing/canonical.ts";
import { depthMaxDefault, parseJson } from "../../../signing/parse-json.ts";
import { CanonicalScanner } from "../../../signing/scan-canonical.ts";

/**
 * Reads the submissions that most producers send, without making values of them: a job for a handler, with params of any
 * shape and a few simple fields. Params in canonical form stay the text that they are. Null for every other text, also for a
 * wrong one: the strict parser and the route's shape then read it, or say what is wrong. What is accepted here is the same
 * job there; `plain-submissions.test.ts` compares the two. Why: ADR 0117.
 */
export function readPlainJob(text: string, keysMax: number): JobSubmission | null {
  const reader = new PlainReader(text, keysMax, depthMaxDefault - 1);
  const job = reader.job();
  return job !== null && reader.isAtEnd("") ? job : null;
}

/** The same for the body of a batch. */
export function readPlainBatch(text: string, keysMax: number): { jobs: JobSubmission[] } | null {
  if (!text.startsWith(batchHead)) return null;
  const reader = new PlainReader(text, keysMax, depthMaxDefault - 3);
  reader.at = batchHead.length;
  const jobs: JobSubmission[] = [];
  do {
    const job = reader.job();
    if (job === null || jobs.length === batchJobsMax) return null;
    jobs.push(job);
  } while (reader.skip(","));
  return reader.isAtEnd("]}") ? { jobs } : null;
}

const batchHead = '{"jobs":[';

/** Fields whose values are a string or an integer. Each is checked by the shape that it has for the strict parser. */
const simpleFields = [
  "type",
  "job_id",
  "idempotency_key",
  "priority",
  "max_attempts",
  "timeout_sec",
  "queue_ttl_sec",
  "run_at",
  "delay_ms",
  "traceparent",
] as const;
type SimpleField = (typeof simpleFields)[number];

const simple: ReadonlySet<string> = new Set(simpleFields);

type Fields = Partial<Record<SimpleField | "params", unknown>>;

class PlainReader {
  at = 0;
  readonly #text: string;
  readonly #scanner: CanonicalScanner;
  readonly #levels: number;
  /** Most jobs of a batch have the same type, priority and limits. */
  readonly #checked = new Map<string, { given: string | number; value: unknown }>();

  constructor(text: string, keysMax: number, levels: number) {
    this.#text = text;
    this.#scanner = new CanonicalScanner(text, keysMax);
    this.#levels = levels;
  }

  isAtEnd(closing: string): boolean {
    return this.#text.startsWith(closing, this.at) && this.at + closing.length === this.#text.length;
  }

  skip(mark: string): boolean {
    if (!this.#text.startsWith(mark, this.at)) return false;
    this.at += mark.length;
    return true;
  }

  job(): JobSubmission | null {
    if (!this.skip("{")) return null;
    const fields: Fields = {};
    // Bounded by the names: none may come twice.
    do {
      if (!this.#field(fields)) return null;
    } while (this.skip(","));
    if (!this.skip("}")) return null;
    const job = fields as JobSubmission;
    return contradictions(job).length === 0 ? job : null;
  }

  #field(fields: Fields): boolean {
    const name = this.#string();
    if (name === null || name in fields || !this.#scanner.takeKeys(1) || !this.skip(":")) return false;
    if (name === "params") return this.#params(fields);
    if (!simple.has(name)) return false;
    const given = this.#text.charCodeAt(this.at) === quote ? this.#string() : this.#integer();
    return given !== null && this.#keep(fields, name as SimpleField, given);
  }

  #keep(fields: Fields, name: SimpleField, given: string | number): boolean {
    const last = this.#checked.get(name);
    if (last?.given === given) {
      fields[name] = last.value;
      return true;
    }
    const checked = submissionFields.shape[name].safeParse(given);
    if (!checked.success) return false;
    fields[name] = checked.data;
    this.#checked.set(name, { given, value: checked.data });
    return true;
  }

  #string(): string | null {
    if (this.#text.charCodeAt(this.at) !== quote) return null;
    const end = this.#scanner.plainString(this.at);
    if (end === -1) return null;
    const string = this.#text.slice(this.at + 1, end - 1);
    this.at = end;
    return string;
  }

  #integer(): number | null {
    const code = this.#text.charCodeAt(this.at);
    const isNumber = code === minus || (code >= 0x30 && code <= 0x39);
    const end = isNumber ? this.#scanner.value(this.at, 0) : -1;
    if (end === -1) return null;
    const integer = Number(this.#text.slice(this.at, end));
    this.at = end;
    return integer;
  }

  #params(fields: Fields): boolean {
    const end = this.#scanner.value(this.at, this.#levels);
    if (end !== -1) {
      fields.params = new CanonicalText(this.#text.slice(this.at, end));
      this.at = end;
      return true;
    }
    return this.#otherParams(fields);
  }

  /** Params that are JSON, but not in the form that is copied: keys in another order, decimals, letters beyond ASCII. */
  #otherParams(fields: Fields): boolean {
    const end = endOfValue(this.#text, this.at);
    if (end === -1) return false;
    const text = this.#text.slice(this.at, end);
    // Each key ends with these two characters; strings may contain them too.
    if (!this.#scanner.takeKeys(text.split('":').length - 1)) return false;
    try {
      fields.params = new CanonicalText(canonicalize(parseJson(text, { maxDepth: this.#levels })));
    } catch {
      // The strict parser reads the whole text next, and says where it is wrong.
      return false;
    }
    this.at = end;
    return true;
  }
}

/** Where an object or an array ends that may hold any JSON, or -1. Whether it is JSON is for the parser to say. */
function endOfValue(text: string, from: number): number {
  let depth = 0;
  let isInString = false;
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === backslash) at++;
      else if (code === quote) isInString = false;
    } else if (code === quote) isInString = true;
    else if (code === openObject || code === openArray) depth++;
    else if (code === closeObject || code === closeArray) depth--;
    if (depth === 0 && !isInString) return code === closeObject || code === closeArray ? at + 1 : -1;
  }
  return -1;
}

const quote = 0x22;
const minus = 0x2d;
const openArray = 0x5b;
const backslash = 0x5c;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
