import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { StopRequests } from "../../stop-requests.ts";
import { collectStdin } from "./collect-input.ts";

test("a wait for standard input ends with Ctrl-C, and not only with its end", async () => {
  const context = { stdin: new PassThrough(), stops: new StopRequests() };
  context.stdin.write("some");
  const collected = collectStdin(context, 100);
  context.stops.request("SIGINT");
  await expect(collected).rejects.toBe(context.stops.requested.reason);
});

test("standard input is collected to its end, or to its limit", async () => {
  for (const [bytesMax, expected] of [
    [4, "some"],
    [3, null],
  ] as const) {
    const context = { stdin: new PassThrough(), stops: new StopRequests() };
    context.stdin.end("some");
    expect((await collectStdin(context, bytesMax))?.toString() ?? null).toBe(expected);
  }
});
