import fc from "fast-check";
import { expect, test } from "vitest";
import { removeEntry } from "./entries.ts";
import { firstMac, payloadNames } from "./frame.ts";
import { logBytes, replayLog } from "./frame-log.ts";
import { anyLog, encodeLog, macKey } from "./frames.testing.ts";

const start = { number: 1, previousMac: firstMac, syncedBytes: 0 };
const three = () =>
  encodeLog(
    [1, 2, 3].map((number) => ({
      jobs: [`job ${number}`],
      changes: [],
      documents: [`document ${number}`, `another ${number}`],
      receipts: [],
      events: [`event ${number}`],
    })),
  );
const numbersOf = (replay: ReturnType<typeof replayLog>) => replay.frames.map(({ head }) => head.number);

test("a last frame that is cut anywhere, or unwritten from anywhere on, is torn and cut off", () => {
  fc.assert(
    fc.property(anyLog, fc.nat(), fc.boolean(), (log, place, isFilled) => {
      const parts = encodeLog(log).map(logBytes);
      const whole = Buffer.concat(parts);
      const lastAt = whole.length - parts.at(-1)!.length;
      const cut = lastAt + (place % parts.at(-1)!.length);
      const torn = isFilled ? Buffer.from(whole).fill(0, cut) : whole.subarray(0, cut);
      // A frame that ends in zeros is whole although they were not written.
      fc.pre(!torn.equals(whole));
      const replay = replayLog(macKey, torn, start);
      expect({ ...replay, frames: numbersOf(replay) }).toEqual({
        frames: parts.slice(0, -1).map((_, index) => index + 1),
        faults: [],
        endBytes: lastAt,
      });
    }),
  );
});

test("a last frame whose payloads never reached the disk is torn, and not one that retention has emptied", () => {
  const parts = three().map(logBytes);
  const log = Buffer.concat(parts);
  const lastAt = log.length - parts[2]!.length;
  const replay = replayLog(macKey, log.fill(0, log.indexOf("document 3")), start);
  expect([numbersOf(replay), replay.faults, replay.endBytes]).toEqual([[1, 2], [], lastAt]);
});

test("what was synced is never cut off: a damaged last frame is reported", () => {
  const parts = three().map(logBytes);
  const log = Buffer.concat(parts);
  const synced = { ...start, syncedBytes: log.length };
  const listAt = log.length - parts[2]!.length + 80;
  const replay = replayLog(macKey, flipped(log, listAt), synced);
  expect(numbersOf(replay)).toEqual([1, 2]);
  expect(replay).toMatchObject({ faults: [{ frame: 3, what: "list" }], endBytes: log.length });
  const line = replayLog(macKey, flipped(log, log.indexOf("document 3")), synced);
  expect(numbersOf(line)).toEqual([1, 2, 3]);
  expect(line.faults).toEqual([{ frame: 3, what: "entry", payload: "documents", index: 0 }]);
});

test("a damaged head in the middle names its frame, and all others are read", () => {
  const log = Buffer.concat(three().map(logBytes));
  const at = logBytes(three()[0]!).length;
  for (const place of [at, at + 9, at + 60, at + 90]) {
    const replay = replayLog(macKey, flipped(log, place), start);
    expect(numbersOf(replay)).toEqual([1, 3]);
    expect(replay).toMatchObject({ faults: [{ frame: 2, what: "list" }], endBytes: log.length });
  }
});

test("a damaged entry in the middle names itself, although nothing is known to be synced", () => {
  const log = Buffer.concat(three().map(logBytes));
  const replay = replayLog(macKey, flipped(log, log.indexOf("another 2")), start);
  expect(numbersOf(replay)).toEqual([1, 2, 3]);
  expect(replay.faults).toEqual([{ frame: 2, what: "entry", payload: "documents", index: 1 }]);
});

test("frames that were left out, swapped or repeated are noticed", () => {
  const [first, second, third] = three().map(logBytes) as [Buffer, Buffer, Buffer];
  const faultsOf = (...parts: Buffer[]) => replayLog(macKey, Buffer.concat(parts), start).faults;
  expect(faultsOf(first, third)).toEqual([{ frame: 3, what: "order" }]);
  expect(faultsOf(second, third)).toEqual([{ frame: 2, what: "order" }]);
  expect(faultsOf(first, second, second, third)).not.toEqual([]);
  expect(faultsOf(second, first, third)).not.toEqual([]);
});

test("a whole log is read as it was written, and continues at its end", () => {
  fc.assert(
    fc.property(anyLog, fc.nat(100), (log, zeros) => {
      const frames = encodeLog(log);
      const bytes = Buffer.concat(frames.map(logBytes));
      const replay = replayLog(macKey, Buffer.concat([bytes, Buffer.alloc(zeros)]), start);
      expect(replay.frames.map(({ frame }) => frame)).toEqual(frames);
      expect([replay.faults, replay.endBytes]).toEqual([[], bytes.length]);
    }),
  );
});

test("removed entries are no damage where the log is synced", () => {
  const log = Buffer.concat(three().map(logBytes));
  const synced = { ...start, syncedBytes: log.length };
  for (const { head, frame } of replayLog(macKey, log, synced).frames)
    for (const name of payloadNames)
      for (const index of head.lists[name].keys()) removeEntry(frame, name, index);
  const replay = replayLog(macKey, log, synced);
  expect([numbersOf(replay), replay.faults]).toEqual([[1, 2, 3], []]);
  expect(log.includes("document")).toBe(false);
});

function flipped(log: Buffer, at: number): Buffer {
  const copy = Buffer.from(log);
  copy[at]! ^= 1;
  return copy;
}
