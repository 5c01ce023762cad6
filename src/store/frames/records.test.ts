import fc from "fast-check";
import { expect, test } from "vitest";
import { eventTable, type NewEvent } from "../../core/events.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { sealedRecord } from "../log/audit-chain.ts";
import { auditHash, firstHash } from "../log/audit-record.ts";
import { sealText } from "../log/seal-text.ts";
import { storedEvent } from "../log/stored-event.ts";
import { writeEvent } from "./event-entry.ts";
import { emptyLists, encodeFrame, firstMac } from "./frame.ts";
import { macKey } from "./frames.testing.ts";
import { isProven, lastHashIn, recordsOf } from "./records.ts";

const text = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
});
const name = fc.option(text);
const anyEvent: fc.Arbitrary<NewEvent & { jobSeq: number | null }> = fc.record({
  event: fc.constantFrom("JOB_CREATED", "JOB_COMPLETED", "PERMISSION_DENIED"),
  ts: fc.integer({ min: 0, max: 2 ** 47 }),
  tenantId: name,
  jobId: fc.oneof(fc.constant(null), fc.uuid(), text),
  ownerId: name,
  jobSeq: fc.option(fc.nat()),
  details: fc.dictionary(text, fc.jsonValue()),
  origin: fc.option(
    fc.record({ userId: name, ipAddress: name, userAgent: name, endpoint: name, method: name }),
  ),
});

function frameOf(events: (NewEvent & { jobSeq?: number | null })[], firstEvent = 11) {
  const lists = emptyLists();
  let hash = firstHash;
  for (const [index, event] of events.entries()) {
    const stored = storedEvent(event, firstEvent + index);
    const { severity } = eventTable[stored.event];
    hash = sha256Hex(sealText(stored, { severity, prevHash: hash }));
    writeEvent(lists.events.bytes, lists.events.texts, { stored, severity });
    lists.events.end(hash);
  }
  const facts = { number: 1, atMs: 1, previousMac: firstMac, firstEvent, previousHash: firstHash };
  const { head, payloads } = encodeFrame(macKey, facts, lists);
  return { head, firstEvent, payload: payloads.events };
}

test("every record is read as it was sealed, with the hash that is published", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { minLength: 1, maxLength: 5 }), (events) => {
      const frame = frameOf(events);
      let previous = firstHash;
      for (const [index, record] of [...recordsOf(frame)].entries()) {
        expect(record.event!.stored).toEqual(storedEvent(events[index]!, 11 + index));
        expect(isProven(record)).toBe(true);
        const { stored, severity } = record.event!;
        const { hash, ...shown } = sealedRecord(stored, { ...record, severity });
        expect([shown.prev_hash, auditHash(shown)]).toEqual([previous, hash]);
        previous = hash;
      }
      expect(lastHashIn(frame.head)).toBe(previous);
    }),
  );
});

const plain = {
  event: "JOB_CREATED",
  ts: 1,
  tenantId: "acme",
  jobId: null,
  ownerId: null,
  details: { count: 10 },
  origin: null,
} as const;

test("details that mean the same in another spelling do not pass for the original", () => {
  const frame = frameOf([plain]);
  const at = frame.payload!.indexOf('{"count":10}');
  frame.payload!.write('{"count":1e1', at);
  expect([...recordsOf(frame)].map(isProven)).toEqual([false]);
});

test("a frame of a common job takes some thirty bytes for an event", () => {
  const jobs = Array.from({ length: 16 }, (_, index) => ({
    ...plain,
    jobId: `0199aaaa-bbbb-7ccc-8ddd-${String(index).padStart(12, "0")}`,
    jobSeq: 1,
    details: { type: "build", status: "pending", worker_id: null, attempt: 0, priority: 5 },
  }));
  expect(frameOf(jobs).payload!.length).toBeLessThan(16 * 30 + 150);
});
