import { randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startTestHub, stillEnv, type TestHub } from "../support/hub.ts";
import { freshName, runningJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { noPostgres, PostgresCluster, withClient } from "../support/postgres-cluster.ts";
import { runCli } from "../support/run-cli.ts";
import { startS3Server } from "../support/s3-server.ts";

describe.skipIf(noPostgres !== undefined)(
  `output across hubs on PostgreSQL${noPostgres ? `: ${noPostgres}` : ""}`,
  () => {
    let cluster: PostgresCluster;
    beforeAll(async () => {
      cluster = await PostgresCluster.start({ settings: ["fsync=off", "max_connections=300"] });
    });
    afterAll(() => cluster.stop());

    function folder(): string {
      const dir = mkdtempSync(join(tmpdir(), "writ-shared-output-"));
      onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
      return dir;
    }

    async function newEnv(): Promise<Record<string, string>> {
      const name = freshName("d").replaceAll("-", "_");
      await withClient(cluster.url("postgres"), (client) => client.query(`CREATE DATABASE ${name}`));
      return { ...stillEnv, WRIT_DATABASE_URL: cluster.url(name), WRIT_KEYS_DIR: folder() };
    }

    async function start(env: Record<string, string>): Promise<TestHub> {
      const hub = await startTestHub({ ...env }, { home: folder() });
      onTestFinished(() => hub.stop({ keepHome: true }));
      return hub;
    }

    test("a folder other than that of the other hubs stops the start with the reason", async () => {
      const env = await newEnv();
      await start({ ...env, WRIT_OUTPUTS_DIR: folder() });
      await expect(start({ ...env, WRIT_OUTPUTS_DIR: folder() })).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: expect.stringContaining("mount the same folder on every machine"),
      });
    });

    test("a worker claims at one hub and ships to another, and a client follows at a third, live", async () => {
      const outputs = folder();
      const env = { ...(await newEnv()), WRIT_OUTPUTS_DIR: outputs };
      const [a, b, c] = [await start(env), await start(env), await start(env)];
      const job = await runningJob(a);
      const reader = await follow(c, `/jobs/${job.id}/output/stdout?follow=true`);
      // More than one segment, in chunks as workers send them.
      const whole = randomBytes(9 * 1024 * 1024);
      const first = 100;
      await must(appendOutput(b, job, { bytes: whole.subarray(0, first) }));
      // It is there while the job runs: nothing else is sent before.
      expect((await reader.next(first)).equals(whole.subarray(0, first))).toBe(true);
      for (let offset = first; offset < whole.length; offset += 256 * 1024) {
        const bytes = whole.subarray(offset, offset + 256 * 1024);
        await must(appendOutput(offset % 3 === 0 ? a : b, job, { offset, bytes }));
      }
      const again = await appendOutput(a, job, { offset: first, bytes: Buffer.from("x") });
      expect(again).toMatchObject({ status: 409, code: "OUTPUT_OFFSET" });
      await a.must("POST", `/jobs/${job.id}/result`, { token: a.admin, body: { ...job.fence, result: 1 } });
      expect((await reader.rest()).equals(whole.subarray(first))).toBe(true);
      await expect.poll(() => readdirSync(outputs).length).toBeGreaterThan(1);
      const whole2 = await (await follow(b, `/jobs/${job.id}/output/stdout`)).rest();
      expect(whole2.equals(whole)).toBe(true);
    });

    test("a hub without the folder refuses existing output before it sends a byte", async () => {
      const outputs = folder();
      const env = await newEnv();
      const [sharing, apart] = [await start({ ...env, WRIT_OUTPUTS_DIR: outputs }), await start(env)];
      const job = await runningJob(sharing);
      for (let offset = 0; offset < 9 * 1024 * 1024; offset += 1024 * 1024)
        await must(appendOutput(sharing, job, { offset, bytes: randomBytes(1024 * 1024) }));
      const body = { ...job.fence, result: 1 };
      await sharing.must("POST", `/jobs/${job.id}/result`, { token: sharing.admin, body });
      const path = `/jobs/${job.id}/output/stdout`;
      const read = (query: string) => apart.call("GET", `${path}${query}`, { token: sharing.admin });
      // While only later bytes have been moved, the answer begins and is cut off.
      await eventually("it is moved", async () => (await read("").catch(() => null))?.status === 503);
      for (const query of ["", "?follow=true"])
        expect(await read(query)).toMatchObject({
          code: "OUTPUT_ELSEWHERE",
          text: expect.stringContaining("set WRIT_OUTPUTS_DIR"),
        });
      const streamed = await runCli("jobctl", ["--hub", apart.url, "stream", job.id], {
        env: { WRIT_TOKEN: sharing.admin },
      });
      expect([streamed.code, streamed.stdout]).toEqual([1, ""]);
      expect(streamed.stderr).toContain("set WRIT_OUTPUTS_DIR");
    });

    test("output that one hub moves to S3 while the job runs is read and followed at another, byte for byte", async () => {
      const s3 = await startS3Server();
      onTestFinished(() => s3.stop());
      const env = { ...(await newEnv()), ...s3.env };
      const a = await start(env);
      const b = await start(env);
      const job = await runningJob(a);
      const path = `/jobs/${job.id}/output/stdout`;
      const whole = randomBytes(17 * 1024 * 1024 + 5);
      const send = async (from: number, until: number): Promise<void> => {
        for (let offset = from; offset < until; offset += 256 * 1024) {
          const bytes = whole.subarray(offset, Math.min(offset + 256 * 1024, until));
          await must(appendOutput(a, job, { offset, bytes }));
        }
      };
      const early = await follow(b, `${path}?follow=true`);
      const middle = 16 * 1024 * 1024 + 1;
      await send(0, middle);
      await expect.poll(() => s3.keys().length, { timeout: 60_000 }).toBeGreaterThan(1);
      // It begins in what is in the bucket, and continues with what is still in the database, and not written yet.
      const late = await follow(b, `${path}?follow=true&offset=777`);
      expect((await late.next(9 * 1024 * 1024)).equals(whole.subarray(777, 777 + late.taken()))).toBe(true);
      const taken = 777 + late.taken();
      await send(middle, whole.length);
      await a.must("POST", `/jobs/${job.id}/result`, { token: a.admin, body: { ...job.fence, result: 1 } });
      expect((await early.rest()).equals(whole)).toBe(true);
      expect((await late.rest()).equals(whole.subarray(taken))).toBe(true);

      // The hub that took the bytes is not needed any more.
      await a.stop({ keepHome: true });
      expect((await (await follow(b, path)).rest()).equals(whole)).toBe(true);
      const part = await (await follow(b, `${path}?offset=${8 * 1024 * 1024 - 3}`)).next(7);
      expect(part.subarray(0, 7).equals(whole.subarray(8 * 1024 * 1024 - 3, 8 * 1024 * 1024 + 4))).toBe(true);
    });
  },
);

async function must(answer: ReturnType<typeof appendOutput>): Promise<void> {
  expect((await answer).status).toBe(200);
}

async function follow(hub: TestHub, path: string) {
  const answer = await fetch(`${hub.url}/api/v1${path}`, {
    headers: { Authorization: `Bearer ${hub.admin}` },
  });
  expect(answer.status).toBe(200);
  const pieces = answer.body![Symbol.asyncIterator]();
  let taken = 0;
  return {
    /** At least so many bytes. */
    async next(bytes: number): Promise<Buffer> {
      const read: Uint8Array[] = [];
      for (let size = 0; size < bytes; size += read.at(-1)!.length) read.push((await pieces.next()).value!);
      taken += Buffer.concat(read).length;
      return Buffer.concat(read);
    },
    taken: () => taken,
    async rest(): Promise<Buffer> {
      const read: Uint8Array[] = [];
      for (let piece = await pieces.next(); !piece.done; piece = await pieces.next()) read.push(piece.value);
      return Buffer.concat(read);
    },
  };
}
