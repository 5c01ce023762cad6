import { describe, expect, test } from "vitest";
import { hasCode, isRetryable, isRetryableCode, WritError } from "./errors.ts";

describe("an error that may be tried again", () => {
  test("is not one that the table calls final, one with an unknown code, or a proxy's final status", () => {
    expect(isRetryable(new WritError("NOT_FOUND", "gone"))).toBe(false);
    expect(isRetryable(new Error("odd"))).toBe(false);
    expect(isRetryable(new WritError("HTTP_ERROR", "no", { status: 404 }))).toBe(false);
    expect(isRetryable(new WritError("HTTP_ERROR", "not understood"))).toBe(false);
    expect(isRetryableCode("NO_SUCH_CODE")).toBe(false);
  });

  test("is one that the table calls retryable, or a proxy's status for a hub that is away", () => {
    expect(isRetryable(new WritError("SHUTTING_DOWN", "later"))).toBe(true);
    for (const status of [408, 429, 500, 502, 503, 504]) {
      expect(isRetryable(new WritError("HTTP_ERROR", "proxy", { status }))).toBe(true);
    }
    expect(isRetryableCode("STORE_UNAVAILABLE")).toBe(true);
  });
});

test("a code is that of our errors and of the operating system's", () => {
  expect(hasCode(new WritError("LEASE_LOST", "over"), "NOT_FOUND", "LEASE_LOST")).toBe(true);
  expect(hasCode(Object.assign(new Error("no"), { code: "ENOENT" }), "ENOENT")).toBe(true);
  expect(hasCode(new Error("no"), "ENOENT")).toBe(false);
  expect(hasCode(undefined, "ENOENT")).toBe(false);
});
