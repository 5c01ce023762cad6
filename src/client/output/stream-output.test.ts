import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import type { Clock } from "../../runtime/clock/clock.ts";
import { systemClock } from "../../runtime/clock/clock.ts";
import type { Job } from "../shapes.ts";
import {
  jobIdNumber,
  jobView,
  type RequestHandler,
  sendError,
  sendJson,
  startTinyHub,
} from "../testing/tiny-hub.ts";
import { Writ } from "../writ.ts";

const id = jobIdNumber(1);
/** Pauses between two attempts are not what is tested here. */
const hasty: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(0, signal) };

async function open(answer: RequestHandler) {
  const hub = await startTinyHub(answer);
  const writ = new Writ({ url: hub.url, clock: hasty });
  const dispose = async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  };
  return { hub, writ, dispose };
}

async function readAll(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const read: Buffer[] = [];
  for await (const chunk of chunks) read.push(chunk);
  return Buffer.concat(read);
}

type Cut = { at: number; how: "break" | "end" };

/**
 * Serves `content`, but ends the n-th answer early as the n-th cut says. Only one that is followed can end early in
 * good order, as when the hub stops; any other has announced its length, so that its early end is a break.
 */
function serveWithCuts(content: Buffer, cuts: Cut[], job: Partial<Job>): RequestHandler {
  const left = [...cuts];
  return ({ path, query }, response) => {
    if (!path.includes("/output/")) return sendJson(response, 200, jobView(job));
    const rest = content.subarray(Number(query.get("offset")));
    const cut = left.shift();
    const isFollowed = query.get("follow") !== null;
    const length: Record<string, string> = isFollowed ? {} : { "content-length": String(rest.length) };
    response.writeHead(200, { "x-job-attempt": "2", ...length });
    if (cut === undefined) return void response.end(rest);
    const part = rest.subarray(0, cut.at);
    if (cut.how === "end" && isFollowed) response.end(part);
    else response.write(part, () => response.destroy());
  };
}

test("a job that does not exist is refused at once", async () => {
  const { writ, hub, dispose } = await open((_, response) => sendError(response, 404, "NOT_FOUND"));
  onTestFinished(dispose);

  await expect(readAll(writ.streamOutput(id))).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(hub.seen).toHaveLength(1);
});

test("an aborted signal ends the stream with its reason", async () => {
  const controller = new AbortController();
  const { writ, dispose } = await open((_, response) => {
    response.writeHead(200, { "x-job-attempt": "1" }).write("begin");
  });
  onTestFinished(dispose);

  const reading = async () => {
    for await (const _ of writ.streamOutput(id, { signal: controller.signal }))
      controller.abort(new Error("enough"));
  };
  await expect(reading()).rejects.toThrow("enough");
});

test("every byte comes exactly once, wherever connections break or end early", async () => {
  // Several cuts fit into one output, or hardly any of them would be met.
  const cut = fc.record({ at: fc.nat(200), how: fc.constantFrom("break", "end") });
  const cuts = fc.array(cut, { maxLength: 8, size: "max" });
  const output = fc.uint8Array({ maxLength: 1000, size: "max" });
  await fc.assert(
    fc.asyncProperty(output, cuts, async (bytes, cuts) => {
      const content = Buffer.from(bytes);
      // A first answer has to arrive, or the address counts as wrong.
      const job = { status: "completed", attempt: 2, output: { stdout: content.length, stderr: 0 } } as const;
      const { writ, dispose } = await open(serveWithCuts(content, cuts as Cut[], job));
      try {
        expect((await readAll(writ.streamOutput(id))).equals(content)).toBe(true);
      } finally {
        await dispose();
      }
    }),
    { numRuns: 40 },
  );
});

test("after a break it asks for the rest of the same attempt", async () => {
  const content = Buffer.from("0123456789");
  const job = { status: "completed", attempt: 3, output: { stdout: 10, stderr: 0 } } as const;
  const { writ, hub, dispose } = await open(serveWithCuts(content, [{ at: 4, how: "break" }], job));
  onTestFinished(dispose);

  expect((await readAll(writ.streamOutput(id))).toString()).toBe("0123456789");

  const [first, second] = hub.seen.filter(({ path }) => path.includes("/output/"));
  expect(first?.query.get("attempt")).toBeNull();
  expect(second?.query.get("attempt")).toBe("2");
  expect(second?.query.get("offset")).toBe("4");
});

test("a stream that ends in good order while its attempt runs is taken up again", async () => {
  let asked = 0;
  const { writ, dispose } = await open(({ path }, response) => {
    if (!path.includes("/output/")) {
      const isOver = asked >= 2;
      return sendJson(
        response,
        200,
        jobView({
          status: isOver ? "completed" : "running",
          attempt: 1,
          output: { stdout: isOver ? 6 : 3, stderr: 0 },
        }),
      );
    }
    response.writeHead(200, { "x-job-attempt": "1" }).end(asked++ === 0 ? "one" : "two");
  });
  onTestFinished(dispose);

  expect((await readAll(writ.streamOutput(id))).toString()).toBe("onetwo");
});

test("an aborted signal also ends the look at the job after the end of a stream", async () => {
  const controller = new AbortController();
  const hub = await startTinyHub(({ path }, response) => {
    if (path.includes("/output/")) response.writeHead(200, { "x-job-attempt": "1" }).end();
    // The job is never answered.
    else controller.abort(new Error("enough"));
  });
  // No call is given up because it takes too long.
  const clock = { ...hasty, setTimer: () => ({ cancel: () => {} }) };
  const writ = new Writ({ url: hub.url, clock });
  onTestFinished(async () => {
    writ.close();
    await hub[Symbol.asyncDispose]();
  });
  await expect(readAll(writ.streamOutput(id, { signal: controller.signal }))).rejects.toThrow("enough");
});
