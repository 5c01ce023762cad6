import { chmodSync, copyFileSync, cpSync, linkSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { plainSandbox } from "../../src/sandbox/plain/plain-sandbox.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { obstacle, openSandbox } from "../sandbox/cage-stage.ts";
import { eventually } from "../support/eventually.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { startedForAll } from "../support/use-hub.ts";
import { startTestWorker, type TestWorker } from "../support/worker.ts";

/** `visiblePaths`: what jobs see besides the programs. */
type CageWish = { level?: "strict" | "best-effort"; visiblePaths?: string[] };
type WorkerWish = Parameters<typeof startTestWorker>[1] & CageWish;

export type KindStage = {
  hub: TestHub;
  /** Where the programs are, visible in a cage. */
  programs: string;
  /** Starts `programs/NAME` on the Node of these tests. */
  node(name: string): string[];
  startWorker(wish?: WorkerWish): Promise<TestWorker & { workDir: string }>;
  submit(run: object, more?: object): Promise<string>;
  get(id: string): Promise<JobView>;
  ended(id: string): Promise<JobView>;
  output(id: string, stream?: "stdout" | "stderr"): Promise<string>;
};

/** A hub, and workers that start processes in a cage where this machine can build one. */
export function kindStage(moreEnv: () => Record<string, string> = () => ({})): KindStage {
  const hub = startedForAll(() => startTestHub({ WRIT_BACKOFF_SCALE: "0", ...moreEnv() }));
  const stage = { hub } as KindStage;
  let dir: string;
  const workers: { worker: TestWorker; sandbox: Sandbox }[] = [];
  beforeAll(() => {
    // A cage has directories of its own in place of /tmp and /work.
    dir = mkdtempSync("/var/tmp/writ-kinds-");
    chmodSync(dir, 0o755);
    stage.programs = join(dir, "programs");
    cpSync(join(import.meta.dirname, "workers"), stage.programs, { recursive: true });
    bring(process.execPath, join(stage.programs, "node"));
  });
  afterEach(async () => {
    for (const { worker, sandbox } of workers.splice(0)) {
      await worker.stop();
      await sandbox.close();
    }
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  stage.node = (name) => [join(stage.programs, "node"), join(stage.programs, name)];
  stage.startWorker = async (wish = {}) => {
    const workDir = join(dir, freshName("work"));
    mkdirSync(workDir, { mode: 0o711 });
    const sandbox = obstacle === null ? await openCage(workDir, stage.programs, wish) : plainSandbox;
    const worker = await startTestWorker(hub, {
      ...wish,
      sandbox,
      env: { WRIT_WORK_DIR: workDir, WRIT_STOP_GRACE_MS: "2000", ...wish.env },
    });
    workers.push({ worker, sandbox });
    return { ...worker, workDir };
  };
  stage.submit = async (run, more = {}) => {
    const body = { type: "shout.v1", run, ...more };
    return (await hub.must("POST", "/jobs", { token: hub.admin, body })).json<{ id: string }>().id;
  };
  stage.get = async (id) => (await hub.must("GET", `/jobs/${id}`, { token: hub.admin })).json<JobView>();
  stage.ended = (id) =>
    eventually(`job ${id} ends`, async () => {
      const job = await stage.get(id);
      return job.completed_at !== null && job;
    });
  stage.output = async (id, stream = "stdout") =>
    (await hub.must("GET", `/jobs/${id}/output/${stream}`, { token: hub.admin })).text;
  return stage;
}

function openCage(workDir: string, programs: string, wish: CageWish): Promise<Sandbox> {
  const { level, visiblePaths = [] } = wish;
  return openSandbox(workDir, {
    visiblePaths: [programs, ...visiblePaths],
    ...(level === undefined ? {} : { level }),
  });
}

function bring(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/** Which process served a job, as its worker names itself in the result. */
export function processOf(job: JobView): string {
  return (job.result as { process: string }).process;
}
