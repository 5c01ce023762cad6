import fc from "fast-check";
import { expect, test } from "vitest";
import { firstHash } from "../log/audit-record.ts";
import { chainBeginning, checkChain } from "./check-chain.ts";
import { removeEntry } from "./entries.ts";
import { encodeFrame, isSharing, macOf, openHead, payloadNames, readHead } from "./frame.ts";
import { anyLog, encodeLog, listsOf, macKey } from "./frames.testing.ts";
import { lastHashIn } from "./records.ts";

const logOf = (...events: string[][]) => encodeLog(events.map((names) => ({ events: names })));

test("an edited, a removed and a moved record are found without the MAC key", () => {
  const edited = logOf(["a"], ["b", "c", "d"], ["e"]);
  edited[1]!.payloads.events![readHead(edited[1]!.head)!.lists.events[0]!.bytes + 5]! ^= 1;
  expect(checkChain(edited, chainBeginning).faults).toEqual([
    { frame: 2, what: "entry", payload: "events", index: 1 },
  ]);
  const [first, second, third] = logOf(["a"], ["b"], ["c"]);
  expect(checkChain([first!, third!], chainBeginning).faults).toEqual([
    { frame: 3, what: "order" },
    { frame: 3, what: "records" },
  ]);
  expect(checkChain([second!, first!, third!], chainBeginning).faults).not.toEqual([]);
});

test("a shared text that was edited is found with every record that shows it, and no other", () => {
  const [frame] = logOf(["alpha", "beta", "alpha"]);
  const { events } = frame!.payloads;
  events![events!.indexOf("beta")]! ^= 1;
  expect(checkChain([frame!], chainBeginning).faults).toEqual([
    { frame: 1, what: "entry", payload: "events", index: 1 },
    { frame: 1, what: "entry", payload: "events", index: 3 },
  ]);
});

test("a record that was written anew, with a fitting list, breaks the chain at the next one", () => {
  const [first, , third] = logOf(["a"], ["b"], ["c"]);
  const after = { firstEvent: 2, previousHash: lastHashIn(first!.head) };
  const { lists } = listsOf({ events: ["forged"] }, after);
  const facts = { number: 2, atMs: 1_001, previousMac: macOf(first!), ...after };
  const forged = encodeFrame(Buffer.alloc(32, 9), facts, lists);
  const { faults } = checkChain([first!, forged, third!], chainBeginning);
  expect(faults).toEqual([
    { frame: 3, what: "order" },
    { frame: 3, what: "records" },
  ]);
  expect(openHead(macKey, forged.head)).toBeNull();
});

test("numbers that were left out are no fault if the next record follows the hash that stands for them", () => {
  const [first] = logOf(["a"]);
  const after = { firstEvent: 51, previousHash: "ab".repeat(32) };
  const { lists } = listsOf({ events: ["b"] }, after);
  const next = encodeFrame(macKey, { number: 2, atMs: 1, previousMac: macOf(first!), ...after }, lists);
  const faultsWith = (hash: string) =>
    checkChain([first!, next], { ...chainBeginning, skipped: [{ throughSeq: 50, hash }] }).faults;
  expect(faultsWith("cd".repeat(32))).toEqual([{ frame: 2, what: "records" }]);
  expect(faultsWith(after.previousHash)).toEqual([]);
});

test("a head that cannot be read is named, and nothing behind it is judged", () => {
  const frames = logOf(["a"], ["b"], ["c"]);
  frames[1]!.head[0]! ^= 1;
  expect(checkChain(frames, chainBeginning).faults).toEqual([{ frame: 2, what: "list" }]);
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
          for (const index of head.lists[name].slice(isSharing(name) ? 1 : 0).keys())
            if (choose.next().value === true) removeEntry(frame, name, index);
      }
      expect(checkChain(frames, chainBeginning)).toEqual({ faults: [], prevHash });
    }),
  );
});
