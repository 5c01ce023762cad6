import { expect, test } from "vitest";
import { handClock } from "../clock/hand-clock.testing.ts";
import { OutageLog } from "./outage-log.ts";

test("an outage has one line when it begins, one a minute while it lasts, and one when it is over", async () => {
  const clock = handClock();
  const lines: string[] = [];
  const log = new OutageLog(clock, {
    begins: (error) => void lines.push(`lost: ${error}`),
    lasts: (error, howLong) => void lines.push(`still, after ${howLong}: ${error}`),
    ends: (howLong) => void lines.push(`back after ${howLong}`),
  });
  log.over();
  for (let second = 0; second < 150; second++) {
    log.noticed("no answer");
    log.noticed("refused");
    await clock.pass(1_000);
  }
  log.over();
  log.over();
  expect(lines).toEqual([
    "lost: no answer",
    "still, after 60 s: no answer",
    "still, after 2 min: no answer",
    "back after 3 min",
  ]);
});
