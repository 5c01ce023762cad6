import { expect, onTestFinished, test } from "vitest";
import { WritError } from "./index.ts";
import { jobIdNumber, jobView, sendError, sendJson, startTinyHub } from "./testing/tiny-hub.ts";
import { Writ } from "./writ.ts";

async function open(status: number, code: string) {
  const hub = await startTinyHub((_, response) => sendError(response, status, code));
  const writ = new Writ({ url: hub.url });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  return writ;
}

type Call = (writ: Writ) => Promise<unknown>;

const calls: [string, Call][] = [
  [
    "get",
    async function fromMyProgram(writ) {
      return await writ.get(jobIdNumber(1));
    },
  ],
  [
    "submit",
    async function fromMyProgram(writ) {
      return await writ.submit({ type: "a" });
    },
  ],
  [
    "submitBatch",
    async function fromMyProgram(writ) {
      return await writ.submitBatch([{ type: "a" }]);
    },
  ],
  [
    "submits together",
    async function fromMyProgram(writ) {
      return await Promise.all([writ.submit({ type: "a" }), writ.submit({ type: "b" })]);
    },
  ],
  [
    "wait",
    async function fromMyProgram(writ) {
      return await writ.wait(jobIdNumber(1));
    },
  ],
];

test.each(calls)("O-24: an error of %s has the stack of its caller", async (_name, call) => {
  const writ = await open(403, "PERMISSION_DENIED");
  const error = await call(writ).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WritError);
  expect((error as WritError).stack).toMatch(
    /^WritError: refused with PERMISSION_DENIED\n(.*\n)*.*fromMyProgram/,
  );
});

test("O-24: a closed client is not an unreachable hub, also for what was under way", async () => {
  const hub = await startTinyHub(({ path }, response) => {
    if (path !== "/health") sendJson(response, 200, jobView({ status: "running" }));
  });
  onTestFinished(() => hub[Symbol.asyncDispose]());
  const writ = new Writ({ url: hub.url });
  await writ.get(jobIdNumber(1));
  const open = writ.wait(jobIdNumber(1)).catch((thrown: unknown) => thrown);
  await expect.poll(() => hub.seen.length).toBeGreaterThan(2);
  writ.close();
  await expect(writ.get(jobIdNumber(1))).rejects.toMatchObject({ code: "CLIENT_CLOSED" });
  expect(await open).toMatchObject({ code: "CLIENT_CLOSED" });
});
