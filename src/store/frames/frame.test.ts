import fc from "fast-check";
import { expect, test } from "vitest";
import { sha256Hex } from "../../signing/mac.ts";
import { firstHash } from "../log/audit-record.ts";
import { findDamage, readEntries, removeEntry } from "./entries.ts";
import {
  byName,
  emptyLists,
  encodeFrame,
  entriesMax,
  firstMac,
  headBytes,
  isSharing,
  openHead,
  payloadNames,
} from "./frame.ts";
import { anyLog, encodeLog, listsOf, macKey } from "./frames.testing.ts";

const anyFrame = anyLog.map((log) => encodeLog(log)[0]!);
const kept = (frame: Parameters<typeof readEntries>[1]) => {
  const head = openHead(macKey, frame.head)!;
  return byName((name) => readEntries(head, frame, name));
};

const beginning = { number: 1, atMs: 1, previousMac: firstMac, firstEvent: 1, previousHash: firstHash };

test("no bytes but a whole head are taken for one, and none under another key", () => {
  const [frame] = encodeLog([{ jobs: ["a"] }]);
  const { head } = frame!;
  expect(openHead(Buffer.alloc(32, 8), head)).toBeNull();
  expect(openHead(macKey, head.subarray(0, -1))).toBeNull();
  expect(openHead(macKey, Buffer.concat([head, Buffer.alloc(1)]))).toBeNull();
  expect(headBytes(Buffer.alloc(head.length))).toBeNull();
  expect(headBytes(head.subarray(0, 10))).toBeNull();
});

test("a frame has a bound, and so has a hash", () => {
  const lists = emptyLists();
  for (let count = 0; count <= entriesMax; count++) lists.changes.end();
  expect(() => encodeFrame(macKey, beginning, lists)).toThrow("65536");
  expect(() => emptyLists().documents.end("too short")).toThrow("too short is not a SHA-256");
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
      fc.pre(readEntries(head, frame, name)[index]!.state !== "removed");
      // Texts that entries share are damaged with those that name them.
      const isOfAll = isSharing(name) && index === ends.length - 1;
      const found = findDamage(head, frame);
      expect(found).toContainEqual({ payload: name, index });
      if (!isOfAll) expect(found).toHaveLength(1);
    }),
  );
});

test("a payload that is too short or too long is damaged where it is", () => {
  const [frame] = encodeLog([{ documents: ["first", "second"] }]);
  const head = openHead(macKey, frame!.head)!;
  const documents = frame!.payloads.documents!;
  const withBytes = (bytes: Buffer) => ({ ...frame!, payloads: { ...frame!.payloads, documents: bytes } });
  expect(findDamage(head, withBytes(documents.subarray(0, -1)))).toEqual([
    { payload: "documents", index: 1 },
  ]);
  const longer = withBytes(Buffer.concat([documents, documents]));
  expect(findDamage(head, longer)).toEqual([{ payload: "documents", index: null }]);
});

test("what was encoded is read again, entry by entry, in any script and with half characters", () => {
  fc.assert(
    fc.property(anyLog, (log) => {
      const [frame] = encodeLog(log);
      const entries = kept(frame!);
      for (const name of ["changes", "documents"] as const)
        expect(entries[name]).toEqual(
          log[0]![name].map((text) => ({ state: "kept", bytes: Buffer.from(text) })),
        );
      for (const name of ["receipts", "events"] as const)
        expect(entries[name].every(({ state }) => state === "kept")).toBe(true);
    }),
  );
});

test("two halves of a character in two entries stay two", () => {
  const [frame] = encodeLog([{ documents: ["a\ud83d", "\ude00b"] }]);
  expect(kept(frame!).documents.map(({ state, bytes }) => [state, bytes.toString()])).toEqual([
    ["kept", "a\ufffd"],
    ["kept", "\ufffdb"],
  ]);
});

test("a document that is in an earlier frame has only its hash in this one", () => {
  const lists = emptyLists();
  lists.documents.end(sha256Hex("{}"));
  const frame = encodeFrame(macKey, beginning, lists);
  expect(kept(frame).documents).toEqual([{ state: "kept", bytes: Buffer.alloc(0) }]);
  expect(openHead(macKey, frame.head)!.lists.documents[0]!.sha256.toString("hex")).toBe(sha256Hex("{}"));
});

test("what was taken back before the frame was written is not in it", () => {
  fc.assert(
    fc.property(anyLog, (log) => {
      const after = { firstEvent: 1, previousHash: firstHash };
      const { lists } = listsOf(log[0]!, after);
      const marks = byName((name) => lists[name].mark());
      for (const name of payloadNames) {
        lists[name].bytes.varint(lists[name].texts.numberOf("taken back"));
        lists[name].end();
        lists[name].backTo(marks[name]);
      }
      const plain = encodeFrame(macKey, beginning, listsOf(log[0]!, after).lists);
      expect(encodeFrame(macKey, beginning, lists)).toEqual(plain);
    }),
  );
});

test("any entries can be removed: they leave their hashes, and everything else stays as it was", () => {
  fc.assert(
    fc.property(anyFrame, fc.infiniteStream(fc.boolean()), (frame, choose) => {
      const head = openHead(macKey, frame.head)!;
      const before = kept(frame);
      const hashes = byName((name) => head.lists[name].map(({ sha256 }) => sha256.toString("hex")));
      // Texts that entries share go with the last of them.
      for (const name of payloadNames)
        for (const index of before[name].keys())
          if (choose.next().value === true && !(isSharing(name) && index === before[name].length - 1)) {
            removeEntry(frame, name, index);
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
  const [frame] = encodeLog([{ changes: ["a"], documents: ["b", "c"] }]);
  const gone = { ...frame!, payloads: { ...frame!.payloads, documents: null } };
  const { changes, documents } = kept(gone);
  expect([changes, documents].map((list) => list.map(({ state }) => state))).toEqual([
    ["kept"],
    ["removed", "removed"],
  ]);
});
