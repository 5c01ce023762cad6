import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type JobInput, Writ } from "../../src/client/index.ts";
import { openLogger } from "../../src/runtime/log/logger.ts";
import { type Cable, startCable } from "../support/cable.ts";
import { eventually } from "../support/eventually.ts";
import { freshName, jobReader, runningJob, submitJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { startStranger } from "../support/stranger.ts";
import { hubForAll } from "../support/use-hub.ts";
import { startTestWorker } from "../support/worker.ts";

/** One hub behind three addresses, each of which dies and comes back. */
const hub = hubForAll();
const view = jobReader(hub);
let cables: Cable[];

beforeAll(async () => {
  cables = await Promise.all([1, 2, 3].map(() => startCable(hub.port)));
});
afterEach(() => {
  for (const cable of cables) cable.mend();
});
afterAll(() => Promise.all(cables.map((cable) => cable.stop())));

/** A client of all three; a call waits until one of them works. */
function connect(urls = cables.map(({ url }) => url)): Writ {
  const writ = new Writ({ url: urls, token: hub.admin, retryMs: 600_000, random: () => 0 });
  onTestFinished(() => writ.close());
  return writ;
}

async function currentCable(writ: Writ): Promise<Cable> {
  const url = await writ.currentHub();
  return cables.find((cable) => cable.url === url)!;
}

function work(type: string): JobInput {
  return { type, run: { kind: "exec", argv: ["true"] } };
}

async function idsOf(type: string): Promise<string[]> {
  const writ = new Writ({ url: hub.url, token: hub.admin });
  try {
    return (await Array.fromAsync(writ.list({ type }))).map(({ id }) => id);
  } finally {
    writ.close();
  }
}

describe("the SDK", () => {
  test("reports to a wait that is long under way that its hub is away", async () => {
    const [cable] = cables as [Cable];
    const writ = new Writ({ url: cable.url, token: hub.admin });
    onTestFinished(() => writ.close());
    const held = await runningJob(hub);
    const seen = { events: 0, troubles: 0 };
    const over = new AbortController();
    const waiting = writ.wait(held.id, {
      signal: over.signal,
      onEvent: () => seen.events++,
      onTrouble: () => seen.troubles++,
    });
    await eventually("its stream is open", async () => {
      const body = { ...held.fence, progress: 50 };
      await hub.must("POST", `/jobs/${held.id}/progress`, { token: hub.admin, body });
      // By then it has read its job, and waits for nothing but events.
      return seen.events > 50;
    });
    expect(seen.troubles).toBe(0);
    cable.cut();
    await eventually("it says so", () => seen.troubles > 0);
    over.abort();
    await expect(waiting).rejects.toThrow();
  });

  test("submits each of 1,000 jobs exactly once while the addresses die one after the other, and once all together", async () => {
    const writ = connect();
    const type = freshName("once");
    const accepted: string[] = [];
    const submitted = Array.from({ length: 50 }, async () => {
      for (let count = 0; count < 20; count++) accepted.push((await writ.submit(work(type))).id);
    });
    const isFinished = Promise.all(submitted).then(() => true);
    for (let round = 0; accepted.length < 1_000; round++) {
      const before = accepted.length;
      if (round === 3) {
        for (const cable of cables) cable.cut();
        for (const cable of cables) cable.mend();
      } else (await currentCable(writ)).cut();
      await eventually(
        "jobs are accepted elsewhere",
        () => accepted.length > before || accepted.length === 1_000,
      );
      for (const cable of cables) cable.mend();
    }
    expect(await isFinished).toBe(true);
    expect(new Set(accepted).size).toBe(1_000);
    expect((await idsOf(type)).toSorted()).toEqual(accepted.toSorted());
  });

  test("a client submits a job again whose answer was lost, and it is the same job", async () => {
    let lost = 0;
    const dropper = createServer(async (request, response) => {
      const body = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString());
      const { status } = await hub.call("POST", "/jobs", { token: hub.admin, body });
      expect(status).toBe(201);
      lost++;
      response.destroy();
    }).listen(0, "127.0.0.1");
    await once(dropper, "listening");
    onTestFinished(() => void dropper.close().closeAllConnections());
    const url = `http://127.0.0.1:${(dropper.address() as AddressInfo).port}`;
    const type = freshName("lost");
    const { id } = await connect([url, cables[0]!.url]).submit(work(type));
    expect(lost).toBe(1);
    expect(await idsOf(type)).toEqual([id]);
  });

  test("a client does not repeat an act that must not be done twice, and reports that", async () => {
    const cutting = createServer((request) => request.socket.destroy()).listen(0, "127.0.0.1");
    await once(cutting, "listening");
    onTestFinished(() => void cutting.close());
    const url = `http://127.0.0.1:${(cutting.address() as AddressInfo).port}`;
    const writ = connect([url, cables[0]!.url]);
    const count = async (): Promise<number> =>
      (await hub.must("GET", "/tokens", { token: hub.admin })).json<[]>().length;
    const before = await count();
    await expect(writ.createToken({ role: "viewer" })).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(await count()).toBe(before);
  });

  test("follows events across cuts, and misses none and sees none twice", async () => {
    const writ = connect();
    const type = freshName("told");
    const isOpen = Promise.withResolvers<void>();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const seen: string[] = [];
    const following = (async () => {
      for await (const event of writ.events({ signal: stop.signal })) {
        if (event.event === "reset") throw new Error("events were missed");
        if (event.event === "job:created" && event.type === type) seen.push(event.id);
        isOpen.resolve();
      }
    })();
    following.catch(() => {});
    await eventually("the stream is open", async () => {
      await submitJob(hub);
      return Promise.race([
        isOpen.promise.then(() => true),
        new Promise((resolve) => setTimeout(resolve, 50)),
      ]);
    });
    const made: string[] = [];
    for (let round = 0; round < 9; round++) {
      for (let count = 0; count < 20; count++) {
        made.push((await submitJob(hub, { type })).id);
        if (count === 10) cables[round % 3]!.cut();
      }
      await eventually("all are told", () => seen.length >= made.length);
      cables[round % 3]!.mend();
    }
    expect(seen).toEqual(made);
  });

  test("follows an output across cuts and a freeze, byte for byte, and waits for the end of its job", async () => {
    const writ = connect();
    const held = await runningJob(hub);
    const read: Buffer[] = [];
    let size = 0;
    const following = (async () => {
      for await (const chunk of writ.streamOutput(held.id)) {
        read.push(chunk);
        size += chunk.length;
      }
    })();
    const ended = writ.wait(held.id);
    const written: Buffer[] = [];
    let offset = 0;
    for (let round = 0; round < 6; round++) {
      for (let count = 0; count < 10; count++) {
        const bytes = Buffer.from(`${round}.${count} ${"x".repeat(5_000)}\n`);
        expect((await appendOutput(hub, held, { offset, bytes })).status).toBeLessThan(300);
        written.push(bytes);
        offset += bytes.length;
        if (count !== 5) continue;
        const cable = await currentCable(writ);
        if (round === 4) cable.freeze();
        else cable.cut();
      }
      await eventually("all is read", () => size >= offset);
      for (const cable of cables) cable.mend();
    }
    const output = { stdout: offset, stderr: 0 };
    const body = { ...held.fence, result: {}, output };
    await hub.must("POST", `/jobs/${held.id}/result`, { token: hub.admin, body });
    await following;
    expect(Buffer.concat(read).equals(Buffer.concat(written))).toBe(true);
    expect((await ended).status).toBe("completed");
  });
});

