import { expect, test } from "vitest";
import { parseUnique } from "./unique-option.ts";

test.each(["", "key=", "key=a,until=never", "key=a,key=b", "key=a,debounce=soon", "key=a,more=1", "key=a,,"])(
  "--unique %j is refused",
  (text) => {
    expect(parseUnique(text)).toBeUndefined();
  },
);

test("a text is a key until the end of its job, and fields say the rest", () => {
  expect(parseUnique("report: a=b, c")).toEqual({ key: "report: a=b, c", until: "end" });
  expect(parseUnique("key=k,until=start,on-duplicate=postpone,debounce=1500ms,max-wait=1m")).toEqual({
    key: "k",
    until: "start",
    on_duplicate: "postpone",
    debounce_sec: 2,
    max_wait_sec: 60,
  });
  expect(parseUnique("key=k,until=window,window=1h")).toEqual({
    key: "k",
    until: "window",
    window_sec: 3600,
  });
});
