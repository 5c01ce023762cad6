import { expect, test } from "vitest";
import { parseRetry } from "./retry-option.ts";

test.each([
  "",
  "many",
  "max=",
  "max=1.5",
  "delay=soon",
  "backoff=random",
  "jitter=2",
  "5,max=5",
  "max=1,max=2",
  "colour=red",
])("%j is no policy", (text) => expect(parseRetry(text)).toBeUndefined());

test("a number is that of retries, and fields are those of the policy", () => {
  expect(parseRetry("5")).toEqual({ max: 5 });
  expect(
    parseRetry("max=9,delay=90s,backoff=exponential,max-delay=10m,jitter=0.5,not-on=2+CARD_DECLINED"),
  ).toEqual({
    max: 9,
    delay_sec: 90,
    backoff: "exponential",
    max_delay_sec: 600,
    jitter: 0.5,
    not_on: [2, "CARD_DECLINED"],
  });
  expect(parseRetry("on=75")).toEqual({ on: [75] });
});