/** Writes numbered lines until the file is there that says enough. */
const untilTold =
  "i=0; while [ ! -e enough ] && [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; sleep 0.02; done";

describe("an address that shows a certificate of another authority", () => {
  const ca = () => readFileSync(join(hub.home, "certs", "ca.crt"), "utf8");

  test("a client refuses such a hub with the reason and uses the other one", async () => {
    const stranger = await startStranger();
    const open = (url: string[]): Writ => {
      const writ = new Writ({ url, token: hub.admin, ca: ca(), retryMs: 0, random: () => 0 });
      onTestFinished(() => writ.close());
      return writ;
    };
    const { id } = await open([stranger.url, hub.url]).submit(work(freshName("refused")));
    expect((await view(id)).status).toBe("pending");
    const cable = cables[0]!;
    cable.cut();
    await expect(open([stranger.url, cable.url]).get(id)).rejects.toThrow(
      `${stranger.url}: UNABLE_TO_VERIFY_LEAF_SIGNATURE`,
    );
    expect(stranger.requests()).toBe(0);
  });

  test("a worker refuses such a hub with the reason and completes its job at the other one", async () => {
    const stranger = await startStranger();
    const cable = cables[0]!;
    const log = join(hub.home, "stranger-worker.log");
    const type = freshName("refused");
    const worker = await startTestWorker(hub, {
      url: `${stranger.url},${cable.url}`,
      types: [type],
      settings: { ca: ca() },
      logger: openLogger({ file: log, level: "warn" }),
    });
    onTestFinished(() => worker.stop());
    cable.cut();
    await eventually("it tries the other address", () => stranger.connections() > 0);
    await eventually("it says why it does not use it", () =>
      readFileSync(log, "utf8").includes(`${stranger.url}: UNABLE_TO_VERIFY_LEAF_SIGNATURE`),
    );
    cable.mend();
    const { id } = await submitJob(hub, { type });
    await eventually("it is done", async () => (await view(id)).status === "completed");
    expect(stranger.requests()).toBe(0);
  });
});

