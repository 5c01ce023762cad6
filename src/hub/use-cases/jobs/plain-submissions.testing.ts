import { isDeepStrictEqual } from "node:util";
import { type JobSubmission, jobBatch } from "../../../contract/shapes/submit-shapes.ts";
import { WritError } from "../../../core/errors.ts";
import type { NewJob } from "../../../core/jobs/job.ts";
import { parseJson } from "../../../signing/parse-json.ts";
import { parseShape } from "../access/parse-shape.ts";
import { buildDocument } from "./build-document.ts";
import { makeDocuments } from "./make-documents.ts";
import { readPlainBatch } from "./plain-submissions.ts";

export type Compared = { batches: number; plain: number; refused: number; documents: string[] };

const keysMax = 400;

/**
 * Reads random bodies of batches in both ways. Whatever the plain reader accepts, the strict parser and the shape accept too,
 * and both make the same jobs of it. Throws with the body of the first difference.
 */
export function compareReaders(seed: number, batches: number): Compared {
  const random = randomNumbers(seed);
  const compared: Compared = { batches, plain: 0, refused: 0, documents: [] };
  for (let made = 0; made < batches; made++) {
    const text = spoilt(random, batchText(random));
    const plain = readPlainBatch(text, keysMax);
    const strict = strictly(text);
    if (strict === null) compared.refused++;
    if (plain === null) continue;
    compared.plain++;
    const jobs = plainly(plain.jobs);
    if (strict === null || !isDeepStrictEqual(jobs, oneByOne(strict.jobs)))
      throw new Error(`the two readers differ about ${text}`);
    compared.documents.push(...jobs.map(({ document }) => document));
  }
  return compared;
}

function strictly(text: string): { jobs: JobSubmission[] } | null {
  try {
    return parseShape(jobBatch, parseJson(text, { keysMax }));
  } catch (error) {
    if (error instanceof WritError) return null;
    throw error;
  }
}

const author = { tenantId: "default", userId: "ada" };
const jobId = "01890a5d-ac96-774b-bcce-b302099a8057";

function plainly(submissions: JobSubmission[]): NewJob[] {
  return makeDocuments(submissions, author, { nowMs: 1_000, defaulted: undefined, newId: () => jobId });
}

function oneByOne(submissions: JobSubmission[]): NewJob[] {
  return submissions.map((submission) =>
    buildDocument(submission, author, { jobId: submission.job_id ?? jobId, nowMs: 1_000 }),
  );
}

type Random = (below: number) => number;

/** The same numbers for the same seed (xorshift). */
function randomNumbers(seed: number): Random {
  let state = (seed * 2654435761) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

function batchText(random: Random): string {
  // In every other batch the jobs differ only in fields of their own.
  const alike = random(2) === 0 ? membersOf(random) : null;
  const jobs = Array.from({ length: 1 + random(4) }, () => jobText(random, alike ?? membersOf(random)));
  return `{"jobs":[${jobs.join(",")}]}`;
}

function membersOf(random: Random): string[] {
  const members = ['"type":"noop"'];
  for (const candidates of memberTexts)
    if (random(4) === 0) members.push(random(12) === 0 ? pick(random, candidates) : candidates[0]!);
  if (random(20) === 0) members.push(pick(random, otherTexts));
  return members;
}

function jobText(random: Random, common: readonly string[]): string {
  const members = [...common];
  if (random(4) > 0) members.push(`"params":${valueText(random, 4)}`);
  if (random(4) === 0)
    members.push(`"job_id":"01890a5d-ac96-774b-bcce-${String(random(1e6)).padStart(12, "0")}"`);
  if (random(4) === 0)
    members.push(`"idempotency_key":"${pick(random, ["k", "{key}", "{id}", "{params}"])}"`);
  for (let index = members.length - 1; index > 0; index--) {
    const other = random(index + 1);
    [members[index], members[other]] = [members[other]!, members[index]!];
  }
  return `{${members.join(",")}}`;
}

/** The first of each is right. */
const memberTexts = [
  ['"priority":5', '"priority":0', '"priority":11', '"priority":5.0', '"priority":"5"'],
  ['"max_attempts":3', '"max_attempts":101', '"max_attempts":-1'],
  ['"timeout_sec":60', '"timeout_sec":0', '"timeout_sec":99999999', '"timeout_sec":null'],
  ['"queue_ttl_sec":60', '"queue_ttl_sec":-0'],
  ['"run_at":1800000000000', '"delay_ms":1e3', '"run_at":1,"delay_ms":10'],
  ['"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"', '"traceparent":"00-1"'],
];

const otherTexts = [
  ...[
    '"metadata":{"a":1}',
    '"unknown":1',
    '"run":{"kind":"handler"}',
    '"execution_location":"LOCAL_MACHINE"',
  ],
  ...[
    '"type":"again"',
    '"type":"a b"',
    '"params":1',
    '"solver_url":"https://example.com/x"',
    '"__proto__":{}',
  ],
];

function valueText(random: Random, levels: number): string {
  const kind = random(levels > 0 ? 8 : 4);
  if (kind === 0) return pick(random, random(30) === 0 ? wrongTexts : scalarTexts);
  if (kind === 1) return String(random(1_000_000) - 500_000);
  if (kind <= 3) return stringText(random);
  if (kind === 4) return `[${listOf(random, () => valueText(random, levels - 1)).join(",")}]`;
  const given = listOf(random, () => keyText(random));
  const keys = random(40) === 0 ? given : [...new Set(given)];
  // Most programs write keys in some order of their own; in every other object they are sorted.
  if (random(2) === 0) keys.sort();
  return `{${keys.map((key) => `${key}:${valueText(random, levels - 1)}`).join(",")}}`;
}

const scalarTexts = [
  ...["null", "true", "false", "0", "-1", "9007199254740991", "-9007199254740991", "123456789012345"],
  ...["1.0", "0.5", "1e2", "1e-7", "1234567890123456", '"\\u0041"', "1.50", "-2E+3", "5e-324"],
];

const wrongTexts = ["-0", "007", "1E400", "9007199254740992", '"\\ud83d"', "nul", "+1", "1.", "'a'", "NaN"];

function stringText(random: Random): string {
  return `"${listOf(random, () => pick(random, characters)).join("")}"`;
}

const characters = [
  ...["a", "b", "Z", "9", " ", ":", ",", "{", "]", '\\"', "\\\\", "\\n", "\\t", "\\/", "\\u00e9", "\\u000a"],
  ...["é", "漢", "😀", "\u007f", "\u2028", '":', "x".repeat(40)],
];

function keyText(random: Random): string {
  const key = pick(random, [
    "a",
    "b",
    "c",
    "d",
    "key",
    "z_",
    "A",
    "",
    random(9) === 0 ? "__proto__" : "\\n",
    "é",
  ]);
  return `"${key}"`;
}

function listOf<T>(random: Random, make: () => T): T[] {
  return Array.from({ length: random(4) }, make);
}

function pick<T>(random: Random, from: readonly T[]): T {
  return from[random(from.length)]!;
}

/** Every fourth body is damaged in one place. */
function spoilt(random: Random, text: string): string {
  if (random(4) > 0) return text;
  const at = random(text.length);
  const mark = pick(random, ["", " ", '"', "{", "}", "]", ",", ":", "\\", "0", "\u0000", "e", "\n"]);
  return text.slice(0, at) + mark + text.slice(at + random(2));
}
