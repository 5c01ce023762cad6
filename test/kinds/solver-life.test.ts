import { execFile } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { WorkerProcess } from "../support/worker-process.ts";
import { sha256Of } from "./solver-server.ts";
import { padded, SolverStage } from "./solver-stage.ts";

const root = join(import.meta.dirname, "../..");
const stage = new SolverStage();
const { server } = stage;
const env = { WRIT_DRAIN_MS: "500", WRIT_STOP_GRACE_MS: "500", WORKER_SLOTS: "3" };

beforeAll(() => stage.open(env));
afterAll(() => stage.close());

/** A solver that arrives only in part until somebody sends the rest. */
function publishSlowly(path: string, program: string) {
  const waiting: ServerResponse[] = [];
  let sent = 100;
  const solver_url = server.on(path, (_request, response) => {
    response.writeHead(200, { "content-length": program.length });
    response.write(program.slice(0, sent));
    waiting.push(response);
  });
  const finish = (): void => {
    server.publish(path, program);
    for (const response of waiting) response.end(program.slice(sent));
  };
  const sendOneByte = (): void => void waiting[0]!.write(program.charAt(sent++));
  const isAsked = (): boolean => waiting.length > 0;
  const isLeft = (): boolean => waiting.every(({ destroyed }) => destroyed);
  return { job: { solver_url, solver_checksum: sha256Of(program) }, finish, sendOneByte, isAsked, isLeft };
}

/** What has begun and is not there as a whole. */
function unfinished(): string[] {
  return stage.cached().filter((name) => name.endsWith(".tmp"));
}

describe("a job whose solver is being downloaded", () => {
  test("shows how far the download is", async () => {
    const slow = publishSlowly("/slow", padded("slow", 100_000));
    const id = await stage.submit(slow.job);
    await eventually("the download has begun", () => slow.isAsked());
    const shown = await eventually("the progress is shown", async () => {
      slow.sendOneByte();
      const { progress, progress_detail } = await stage.writ.get(id);
      return progress_detail === null ? null : { progress, progress_detail };
    });
    const { host } = new URL(slow.job.solver_url);
    expect(shown.progress_detail).toBe(`downloading slow from ${host}: 0.0 of 0.1 MiB`);
    expect(shown.progress).toBeGreaterThan(0);
    slow.finish();
    expect(await stage.endOf(id)).toMatchObject({ status: "completed", result: "slow" });
  });

  test("is cancelled at once, and the download with it", async () => {
    const slow = publishSlowly("/cancelled", padded("cancelled", 5000));
    const id = await stage.submit(slow.job);
    await eventually("the download has begun", () => slow.isAsked());
    await stage.writ.cancel(id);
    expect(await stage.endOf(id)).toMatchObject({ status: "failed", fail_code: "CANCELLED" });
    await eventually("the connection is closed", () => slow.isLeft());
    expect(unfinished()).toEqual([]);
  });

  test("U-06: is ended by its time limit, however slowly the server goes on", async () => {
    const slow = publishSlowly("/loris", padded("loris", 5000));
    const job = await stage.solve({ ...slow.job, timeout_sec: 1 });
    expect(job).toMatchObject({ status: "failed", fail_code: "TIMEOUT" });
    await eventually("the connection is closed", () => slow.isLeft());
    expect(unfinished()).toEqual([]);
  });

  test("does not end the download for another job that waits for it", async () => {
    const slow = publishSlowly("/two", padded("two", 100_000));
    const [first, second] = [await stage.submit(slow.job), await stage.submit(slow.job)];
    await eventually("the download has begun", () => slow.isAsked());
    await eventually("both wait for it", async () => {
      slow.sendOneByte();
      const jobs = await Promise.all([first, second].map((id) => stage.writ.get(id)));
      return jobs.every(({ progress_detail }) => progress_detail !== null);
    });
    await stage.writ.cancel(first);
    expect(await stage.endOf(first)).toMatchObject({ fail_code: "CANCELLED" });
    slow.finish();
    expect(await stage.endOf(second)).toMatchObject({ status: "completed", result: "two" });
    expect(server.requestsOf("/two")).toBe(1);
  });

  test("is given back by a worker that stops, keeps its only attempt, and begins again on the next", async () => {
    const slow = publishSlowly("/drained", padded("drained", 5000));
    const id = await stage.submit(slow.job);
    await eventually("the download has begun", () => slow.isAsked());
    expect(await stage.worker.stop("SIGTERM")).toBe(0);
    expect(await stage.writ.get(id)).toMatchObject({ status: "pending", attempts: 0 });
    expect(unfinished()).toEqual([]);
    slow.finish();
    stage.worker.start();
    expect(await stage.endOf(id)).toMatchObject({ status: "completed", result: "drained" });
  });

  test("survives that its worker is killed: half a download is removed, and the next attempt downloads again", async () => {
    const slow = publishSlowly("/killed", padded("killed", 5000));
    const id = await stage.submit({ ...slow.job, max_attempts: 2 });
    await eventually("a part has arrived", () => slow.isAsked() && unfinished().length > 0);
    await stage.worker.stop("SIGKILL");
    const left = unfinished();
    expect(left).toHaveLength(1);
    expect(stage.cached()).not.toContain(slow.job.solver_checksum);
    slow.finish();
    stage.worker.start();
    expect(await stage.endOf(id)).toMatchObject({ status: "completed", result: "killed", attempts: 2 });
    expect(stage.cached()).toContain(slow.job.solver_checksum);
    expect(unfinished()).toEqual([]);
  });
});

