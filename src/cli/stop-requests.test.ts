import { expect, test } from "vitest";
import { StopRequests, whenAborted } from "./stop-requests.ts";

test("an ignored signal requests nothing", () => {
  const stops = new StopRequests();
  stops.ignore(["SIGINT"]);
  stops.request("SIGINT");
  expect(stops.requested.aborted).toBe(false);
});

test("the first signal requests an orderly stop, the second an immediate one, and the last gives the exit code", async () => {
  const stops = new StopRequests();
  stops.request("SIGINT");
  await whenAborted(stops.requested);
  expect(stops.forced.aborted).toBe(false);

  stops.request("SIGTERM");
  await whenAborted(stops.forced);
  expect(stops.exitCode).toBe(143);
});
