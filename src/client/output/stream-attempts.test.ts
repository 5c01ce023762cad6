import fc from "fast-check";
import { expect, test } from "vitest";
import { jobStatus, type RpcService } from "../../../test/support/tiny-rpc-hub.ts";
import { jobService, type streamOutputRequest } from "../../contract/gen/writ/v1/job_service.ts";
import { WritError } from "../../core/errors.ts";
import { type Clock, systemClock } from "../../runtime/clock/clock.ts";
import { decodeMessage } from "../../runtime/grpc/decode-message.ts";
import { encodeMessage } from "../../runtime/grpc/encode-message.ts";
import type { MessageOf } from "../../runtime/grpc/wire-message.ts";
import { JobsOverGrpc } from "../grpc/jobs-over-grpc.ts";
import type { OpenClient } from "../grpc/rpc-caller.ts";
import type { AttemptChunk } from "./stream-attempts.ts";

const id = "01890000-0000-7000-8000-000000000001";
/** Pauses between two attempts are not what is tested here. */
const hasty: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(0, signal) };
const place = { host: "hub", port: 1, from: "home" as const, ca: "", cert: "", key: "" };

/** A client of a hub in memory. */
function open(service: RpcService): JobsOverGrpc {
  const exchange: OpenClient["exchange"] = async function* (name, request, { signal }) {
    const { input, output } = jobService[name];
    const act = service[name] as (request: object, call: object) => object;
    const asked = decodeMessage(input, encodeMessage(input, request));
    const answered = act(asked, { signal });
    const answers = Symbol.asyncIterator in answered ? (answered as AsyncIterable<object>) : [await answered];
    for await (const answer of answers) {
      yield decodeMessage(output, encodeMessage(output, answer)) as never;
      signal?.throwIfAborted();
    }
  };
  const deps = { find: async () => [place], open: async () => ({ exchange, close: () => {} }) };
  return new JobsOverGrpc({ user: "tester", clock: hasty }, deps);
}

async function readAll(chunks: AsyncIterable<AttemptChunk>): Promise<string> {
  let read = "";
  for await (const { data } of chunks) read += Buffer.from(data).toString("latin1");
  return read;
}

function* cutUp(
  text: string,
  { offset, attempt }: Pick<MessageOf<typeof streamOutputRequest>, "offset" | "attempt">,
  size = 3,
) {
  for (let at = Number(offset); at < text.length; at += size) {
    yield { data: Buffer.from(text.slice(at, at + size), "latin1"), offset: at, attempt };
  }
}

test("a job that does not exist is refused at once", async () => {
  let calls = 0;
  const jobs = open({
    getStatus: () => {
      calls++;
      throw new WritError("NOT_FOUND", "there is no such job");
    },
  });
  await expect(readAll(jobs.stream(id))).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: "there is no such job",
  });
  expect(calls).toBe(1);
});

