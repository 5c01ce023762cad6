import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256Hex } from "../../signing/mac.ts";
import { findDamage, readEntries, readEntry, removeEntry } from "./entries.ts";
import { byName, encodeFrame, entriesMax, firstMac, headBytes, openHead, payloadNames } from "./frame.ts";
import { anyLog, encodeLog, macKey } from "./frames.testing.ts";

const anyFrame = anyLog.map((log) => encodeLog(log)[0]!);
const kept = (frame: Parameters<typeof readEntries>[1]) => {
  const head = openHead(macKey, frame.head)!;
  return byName((name) => readEntries(head, frame, name));
};

test("no bytes but a whole head are taken for one, and none under another key", () => {
  const [frame] = encodeLog([{ jobs: ["a"], changes: [], documents: [], receipts: [], events: [] }]);
  const { head } = frame!;
  expect(openHead(Buffer.alloc(32, 8), head)).toBeNull();
  expect(openHead(macKey, head.subarray(0, -1))).toBeNull();
  expect(openHead(macKey, Buffer.concat([head, Buffer.alloc(1)]))).toBeNull();
  expect(headBytes(Buffer.alloc(head.length))).toBeNull();
  expect(headBytes(head.subarray(0, 10))).toBeNull();
});

test("a frame has a bound", () => {
  const entries = byName((name) =>
    name === "jobs" ? Array.from({ length: entriesMax + 1 }, () => ({ text: "x" })) : [],
  );
  expect(() => encodeFrame(macKey, { number: 1, atMs: 1, previousMac: firstMac, entries })).toThrow("65536");
});

test("one changed bit of a head makes the whole frame unknown", () => {
  fc.assert(
    fc.property(anyFrame, fc.nat(), ({ head }, place) => {
      const changed = Buffer.from(head);
      changed[Math.floor(place / 8) % head.length]! ^= 1 << (place % 8);
      expect(openHead(macKey, changed)).toBeNull();
    }),
  );
});

test("one changed bit of a payload names its own entry and no other", () => {
  fc.assert(
    fc.property(anyFrame, fc.constantFrom(...payloadNames), fc.nat(), (frame, name, place) => {
      const payload = frame.payloads[name]!;
      fc.pre(payload.length > 0);
      const head = openHead(macKey, frame.head)!;
      const at = Math.floor(place / 8) % payload.length;
      const ends = head.lists[name].map((_, index, list) =>
        list.slice(0, index + 1).reduce((sum, { bytes }) => sum + bytes, 0),
      );
      const index = ends.findIndex((end) => end > at);
      payload[at]! ^= 1 << (place % 8);
      // An entry of one byte with one bit is all zeros without it, which is what a removed one looks like.
      fc.pre(readEntry(head, frame, name, index).state !== "removed");
      expect(findDamage(head, frame)).toEqual([{ payload: name, index }]);
    }),
  );
});

test("a payload that is too short or too long is damaged where it is", () => {
  const [frame] = encodeLog([
    { jobs: ["first", "second"], changes: [], documents: [], receipts: [], events: [] },
  ]);
  const head = openHead(macKey, frame!.head)!;
  const jobs = frame!.payloads.jobs!;
  const withJobs = (bytes: Buffer) => ({ ...frame!, payloads: { ...frame!.payloads, jobs: bytes } });
  expect(findDamage(head, withJobs(jobs.subarray(0, -1)))).toEqual([{ payload: "jobs", index: 1 }]);
  const longer = withJobs(Buffer.concat([jobs, jobs]));
  expect(findDamage(head, longer)).toEqual([{ payload: "jobs", index: null }]);
});

test("what was encoded is read again, entry by entry, in any script and with half characters", () => {
  fc.assert(
    fc.property(anyLog, (log) => {
      const [frame] = encodeLog(log);
      const { jobs, documents, receipts } = kept(frame!);
      const texts = { jobs, documents, receipts };
      for (const name of ["jobs", "documents", "receipts"] as const)
        expect(texts[name]).toEqual(
          log[0]![name].map((text) => ({ state: "kept", bytes: Buffer.from(text) })),
        );
    }),
  );
});

test("two halves of a character in two entries stay two", () => {
  const [frame] = encodeLog([
    { jobs: ["a\ud83d", "\ude00b"], changes: [], documents: [], receipts: [], events: [] },
  ]);
  expect(kept(frame!).jobs.map(({ state, bytes }) => [state, bytes.toString()])).toEqual([
    ["kept", "a\ufffd"],
    ["kept", "\ufffdb"],
  ]);
});

test("a hash that is known is not computed again", () => {
  const entries = byName((name) => (name === "documents" ? [{ text: "{}", sha256: sha256Hex("{}") }] : []));
  const frame = encodeFrame(macKey, { number: 1, atMs: 1, previousMac: firstMac, entries });
  expect(kept(frame).documents).toEqual([{ state: "kept", bytes: Buffer.from("{}") }]);
});

test("any entries can be removed: they leave their hashes, and everything else stays as it was", () => {
  fc.assert(
    fc.property(anyFrame, fc.infiniteStream(fc.boolean()), (frame, choose) => {
      const head = openHead(macKey, frame.head)!;
      const before = kept(frame);
      const hashes = byName((name) => head.lists[name].map(({ sha256 }) => sha256.toString("hex")));
      for (const name of payloadNames)
        for (const index of before[name].keys())
          if (choose.next().value === true) {
            removeEntry(head, frame, name, index);
            before[name][index] = { state: "removed", bytes: Buffer.alloc(0) };
          }
      expect(kept(frame)).toEqual(before);
      expect(findDamage(head, frame)).toEqual([]);
      expect(
        byName((name) =>
          openHead(macKey, frame.head)!.lists[name].map(({ sha256 }) => sha256.toString("hex")),
        ),
      ).toEqual(hashes);
    }),
  );
});

test("a payload without any bytes counts as removed, entry by entry", () => {
  const [frame] = encodeLog([{ jobs: ["a"], changes: [], documents: ["b", "c"], receipts: [], events: [] }]);
  const gone = { ...frame!, payloads: { ...frame!.payloads, documents: null } };
  const { jobs, documents } = kept(gone);
  expect([jobs, documents].map((list) => list.map(({ state }) => state))).toEqual([
    ["kept"],
    ["removed", "removed"],
  ]);
});
