import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type Container, type ContainerTool, tools } from "./containers.ts";
import { kindStage } from "./stage.ts";

const stage = kindStage();
const workers = join(import.meta.dirname, "workers");
const node = process.execPath;

/** A worker that knows one container by the name `box`. */
async function startWorker(exec: string[], settings: object = {}) {
  const containers = {
    byName: { box: { exec } },
    env: { PATH: process.env["PATH"]! },
    hubUrl: stage.hub.url,
    ca: undefined,
  };
  return stage.startWorker({ settings: { containers, ...settings } });
}

const shell = (text: string) => ({
  kind: "exec_per_job",
  worker_command: [join(workers, "shout.sh")],
  job_input: { text },
  container: "box",
});

const inBox = (container: Container, ...command: string[]): string =>
  execFileSync(container.exec[0]!, [...container.exec.slice(1), ...command], { encoding: "utf8" });

describe.each(tools.map((tool) => ({ ...tool, title: titleOf(tool) })))("$title", ({ obstacle, start }) => {
  let container: Container;
  const box = test.skipIf(obstacle !== null);
  beforeAll(async () => {
    if (obstacle === null) container = await start();
  });
  afterAll(() => container?.remove());

  box("a shell script, a Node server and a Python server run there unchanged", async () => {
    await startWorker(container.exec);
    const [first, second] = [await freePort(), await freePort()];
    const runs = [
      { run: shell("hello"), output: 'shouting hello\n{"shouted":"HELLO"}\n' },
      {
        run: persistent([node, join(workers, "shout.mjs"), "--port", String(first)], first),
        output: "shouting hello\n",
      },
      {
        run: persistent(["python3", join(workers, "shout.py"), String(second)], second),
        output: "shouting hello\n",
      },
    ];
    for (const { run, output } of runs) {
      const id = await stage.submit(run);
      expect(await stage.ended(id)).toMatchObject({
        status: "completed",
        result: { shouted: "HELLO" },
        isolation: { level: "container" },
      });
      expect(await stage.output(id)).toBe(output);
    }
  });

  box("a cancelled job leaves nothing running there, and its output came while it ran", async () => {
    await startWorker(container.exec);
    const script = 'trap "" TERM; sleep 4711 & echo begun; wait; while :; do sleep 4711; done';
    const id = await stage.submit({ ...shell("x"), worker_command: ["sh", "-c", script] });
    await eventually("it has begun", async () => (await stage.output(id)) === "begun\n");
    expect(inBox(container, "ps", "-e", "-o", "args")).toContain("sleep 4711");
    await stage.hub.must("DELETE", `/jobs/${id}`, { token: stage.hub.admin });
    expect(await stage.ended(id)).toMatchObject({ fail_code: "CANCELLED" });
    await eventually(
      "nothing is left",
      () => !inBox(container, "ps", "-e", "-o", "args").includes("sleep 4711"),
    );
  });

  box("a container that is gone, or has no agent, fails the job with the reason", async () => {
    await startWorker(
      container.exec.map((word) =>
        word === "box" ? "no-such-box" : word === "--target" ? "--target=999999999" : word,
      ),
    );
    const id = await stage.submit(shell("x"), { max_attempts: 1 });
    const job = await stage.ended(id);
    expect(job).toMatchObject({ status: "failed", fail_reason: "EXECUTION_ERROR" });
    expect(job.fail_history?.[0]?.reason).toMatch(/^container box cannot be entered: .+/);
  });
});

function persistent(worker_command: string[], port: number) {
  return { kind: "persistent_http", worker_command, port, job_input: { text: "hello" }, container: "box" };
}

function titleOf({ name, obstacle }: ContainerTool): string {
  return obstacle === null ? name : `${name} (not capable: ${obstacle})`;
}
