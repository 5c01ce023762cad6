import { pino } from "pino";
import { expect, test } from "vitest";
import { exec, output, setStage, start } from "./worker-stage.testing.ts";

const stage = setStage();

test("B15: a worker whose token was revoked says so, claims nothing more, ends its jobs and stops", async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  stage.hub.queue = [exec(1, ["sh", "-c", "echo begun; sleep 600"])];
  const worker = await start(stage, { logger });
  await stage.hub.until(() => output(stage, 1) === "begun\n");

  const error = { code: "UNAUTHENTICATED", message: "a valid token is required", request_id: "" };
  const limited = { code: "RATE_LIMITED", message: "too many failed logins", request_id: "" };
  let refused = 0;
  // Like a hub that limits failed logins.
  stage.hub.intercept = () =>
    ++refused % 3 === 0 ? { status: 429, body: { error: limited } } : { status: 401, body: { error } };
  stage.hub.endCommands();
  await expect(worker.done).rejects.toMatchObject({
    code: "UNAUTHENTICATED",
    message: "the hub does not accept the token of worker w1: it was revoked, has expired or is wrong",
    details: { advice: expect.stringContaining("writ workers add w1") },
  });
  const messages = lines.map(({ msg }) => msg);
  expect(messages).toContain("the hub refuses this worker's token; claiming nothing more");
  expect(messages).toContain("the worker stops: the hub does not accept its token");
  expect(messages.filter((text) => String(text).includes("reached"))).toEqual([]);
  await worker.stop();
});

test("B15: a token that is refused once, while a hub is being replaced, ends no job", async () => {
  const worker = await start(stage);
  await stage.hub.until(() => stage.hub.pathsOf(/commands/).length === 1);
  const error = { code: "UNAUTHENTICATED", message: "a valid token is required", request_id: "" };
  let refusals = 1;
  stage.hub.intercept = ({ path }) =>
    path === "/keys" && refusals-- > 0 ? { status: 401, body: { error } } : undefined;
  stage.hub.endCommands();
  await stage.hub.until(() => stage.hub.pathsOf(/commands/).length === 2);
  expect(stage.hub.pathsOf(/register/)).toHaveLength(2);
  await worker.stop();
  await worker.done;
});
