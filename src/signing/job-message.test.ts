import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { buildMessage, type NewMessage, readMessage } from "./job-message.ts";

const message: NewMessage = {
  job_id: "0badcafe",
  seq: 7,
  event: "step",
  status: "running",
  ts: "2030-01-01T00:00:00.000Z",
  data: { z: 1, a: ["é", 0.5] },
};
const key = "0123456789abcdef";

test("text that is not a message is refused", () => {
  for (const text of ["", "{", "[]", "1", "null", '{"job_id":"x"}', '{"job_id":"x","job_id":"y"}']) {
    expect(readMessage(text, null)).toBeNull();
  }
  expect(readMessage(buildMessage({ ...message, seq: "7" as never }, null), null)).toBeNull();
});

test("a message that was changed, or made with another key or none, is not authentic", () => {
  const text = buildMessage(message, key);
  const isAuthentic = (changed: string, by = key) => readMessage(changed, by)?.isAuthentic;
  expect(isAuthentic(text)).toBe(true);
  expect(isAuthentic(text.replace('"seq":7', '"seq":8'))).toBe(false);
  expect(isAuthentic(text.replace('"schema_version"', '"more":1,"schema_version"'))).toBe(false);
  expect(isAuthentic(text, "another key")).toBe(false);
  expect(isAuthentic(buildMessage(message, null))).toBe(false);
  expect(isAuthentic(text.replace(/"auth":"[0-9a-f]+"/, '"auth":"é"'))).toBe(false);
});

test("without a key, any message verifies", () => {
  expect(readMessage(buildMessage(message, null), null)?.isAuthentic).toBe(true);
  expect(readMessage(buildMessage(message, key), null)?.isAuthentic).toBe(true);
});

test("the MAC is that of the canonical form without it, so that any language can check it", () => {
  const text = buildMessage(message, key);
  const without =
    '{"data":{"a":["\\u00e9",0.5],"z":1},"event":"step","job_id":"0badcafe","schema_version":1,"seq":7,"status":"running","ts":"2030-01-01T00:00:00.000Z"}';
  expect(buildMessage(message, null)).toBe(without);
  const auth = createHmac("sha256", key).update(without).digest("hex");
  expect(text).toBe(`{"auth":"${auth}",${without.slice(1)}`);
  expect(readMessage(text, key)?.message).toEqual({ schema_version: 1, ...message, auth });
});
