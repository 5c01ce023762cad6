import { eventTable } from "../src/core/events.ts";
import { sha256Hex } from "../src/signing/mac.ts";
import { readEntries } from "../src/store/frames/entries.ts";
import { writeEvent } from "../src/store/frames/event-entry.ts";
import { emptyLists, encodeFrame, type Frame, firstMac, macOf, openHead } from "../src/store/frames/frame.ts";
import { differingColumns, type JobLine, readJobLine, writeJobLine } from "../src/store/frames/job-line.ts";
import { readSharedTexts } from "../src/store/frames/shared-texts.ts";
import { isSealed, sealJob } from "../src/store/jobs/job-seal.ts";
import { sealEvent } from "../src/store/log/audit-chain.ts";
import { firstHash } from "../src/store/log/audit-record.ts";
import { sealText } from "../src/store/log/seal-text.ts";
import { type StoredEvent, storedEvent } from "../src/store/log/stored-event.ts";
import { figure, median } from "./_figures.ts";

/**
 * The CPU time that it takes to seal submitted jobs with one event each, and to check them when they are claimed: by a seal for
 * each document and a hash for each event, as today, and by frames for groups of several sizes. The SHA-256 of the document is
 * known in both. Usage: npm run bench -- frames [jobs] Why: ADR 0105.
 */
const jobs = Number(process.argv[2] ?? 16_000);
const rounds = 5;
const groups = [1, 16, 100, 1_000];
const macKey = Buffer.alloc(32, 7);
const { severity } = eventTable.JOB_CREATED;

type NewLine = JobLine & { documentSha256: string };
type Sample = { job: NewLine; document: string; event: StoredEvent };

const samples = Array.from({ length: jobs }, (_, index) => sampleOf(index + 1));
const costs = new Map<string, number[]>();
for (let round = 0; round <= rounds; round++) {
  const macs = measure("seal, today", round, sealSingly);
  measure("check, today", round, () => checkSingly(macs));
  for (const size of groups) {
    const frames = measure(`seal, frames of ${size}`, round, () => sealInFrames(size));
    measure(`check, frames of ${size}`, round, () => checkFrames(frames, size));
  }
}
for (const [name, values] of costs) {
  const spread = [Math.min(...values), Math.max(...values)];
  figure(name, median(values), "µs of CPU time a job", { rounds, spread });
}

/** The first round is for the compiler. */
function measure<T>(name: string, round: number, act: () => T): T {
  const before = process.cpuUsage();
  const result = act();
  const { user, system } = process.cpuUsage(before);
  if (round > 0) costs.set(name, [...(costs.get(name) ?? []), (user + system) / jobs]);
  return result;
}

function sealSingly(): Buffer[] {
  let prevHash = firstHash;
  return samples.map(({ job, document, event }) => {
    prevHash = sealEvent(event, prevHash).hash;
    return sealJob(macKey, job, document);
  });
}

function checkSingly(macs: Buffer[]): void {
  for (const [index, { job, document }] of samples.entries())
    if (!isSealed(macKey, job, document, macs[index]!)) throw new Error("a seal does not match");
}

function sealInFrames(size: number): Frame[] {
  const frames: Frame[] = [];
  let previousMac: Buffer = firstMac;
  let prevHash = firstHash;
  for (let first = 0; first < jobs; first += size) {
    const group = samples.slice(first, first + size);
    const lists = emptyLists();
    const [firstEvent, previousHash] = [first + 1, prevHash];
    for (const { job, document, event } of group) {
      lists.documents.bytes.text(document);
      lists.documents.end(job.documentSha256);
      writeJobLine(lists.jobs.bytes, lists.jobs.texts, job);
      lists.jobs.end();
      writeEvent(lists.events.bytes, lists.events.texts, { stored: event, severity });
      prevHash = sha256Hex(sealText(event, { severity, prevHash }));
      lists.events.end(prevHash);
    }
    const facts = { number: frames.length + 1, atMs: 1, previousMac, firstEvent, previousHash };
    const frame = encodeFrame(macKey, facts, lists);
    previousMac = macOf(frame);
    frames.push(frame);
  }
  return frames;
}

function checkFrames(frames: Frame[], size: number): void {
  for (const [at, frame] of frames.entries()) {
    const head = openHead(macKey, frame.head);
    if (head === null) throw new Error("a frame does not match its MAC");
    const documents = readEntries(head, frame, "documents");
    const lines = readEntries(head, frame, "jobs");
    const texts = readSharedTexts(lines.pop()!.bytes);
    for (const [index, { state, bytes }] of lines.entries()) {
      const { job } = samples[at * size + index]!;
      const line = state === "kept" ? readJobLine(bytes, texts) : null;
      const isRight = line !== null && documents[index]!.state === "kept";
      if (!isRight || differingColumns(job, line).length > 0)
        throw new Error("a job does not match its line");
    }
  }
}

function sampleOf(seq: number): Sample {
  const id = `0199aaaa-bbbb-7ccc-8ddd-${String(seq).padStart(12, "0")}`;
  const params = `{"index":${seq},"text":"${"x".repeat(180)}"}`;
  const document = `{"job_id":"${id}","kind":"handler","params":${params},"tenant_id":"default","type":"noop","user_id":"ada"}`;
  const job: NewLine = {
    seq,
    createdAt: 1_763_350_000_000,
    runAt: 1_763_350_000_000,
    queueTtlSec: null,
    id,
    tenantId: "default",
    userId: "ada",
    type: "noop",
    priority: 5,
    queueKey:
      '{"capabilities":[],"document_format":1,"kind":"handler","tags":[],"tenant":"default","type":"noop"}',
    documentTimeoutSec: 300,
    timeoutSec: 300,
    maxAttempts: 3,
    attemptsChosen: false,
    limitsDefaulted: null,
    terms: null,
    documentSha256: sha256Hex(document),
    idempotencyKey: sha256Hex(id),
    requestHash: null,
  };
  const origin = {
    userId: "ada",
    ipAddress: "127.0.0.1",
    userAgent: "writ/0.1.0",
    endpoint: "/jobs",
    method: "POST",
  };
  const details = { type: "noop", priority: 5 };
  const event = {
    event: "JOB_CREATED",
    ts: 1_763_350_000_000,
    tenantId: "default",
    jobId: id,
    ownerId: "ada",
    details,
    origin,
    jobSeq: 1,
  } as const;
  return { job, document, event: storedEvent(event, seq) };
}
