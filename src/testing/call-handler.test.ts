import { expect, test } from "vitest";
import { z } from "zod";
import { defineJob } from "../contract/define-job.ts";
import { callHandler } from "./call-handler.ts";

const resize = defineJob("image.resize", z.object({ width: z.int() }), z.object({ file: z.string() }));

test("options and params that a hub would refuse are refused", async () => {
  await expect(callHandler("a", () => null, {}, { attempts: 2 } as never)).rejects.toThrow(
    "attempts: is not an option",
  );
  await expect(callHandler("a b", () => null)).rejects.toThrow("1 to 100 letters, digits, . _ or -");
  await expect(callHandler("a", () => null, { at: Number.NaN })).rejects.toThrow(
    "NaN cannot be written as JSON",
  );
});

test("the schemas of a definition are applied to params and result", async () => {
  await expect(callHandler(resize, () => ({ file: "a.png" }), { width: 1.5 })).rejects.toThrow(
    "params.width",
  );
  await expect(callHandler(resize, () => ({ file: 7 }) as never, { width: 1 })).rejects.toThrow(
    "result.file",
  );
  expect(
    (await callHandler(resize, ({ params }) => ({ file: `${params.width}.png` }), { width: 2 })).result,
  ).toEqual({
    file: "2.png",
  });
});

test("what a handler throws is thrown as it is", async () => {
  const error = new TypeError("no such file");
  await expect(callHandler("a", () => Promise.reject(error))).rejects.toBe(error);
});

test("a handler is given the job that a hub would make, and what it reports is kept", async () => {
  const abort = new AbortController();
  const call = await callHandler(
    "report",
    (job, { signal, log, progress }) => {
      log("one");
      progress(50, "half");
      abort.abort("cancelled");
      return { ...job, document: job.document.run, isAborted: signal.aborted };
    },
    { rate: 0.5, names: ["é"] },
    { attempt: 3, metadata: { batch: 7 }, signal: abort.signal },
  );
  expect(call).toEqual({
    result: {
      id: "01890a5d-ac96-774b-bcce-b302099a8057",
      type: "report",
      params: { rate: 0.5, names: ["é"] },
      attempt: 3,
      tenant_id: "default",
      user_id: "test",
      metadata: { batch: 7 },
      document: { kind: "handler", params: { rate: 0.5, names: ["é"] } },
      isAborted: true,
    },
    logs: ["one"],
    progress: [{ percent: 50, detail: "half" }],
  });
});
