import fc from "fast-check";
import { expect, test } from "vitest";
import { firstHash } from "../log/audit-record.ts";
import { chainBeginning, checkChain } from "./check-chain.ts";
import { removeEntry } from "./entries.ts";
import { byName, encodeFrame, firstMac, openHead, payloadNames, readHead } from "./frame.ts";
import { anyLog, encodeLog, macKey } from "./frames.testing.ts";

const texts = (event: string) => ({ jobs: [], changes: [], documents: [], receipts: [], events: [event] });

test("an edited, a removed and a moved record are found without the MAC key", () => {
  const frames = () => encodeLog(["a", "b", "c"].map(texts));
  const edited = frames();
  edited[1]!.payloads.events![12]! ^= 1;
  expect(checkChain(edited, chainBeginning).faults).toEqual([
    { frame: 2, what: "entry", payload: "events", index: 0 },
  ]);
  const [first, second, third] = frames();
  expect(checkChain([first!, third!], chainBeginning).faults).toEqual([
    { frame: 3, what: "order" },
    { frame: 3, what: "entry", payload: "events", index: 0 },
  ]);
  expect(checkChain([second!, first!, third!], chainBeginning).faults).not.toEqual([]);
});

test("a record that was written anew, with a fitting list, breaks the chain at the next one", () => {
  const [first, , third] = encodeLog(["a", "b", "c"].map(texts));
  const { mac: previousMac } = readHead(first!.head)!;
  const record = JSON.stringify({
    event: "forged",
    prev_hash: checkChain([first!], chainBeginning).prevHash,
  });
  const entries = byName((name) => (name === "events" ? [{ text: record }] : []));
  const forged = encodeFrame(Buffer.alloc(32, 9), { number: 2, atMs: 1_001, previousMac, entries });
  const { faults } = checkChain([first!, forged, third!], chainBeginning);
  expect(faults).toContainEqual({ frame: 3, what: "entry", payload: "events", index: 0 });
  expect(openHead(macKey, forged.head)).toBeNull();
});

test("a head that cannot be read is named, and nothing behind it is judged", () => {
  const frames = encodeLog(["a", "b", "c"].map(texts));
  frames[1]!.head[0]! ^= 1;
  expect(checkChain(frames, chainBeginning).faults).toEqual([{ frame: 2, what: "list" }]);
});

test("a record without a hash before it, or that is no record, is a fault of that record", () => {
  for (const text of ["{}", "null", "no record"]) {
    const entries = byName((name) => (name === "events" ? [{ text }] : []));
    const frame = encodeFrame(macKey, { number: 1, atMs: 1, previousMac: firstMac, entries });
    expect(checkChain([frame], chainBeginning).faults).toEqual([
      { frame: 1, what: "entry", payload: "events", index: 0 },
    ]);
  }
});

test("whatever retention has removed, the chain holds, and its last hash is the same", () => {
  fc.assert(
    fc.property(anyLog, fc.infiniteStream(fc.boolean()), (log, choose) => {
      const frames = encodeLog(log);
      const { faults, prevHash } = checkChain(frames, chainBeginning);
      expect(faults).toEqual([]);
      if (log.every(({ events }) => events.length === 0)) expect(prevHash).toBe(firstHash);
      for (const frame of frames) {
        const head = readHead(frame.head)!;
        for (const name of payloadNames)
          for (const index of head.lists[name].keys())
            if (choose.next().value === true) removeEntry(head, frame, name, index);
      }
      expect(checkChain(frames, chainBeginning)).toEqual({ faults: [], prevHash });
    }),
  );
});
