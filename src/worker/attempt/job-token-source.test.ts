import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { runnersOf } from "../../runners/create-runners.ts";
import type { JobTokenSource, RunContext, Runner } from "../../runners/runner.ts";
import { type HandClock, handClock } from "../../runtime/clock/hand-clock.testing.ts";
import { openLogger, silentLogger } from "../../runtime/log/logger.ts";
import { generateSigningKey } from "../../signing/ed25519.ts";
import { makeJobToken } from "../../signing/job-token.ts";
import type { HeldJob } from "../claims/held-jobs.ts";
import { HubPresence } from "../hub/hub-presence.ts";
import { endingOf, exec, output, setStage, start } from "../worker-stage.testing.ts";
import { jobTokenSource } from "./job-token-source.ts";

const stage = setStage();
const canary = `eyJ${"CANARY".repeat(10)}.e30.x`;
const withFiles = { document: { output_location: { folder_id: "results" } } };

/** An attempt under a lease of a minute, and a hub that numbers the tokens that it makes. */
function sourceOn(clock: HandClock, { jobToken, issue }: { jobToken?: string; issue?: () => string } = {}) {
  const asked: string[] = [];
  const next = (): string => `fresh ${asked.length + 1}`;
  const held = {
    lease: { issued_at_ts: 1000, expires_at_ts: 1060 },
    claim: { jobToken },
    stop: new AbortController(),
    hurry: new AbortController(),
    gone: new AbortController(),
    phase: "running",
  } as unknown as HeldJob;
  const calls = {
    async issueJobToken() {
      const token = (issue ?? next)();
      asked.push(token);
      return token;
    },
  };
  const presence = new HubPresence(silentLogger, clock);
  const source: JobTokenSource = jobTokenSource({ clock, random: () => 0, presence, calls }, held);
  return { source, asked, held };
}

test("when the lease is lost, the hub issues no token and the job is ended", async () => {
  const issue = (): never => {
    throw new WritError("LEASE_LOST", "another attempt holds it");
  };
  const { source, held } = sourceOn(handClock(), { issue });
  await expect(source.get()).rejects.toMatchObject({ code: "LEASE_LOST" });
  expect(held.stop.signal.reason).toBe("lost");
});

test("a job without an output location has no job token", async () => {
  const contexts: RunContext[] = [];
  stage.hub.queue = [exec(1, ["true"])];
  await start(stage, { createRunners: (deps) => runnersOf(deps, [witness(contexts)]) });
  await endingOf(stage, 1);
  expect(contexts[0]?.jobToken).toBeUndefined();
});

test("the token of the claim is used for a third of the lease, and then the hub issues a fresh one", async () => {
  const clock = handClock();
  const { source, asked } = sourceOn(clock, { jobToken: "claimed" });
  expect(await source.get()).toBe("claimed");
  await clock.pass(19_999);
  expect(await source.get()).toBe("claimed");
  await clock.pass(1);
  expect(await Promise.all([source.get(), source.get()])).toEqual(["fresh 1", "fresh 1"]);
  expect(await source.get()).toBe("fresh 1");
  expect(asked).toHaveLength(1);
});

test("O-14: a token with its own lifetime is used for a third of it", async () => {
  const clock = handClock();
  const payload = {
    jobId: "01890a5d-ac96-774b-bcce-b302099a8057",
    attempt: 1,
    tenantId: "acme",
    workerId: "w1",
    policy: [],
    issuedAtTs: 1000,
    expiresAtTs: 1000 + 900,
  };
  const jobToken = makeJobToken(generateSigningKey().signingKey, payload);
  const { source, asked } = sourceOn(clock, { jobToken });
  await clock.pass(299_999);
  expect(await source.get()).toBe(jobToken);
  await clock.pass(1);
  expect(await source.get()).toBe("fresh 1");
  expect(asked).toHaveLength(1);
});

test("the hub issues a token for a claim that came without one", async () => {
  const { source } = sourceOn(handClock());
  expect(await source.get()).toBe("fresh 1");
});

test("a token that the hub refused is renewed early", async () => {
  const { source } = sourceOn(handClock(), { jobToken: "claimed" });
  expect(await source.renew()).toBe("fresh 1");
  expect(await source.get()).toBe("fresh 1");
});

test("the claim's token reaches the runner, and the hub's route gives the next one", async () => {
  const contexts: RunContext[] = [];
  stage.hub.intercept = ({ path }) =>
    path.endsWith("/token") ? { status: 200, body: { job_token: "made anew", expires_at: 1 } } : undefined;
  stage.hub.queue = [{ ...exec(1, ["true"], withFiles), job_token: "claimed" }];
  await start(stage, { createRunners: (deps) => runnersOf(deps, [witness(contexts)]) });
  await endingOf(stage, 1);
  expect(await contexts[0]?.jobToken?.get()).toBe("claimed");
  expect(await contexts[0]?.jobToken?.renew()).toBe("made anew");
  const call = stage.hub.calls.find(({ path }) => path.endsWith("/token"));
  expect(call?.body).toEqual({ worker_id: "w1", attempt: 1, token: "token-of-job-1-0000" });
});

test("a job's token is in no environment, command line, file or log", async () => {
  const logger = openLogger({ file: join(stage.home, "worker.log"), level: "trace" });
  const look =
    "env; tr '\\0' '\\n' < /proc/$PPID/cmdline; tr '\\0' '\\n' < /proc/self/cmdline; cat /work/* || cat ./*";
  stage.hub.queue = [{ ...exec(1, ["sh", "-c", look], withFiles), job_token: canary }];
  await start(stage, { logger });
  await endingOf(stage, 1);
  await stage.worker!.stop();
  logger.close();
  expect(output(stage, 1)).toContain("JOB_ID=");
  for (const text of [output(stage, 1), output(stage, 1, "stderr"), ...filesBelow(stage.home)]) {
    expect(text).not.toContain("CANARY");
  }
});

function filesBelow(dir: string): string[] {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"));
}

/** Runs nothing, and keeps the contexts that it receives. */
function witness(contexts: RunContext[]): Runner {
  return {
    kind: "exec",
    isInProcess: () => false,
    async run(context) {
      contexts.push(context);
      return { kind: "succeeded", resultJson: "null" };
    },
  };
}
