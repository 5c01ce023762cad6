import { expect, test } from "vitest";
import { readStartWords } from "./start.ts";

test("each --warmup has a port and a command, and words after -- belong to the command", () => {
  expect(readStartWords([])).toEqual({ fromStart: false, warmUps: [] });
  const words = "--from-start --warmup 8001 node a.js --warmup 8002 -- python3 b.py --from-start -v".split(
    " ",
  );
  expect(readStartWords(words)).toEqual({
    fromStart: true,
    warmUps: [
      { port: 8001, command: ["node", "a.js"] },
      { port: 8002, command: ["python3", "b.py", "--from-start", "-v"] },
    ],
  });
});

test.each([
  ["--loud", "start: does not know --loud"],
  ["--warmup node a.js", "--warmup: must begin with a port from 1 to 65535, not with"],
  ["--warmup 99999 node", "must begin with a port"],
  ["--warmup 80", "--warmup 80: needs the command of the worker"],
])("start %s is refused", (words, message) => {
  expect(() => readStartWords(words.split(" "))).toThrow(message);
});
