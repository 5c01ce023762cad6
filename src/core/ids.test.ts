import { describe, expect, it } from "vitest";
import { isJobId, orderedUuids, uuidV7 } from "./ids.ts";

const ones = new Uint8Array(16).fill(0xff);
const zeros = new Uint8Array(16);

describe("a job id", () => {
  it("is not any of these", () => {
    const texts = [
      "",
      "018F0000-0000-7000-8000-000000000000",
      "018f0000-0000-1000-8000-000000000000",
      "018f0000-0000-7000-c000-000000000000",
      "018f000000007000800000000000000",
      "../../../../etc/passwd",
      "018f0000-0000-7000-8000-000000000000\n",
    ];
    expect(texts.filter(isJobId)).toEqual([]);
  });

  it("is a UUID of version 4 or 7", () => {
    expect(isJobId("00000000-0000-4000-8000-000000000000")).toBe(true);
    expect(isJobId("00000000-0000-7000-b000-000000000000")).toBe(true);
  });
});

describe("a new id", () => {
  it("is a job id whatever the random bits", () => {
    expect(isJobId(uuidV7(1_700_000_000_000, ones))).toBe(true);
    expect(isJobId(uuidV7(1_700_000_000_000, zeros))).toBe(true);
  });

  it("sorts by time, whatever the random bits", () => {
    const times = [0, 1, 255, 256, 2 ** 32 - 1, 2 ** 32, 1_700_000_000_000, 2 ** 48 - 1];
    const ids = times.map((time, index) => uuidV7(time, index % 2 === 0 ? ones : zeros));
    expect([...ids].sort()).toEqual(ids);
  });

  it("carries its time and leaves the caller's bytes alone", () => {
    const random = new Uint8Array(16);
    expect(uuidV7(0x0123456789ab, random).slice(0, 13)).toBe("01234567-89ab");
    expect(random).toEqual(zeros);
  });
});

describe("ordered ids", () => {
  const randomBytes = () => crypto.getRandomValues(new Uint8Array(16));

  it("sort in the order in which they were made, however many a millisecond has", () => {
    const make = orderedUuids(randomBytes);
    const nowMs = 1_700_000_000_000;
    const ids = Array.from({ length: 20_000 }, (_, index) => make(nowMs + Math.floor(index / 9_000)));
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !isJobId(id))).toEqual([]);
  });

  it("carry the time, also after the clock was set back", () => {
    const make = orderedUuids(randomBytes);
    expect(make(0x0123456789ab).slice(0, 13)).toBe("01234567-89ab");
    expect(make(0x0123456789ab - 500).slice(0, 13)).toBe("01234567-89ab");
    expect(make(0x0123456709ab).slice(0, 13)).toBe("01234567-09ab");
  });

  it("differ between two that make them at the same time", () => {
    const [one, other] = [orderedUuids(randomBytes), orderedUuids(randomBytes)];
    const ids = Array.from({ length: 1_000 }, () => [one(1), other(1)]).flat();
    expect(new Set(ids).size).toBe(ids.length);
  });
});