test("a refusal in the middle is not tried again", async () => {
  const jobs = open({
    getStatus: () => jobStatus(),
    async *streamOutput() {
      yield { data: Buffer.from("abc"), offset: 0, attempt: 1 };
      throw new WritError("UNAUTHENTICATED", "revoked");
    },
  });
  await expect(readAll(jobs.stream(id))).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

test("an aborted signal ends the stream with its reason", async () => {
  const controller = new AbortController();
  const jobs = open({
    getStatus: () => jobStatus(),
    async *streamOutput(_, { signal }) {
      yield { data: Buffer.from("abc"), offset: 0, attempt: 1 };
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  const reading = async () => {
    for await (const _ of jobs.stream(id, { signal: controller.signal }))
      controller.abort(new Error("enough"));
  };
  await expect(reading()).rejects.toThrow("enough");
});

test("bytes that the hub has left out are not passed over", async () => {
  const jobs = open({
    getStatus: () => jobStatus(),
    async *streamOutput({ offset }) {
      if (offset === 0) yield { data: Buffer.from("abc"), offset: 0, attempt: 1 };
      else throw new WritError("NOT_FOUND", "gone");
      yield { data: Buffer.from("xyz"), offset: 5, attempt: 1 };
    },
  });
  await expect(readAll(jobs.stream(id))).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("every byte comes exactly once, wherever streams break, end early or repeat themselves", async () => {
  const cut = fc.record({
    after: fc.nat(6),
    how: fc.constantFrom("break", "end"),
    back: fc.nat(4),
    size: fc.integer({ min: 1, max: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.string({ maxLength: 60 }), fc.array(cut, { maxLength: 6 }), async (given, cuts) => {
      const text = Buffer.from(given).toString("latin1");
      const left = [...cuts];
      const over = { state: "EXITED" as const, exit_code: 0, stdout_bytes: text.length };
      const jobs = open({
        getStatus: () => jobStatus(left.length === 0 ? over : {}),
        async *streamOutput({ offset, attempt }) {
          const next = left.shift();
          const from = Math.max(0, offset - (next?.back ?? 0));
          let count = 0;
          for (const chunk of cutUp(text, { offset: from, attempt }, next?.size)) {
            if (next !== undefined && count++ >= next.after) break;
            yield chunk;
          }
          if (next?.how === "break") throw new WritError("SHUTTING_DOWN", "stopping");
        },
      });
      expect(await readAll(jobs.stream(id))).toBe(text);
    }),
    { numRuns: 200 },
  );
});

test("with goOn it continues with the next attempt and calls onNext", async () => {
  const texts = ["", "first", "second"];
  let current = 1;
  const said: number[] = [];
  const jobs = open({
    getStatus: () =>
      jobStatus(
        current === 1
          ? { state: "QUEUED", attempt: 1, stdout_bytes: 5 }
          : { state: "EXITED", attempt: 2, stdout_bytes: 6 },
      ),
    async *streamOutput(request) {
      expect(request.stream).toBe("STDERR");
      current = request.attempt;
      yield* cutUp(texts[request.attempt]!, request);
    },
  });
  const onNext = ({ attempt }: { attempt: number }) => void said.push(attempt);
  expect(await readAll(jobs.stream(id, { stream: "stderr", goOn: true, onNext }))).toBe("firstsecond");
  expect(said).toEqual([2]);
});

test("B9: an attempt that never was is not found, whether it is followed or not", async () => {
  const jobs = open({
    getStatus: () => jobStatus({ state: "EXITED", attempt: 1, stdout_bytes: 5 }),
    // biome-ignore lint/correctness/useYield: it refuses before it could yield anything.
    async *streamOutput() {
      throw new WritError("NOT_FOUND", "attempt 3 has never started");
    },
  });
  for (const follow of [true, false]) {
    await expect(readAll(jobs.stream(id, { attempt: 3, follow }))).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  }
});

test("B9: a job that ends while its next attempt is awaited ends the stream", async () => {
  const jobs = open({
    getStatus: () => jobStatus({ state: "QUEUED", attempt: 1, stdout_bytes: 5 }),
    async *streamOutput(request) {
      if (request.attempt === 2) throw new WritError("NOT_FOUND", "attempt 2 has never started");
      yield* cutUp("first", request);
    },
  });
  expect(await readAll(jobs.stream(id, { goOn: true }))).toBe("first");
});

test("without being asked it ends with its attempt", async () => {
  const jobs = open({
    getStatus: () => jobStatus({ state: "QUEUED", attempt: 1, stdout_bytes: 5 }),
    streamOutput: async function* (request) {
      yield* cutUp("first", request);
    },
  });
  expect(await readAll(jobs.stream(id, { attempt: 1 }))).toBe("first");
});

test("without following it gives what is there and waits for nothing", async () => {
  const jobs = open({
    getStatus: () => jobStatus({ stdout_bytes: 4 }),
    async *streamOutput(request, { signal }) {
      yield* cutUp("0123456", request);
      await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
  });
  expect(await readAll(jobs.stream(id, { follow: false }))).toBe("0123");
});

test("a hub that stops cuts nothing short, neither without following nor of an earlier attempt", async () => {
  const texts = ["", "first", "second"];
  for (const wish of [{ attempt: 1 }, { attempt: 1, follow: false }, { follow: false }]) {
    let reads = 0;
    const jobs = open({
      getStatus: () => jobStatus({ state: "EXITED", attempt: 2, stdout_bytes: 6 }),
      async *streamOutput(request) {
        const [first, ...rest] = cutUp(texts[request.attempt]!, request, 2);
        if (first !== undefined) yield first;
        if (reads++ > 0) yield* rest;
      },
    });
    expect(await readAll(jobs.stream(id, wish))).toBe(texts[wish.attempt ?? 2]);
  }
});
