import { expect, test } from "vitest";
import { StopRequests, whenAborted } from "./stop-requests.ts";

test("an ignored signal asks for nothing", () => {
  const stops = new StopRequests();
  stops.ignore(["SIGINT"]);
  stops.request("SIGINT");
  expect(stops.requested.aborted).toBe(false);
});

test("the first signal asks, the second urges, and the last gives the exit code", async () => {
  const stops = new StopRequests();
  stops.request("SIGINT");
  await whenAborted(stops.requested);
  expect(stops.forced.aborted).toBe(false);

  stops.request("SIGTERM");
  await whenAborted(stops.forced);
  expect(stops.exitCode).toBe(143);
});
