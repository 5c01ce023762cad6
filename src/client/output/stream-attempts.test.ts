import {
  Code,
  ConnectError,
  createClient,
  createRouterTransport,
  type ServiceImpl,
} from "@connectrpc/connect";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jobStatus } from "../../../test/support/tiny-rpc-hub.ts";
import {
  JobService,
  State,
  Stream,
  type StreamOutputRequest,
} from "../../contract/gen/writ/v1/job_service_pb.js";
import { type Clock, systemClock } from "../../runtime/clock/clock.ts";
import { JobsOverGrpc } from "../grpc/jobs-over-grpc.ts";
import type { AttemptChunk } from "./stream-attempts.ts";

const id = "01890000-0000-7000-8000-000000000001";
/** Pauses between two attempts are not what is tested here. */
const hasty: Clock = { ...systemClock, sleep: (_ms, signal) => systemClock.sleep(0, signal) };
const place = { host: "hub", port: 1, from: "home" as const, ca: "", cert: "", key: "" };

/** A client of a hub in memory. */
function open(service: Partial<ServiceImpl<typeof JobService>>): JobsOverGrpc {
  const transport = createRouterTransport((router) => router.service(JobService, service));
  const client = createClient(JobService, transport);
  const deps = { find: async () => [place], open: async () => ({ client, close: () => {} }) };
  return new JobsOverGrpc({ user: "tester", clock: hasty }, deps);
}

async function readAll(chunks: AsyncIterable<AttemptChunk>): Promise<string> {
  let read = "";
  for await (const { data } of chunks) read += Buffer.from(data).toString("latin1");
  return read;
}

function* cutUp(
  text: string,
  { offset, attempt }: Pick<StreamOutputRequest, "offset" | "attempt">,
  size = 3,
) {
  for (let at = Number(offset); at < text.length; at += size) {
    yield { data: Buffer.from(text.slice(at, at + size), "latin1"), offset: BigInt(at), attempt };
  }
}

test("a job that does not exist is refused at once", async () => {
  let calls = 0;
  const jobs = open({
    getStatus: () => {
      calls++;
      throw new ConnectError("there is no such job", Code.NotFound);
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
      yield { data: Buffer.from("abc"), offset: 0n, attempt: 1 };
      throw new ConnectError("revoked", Code.Unauthenticated);
    },
  });
  await expect(readAll(jobs.stream(id))).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});

test("an aborted signal ends the stream with its reason", async () => {
  const controller = new AbortController();
  const jobs = open({
    getStatus: () => jobStatus(),
    async *streamOutput(_, { signal }) {
      yield { data: Buffer.from("abc"), offset: 0n, attempt: 1 };
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
      if (offset === 0n) yield { data: Buffer.from("abc"), offset: 0n, attempt: 1 };
      else throw new ConnectError("gone", Code.NotFound);
      yield { data: Buffer.from("xyz"), offset: 5n, attempt: 1 };
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
      const over = { state: State.EXITED, exitCode: 0, stdoutBytes: BigInt(text.length) };
      const jobs = open({
        getStatus: () => jobStatus(left.length === 0 ? over : {}),
        async *streamOutput({ offset, attempt }) {
          const next = left.shift();
          const from = BigInt(Math.max(0, Number(offset) - (next?.back ?? 0)));
          let count = 0;
          for (const chunk of cutUp(text, { offset: from, attempt }, next?.size)) {
            if (next !== undefined && count++ >= next.after) break;
            yield chunk;
          }
          if (next?.how === "break") throw new ConnectError("stopping", Code.Unavailable);
        },
      });
      expect(await readAll(jobs.stream(id))).toBe(text);
    }),
    { numRuns: 200 },
  );
});

test("it goes on with the next attempt when asked, and says so", async () => {
  const texts = ["", "first", "second"];
  let current = 1;
  const said: number[] = [];
  const jobs = open({
    getStatus: () =>
      jobStatus(
        current === 1
          ? { state: State.QUEUED, attempt: 1, stdoutBytes: 5n }
          : { state: State.EXITED, attempt: 2, stdoutBytes: 6n },
      ),
    async *streamOutput(request) {
      expect(request.stream).toBe(Stream.STDERR);
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
    getStatus: () => jobStatus({ state: State.EXITED, attempt: 1, stdoutBytes: 5n }),
    // biome-ignore lint/correctness/useYield: it refuses before it could yield anything.
    async *streamOutput() {
      throw new ConnectError("attempt 3 has never started", Code.NotFound);
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
    getStatus: () => jobStatus({ state: State.QUEUED, attempt: 1, stdoutBytes: 5n }),
    async *streamOutput(request) {
      if (request.attempt === 2) throw new ConnectError("attempt 2 has never started", Code.NotFound);
      yield* cutUp("first", request);
    },
  });
  expect(await readAll(jobs.stream(id, { goOn: true }))).toBe("first");
});

test("without being asked it ends with its attempt", async () => {
  const jobs = open({
    getStatus: () => jobStatus({ state: State.QUEUED, attempt: 1, stdoutBytes: 5n }),
    streamOutput: async function* (request) {
      yield* cutUp("first", request);
    },
  });
  expect(await readAll(jobs.stream(id, { attempt: 1 }))).toBe("first");
});

test("without following it gives what is there and waits for nothing", async () => {
  const jobs = open({
    getStatus: () => jobStatus({ stdoutBytes: 4n }),
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
      getStatus: () => jobStatus({ state: State.EXITED, attempt: 2, stdoutBytes: 6n }),
      async *streamOutput(request) {
        const [first, ...rest] = cutUp(texts[request.attempt]!, request, 2);
        if (first !== undefined) yield first;
        if (reads++ > 0) yield* rest;
      },
    });
    expect(await readAll(jobs.stream(id, wish))).toBe(texts[wish.attempt ?? 2]);
  }
});
