import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { testJob, testJobId } from "./fake-hub.testing.ts";
import { defineJob, type HandlerContext, type HandlerFunction, type HandlerJob, Worker } from "./index.ts";
import { typedHandler } from "./typed-handler.ts";
import { endingOf, setStage, start } from "./worker-stage.testing.ts";

const stage = setStage();

const repeat = defineJob(
  "repeat",
  z.object({ word: z.string(), times: z.int().default(2) }),
  z.object({ text: z.string().min(1) }),
);
const repeatWord = typedHandler(repeat, ({ params: { word, times } }) => ({ text: word.repeat(times) }));

const handlerJob = (number: number, type: string, params: unknown) =>
  testJob(number, { kind: "handler", params } as never, { document: { type } });

test("C9: params that do not fit the schema fail the job for good", async () => {
  stage.hub.queue = [handlerJob(1, "repeat", { word: 7 })];
  await start(stage, { handlers: { repeat: repeatWord } });
  expect(await endingOf(stage, 1)).toMatchObject({
    code: "INVALID_JOB",
    reason: expect.stringMatching(/^params\.word: /),
  });
});

test("C9: a result that does not fit the schema fails the attempt", async () => {
  stage.hub.queue = [handlerJob(1, "repeat", { word: "" })];
  await start(stage, { handlers: { repeat: repeatWord } });
  expect(await endingOf(stage, 1)).toMatchObject({
    code: "EXECUTION_ERROR",
    reason: expect.stringMatching(/^result\.text: /),
  });
});

test("C9: a handler receives the output of the schema", async () => {
  stage.hub.queue = [handlerJob(1, "repeat", { word: "ha" })];
  await start(stage, { handlers: { repeat: repeatWord } });
  expect(await endingOf(stage, 1)).toMatchObject({ result: { text: "haha" } });
});

test.each([
  [{ mean: Number.NaN }, "result.mean: NaN cannot be written as JSON"],
  [[1, Number.NEGATIVE_INFINITY], "result[1]: -Infinity cannot be written as JSON"],
  [[undefined], "result[0]: undefined cannot be written as JSON"],
])("C9: %o as a result fails the attempt and is not recorded as null", async (value, reason) => {
  stage.hub.queue = [handlerJob(1, "odd", null)];
  await start(stage, { handlers: { odd: () => value } });
  expect(await endingOf(stage, 1)).toMatchObject({ code: "EXECUTION_ERROR", reason });
});

test("C9: a handler that returns nothing has the result null", async () => {
  stage.hub.queue = [handlerJob(1, "quiet", null)];
  await start(stage, { handlers: { quiet: () => undefined } });
  expect(await endingOf(stage, 1)).toMatchObject({ result: null });
});

test("C9: a job that reports progress at once is announced before", async () => {
  const { promise: reported, resolve } = Promise.withResolvers<void>();
  stage.hub.intercept = ({ path }) => {
    if (path.endsWith("/progress")) resolve();
    return undefined;
  };
  stage.hub.queue = [handlerJob(1, "long", null)];
  const long = async (_: HandlerJob, { progress }: HandlerContext) => {
    progress(50, "half");
    await reported;
  };
  await start(stage, { handlers: { long } });
  await endingOf(stage, 1);
  const paths = stage.hub.pathsOf(new RegExp(`${testJobId(1)}/(start|progress)$`));
  expect(paths.map((path) => path.split("/").at(-1))).toEqual(["start", "progress"]);
});

test("C9: types flow from the definition to the handler", () => {
  type Handler = Parameters<
    typeof typedHandler<{ word: string }, { text: string }, { word: string }, { text: string }>
  >[1];
  expectTypeOf<Parameters<Handler>[0]["params"]>().toEqualTypeOf<{ word: string }>();
  const worker = new Worker({ url: "http://127.0.0.1:1", token: "sk_worker_x" });
  worker.handle(repeat, ({ params }) => {
    expectTypeOf(params).toEqualTypeOf<{ word: string; times: number }>();
    return { text: params.word };
  });
  // @ts-expect-error the text is missing
  worker.handle(defineJob<string, { text: string }>("other"), () => ({}));
  expectTypeOf<Parameters<HandlerFunction>[0]["params"]>().toEqualTypeOf<unknown>();
});

test("C9: a worker without the hub's address is refused with the name of the missing option", async () => {
  const worker = new Worker({ token: "sk_worker_x" } as never);
  await expect(worker.handle("any", () => null).start()).rejects.toMatchObject({
    code: "CONFIG_INVALID",
    message: expect.stringMatching(/^url: is missing/),
  });
});
