import { describe, expect, it } from "vitest";
import { documentFormat, formatOf } from "./document-format.ts";

const formats = { on_holiday: 2, "run.hat": 3, "limits.gpu": 4 };

describe("the format of a document", () => {
  it("is 1 when version 0.1 could have read it", () => {
    expect(formatOf({ type: "a", run: { kind: "exec", argv: ["true"] } }, formats)).toBe(1);
    expect(formatOf({}, {})).toBe(1);
  });

  it("is that of its newest field, wherever the field stands", () => {
    expect(formatOf({ on_holiday: false }, formats)).toBe(2);
    expect(formatOf({ run: { hat: "red" }, on_holiday: true }, formats)).toBe(3);
    expect(formatOf({ limits: { gpu: 1 } }, formats)).toBe(4);
  });

  it("does not take a field of the same name elsewhere for it", () => {
    expect(formatOf({ hat: "red", params: { run: { hat: "red" } }, run: null, limits: "gpu" }, formats)).toBe(
      1,
    );
  });

  it("is at most the one that this version reads", () => {
    expect(formatOf({ run: { container: "image-worker" } })).toBe(2);
    expect(formatOf({ run: { stdin: "aGk=" } })).toBe(3);
    expect(formatOf({ run: { inputs: [], stdin: "aGk=" } })).toBe(4);
    expect(formatOf({ run: { mode: "in-place" } })).toBe(5);
    expect(formatOf({ traceparent: "00-1-1-01" })).toBe(6);
    expect(formatOf({ egress: { allow: [] } })).toBe(7);
    expect(formatOf({ run: { budget: {} } })).toBe(8);
    expect(formatOf({ run: { apply: "a" } })).toBe(documentFormat);
  });
});