test("a worker whose address is cut or frozen in the middle of a job completes it once, and no byte is lost", async () => {
  const type = freshName("moved");
  const url = cables.map((cable) => cable.url).join(",");
  const worker = await startTestWorker(hub, { url, types: [type] });
  onTestFinished(() => worker.stop());
  const run = { kind: "exec", argv: ["sh", "-c", untilTold] };
  const { id } = await submitJob(hub, { type, run, max_attempts: 1 });
  const goesOn = async (): Promise<void> => {
    const before = (await view(id)).output.stdout;
    await eventually("more of its output arrives", async () => (await view(id)).output.stdout > before + 100);
  };
  await goesOn();
  for (const act of ["cut", "freeze"] as const) {
    for (const cable of cables) {
      cable[act]();
      await goesOn();
      cable.mend();
    }
  }
  for (const cable of cables) cable.cut();
  await eventually("nothing arrives any more", async () => {
    const before = (await view(id)).output.stdout;
    await new Promise((resolve) => setTimeout(resolve, 100));
    return (await view(id)).output.stdout === before;
  });
  for (const cable of cables) cable.mend();
  await goesOn();
  // Its end is reported at an address that has just died.
  cables[0]!.cut();
  cables[1]!.cut();
  writeFileSync(join(worker.home, "work", "folders", `${id}.1`, "enough"), "");
  const job = await eventually("it has ended", async () => {
    const found = await view(id);
    return found.status === "completed" && found;
  });
  expect(job).toMatchObject({ attempt: 1, attempts: 1, fail_history: [] });
  const answer = await hub.must("GET", `/jobs/${id}/output/stdout`, { token: hub.admin });
  const lines = answer.text.split("\n").slice(0, -1);
  expect(lines).toEqual(lines.map((_, index) => `line ${index + 1}`));
  expect(answer.text.length).toBe(job.output.stdout);
  // The next job is claimed at the address that is left.
  const { id: next } = await submitJob(hub, { type });
  await eventually("the next job completes", async () => (await view(next)).status === "completed");
});
