import { describe, expect, it } from "vitest";
import { timeZone } from "./time-zone.ts";

describe("a time zone", () => {
  it.each(["", "Europe/Nowhere", "+02:00", "Europe/Berlin; DROP", "x".repeat(100)])("is not %s", (name) => {
    expect(() => timeZone(name)).toThrow(/^time_zone: .* use a name such as/);
  });

  it("knows its offset and the changes around an instant", () => {
    const berlin = timeZone("Europe/Berlin");
    const change = Date.parse("2026-03-29T01:00:00Z");
    expect(berlin.offsetAt(change - 1)).toBe(3_600_000);
    expect(berlin.offsetAt(change)).toBe(7_200_000);
    expect(berlin.changeAfter(change - 1)).toBe(change);
    expect(berlin.changeBefore(change)).toBe(change);
    expect(berlin.changeBefore(change - 1)).toBeLessThan(change);
    expect(timeZone("UTC").changeAfter(0)).toBeNull();
  });
});