describe("around the worker", () => {
  test("the cache is still there after a restart", async () => {
    const solver = server.publish("/kept", padded("kept", 300));
    expect(await stage.solve(solver)).toMatchObject({ result: "kept" });
    await stage.worker.stop();
    stage.worker.start();
    expect(await stage.solve(solver)).toMatchObject({ result: "kept" });
    expect(server.requestsOf("/kept")).toBe(1);
  });

  test("a second worker with the same cache does not start", async () => {
    const second = new WorkerProcess(stage.hub, "second-worker", { SOLVER_CACHE_DIR: stage.cacheDir });
    await second.enrol();
    const run = promisify(execFile)(join(root, "bin/writ"), ["worker", "--home", second.home], {
      env: { PATH: process.env["PATH"], SOLVER_CACHE_DIR: stage.cacheDir },
      timeout: 60_000,
    });
    await expect(run).rejects.toThrow("another worker uses the solver cache");
    await second.remove();
  });

  test("jobctl submits a solver, and gRPC shows it like any other job", async () => {
    const solver = server.publish("/cli", '#!/bin/sh\necho "{\\"got\\": $2}"\n');
    const { solver_url: url, solver_checksum: checksum } = solver;
    const flags = ["--solver-url", url, "--solver-checksum", checksum, "--params", '{"n":1.50}'];
    const jobctl = (...args: string[]) =>
      promisify(execFile)(join(root, "bin/jobctl"), [...args, "--home", stage.hub.home]);
    const { stdout } = await jobctl("submit", "solve", ...flags);
    const id = stdout.trim();
    expect(await stage.endOf(id)).toMatchObject({ status: "completed" });
    expect((await jobctl("result", id)).stdout).toContain('"n": 1.5');
    const status = JSON.parse((await jobctl("status", id, "--json")).stdout);
    expect(status).toMatchObject({ state: "EXITED", exit_code: 0 });
    expect((await jobctl("stream", id)).stdout).toBe('{"got": {"n":1.5}}\n');
    await expect(jobctl("submit", "solve", "--solver-url", url)).rejects.toThrow("sha256sum FILE");
    await expect(jobctl("submit", "x", "--solver-checksum", checksum)).rejects.toThrow(
      "without --solver-url",
    );
  });

  test("secrets reach the solver and are masked, and its limits apply", async () => {
    const solver = server.publish("/secret", '#!/bin/sh\necho "{\\"key\\":\\"$API_KEY\\"}"\n');
    const run = { kind: "solver", url: solver.solver_url, checksum: solver.solver_checksum } as const;
    const job = await stage.solve({ run: { ...run, secrets: ["API_KEY"] } });
    expect(job).toMatchObject({ status: "failed", fail_detail: "NO_SUCH_SECRET" });
    const config = join(stage.worker.home, "agents.yaml");
    writeFileSync(join(stage.worker.home, "api-key"), "opensesame\n", { mode: 0o600 });
    const execution = `execution:\n  secrets: { API_KEY: { file: api-key } }\n  solver_hosts: ["${server.host}"]\n`;
    appendFileSync(config, execution);
    await stage.worker.stop();
    stage.worker.start();
    const masked = await stage.solve({ run: { ...run, secrets: ["API_KEY"] }, limits: { network: "none" } });
    expect(masked).toMatchObject({ status: "completed", result: { key: "**********" } });
    expect(masked.isolation?.applied).toContain("network");
  });
});
