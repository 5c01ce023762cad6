import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { JobView } from "../../src/contract/shapes/view-shapes.ts";
import { runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll();
const repo = realpathSync(mkdtempSync(join(tmpdir(), "writ-delegate-cli-")));
afterAll(() => rmSync(repo, { recursive: true, force: true }));
mkdirSync(join(repo, "src"));
writeFileSync(join(repo, "task.md"), "Mend the tests.\n");

const model = ["--provider", "OLLAMA", "--model", "m"];

function jobctl(args: string[], more: { typed?: string; isTTY?: boolean } = {}) {
  return runCli("jobctl", args, { env: { WRIT_HOME: hub.home }, cwd: repo, ...more });
}

async function submitted(...args: string[]): Promise<JobView> {
  const { stdout, stderr, code } = await jobctl(["delegate", ...args, "--detach"]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return (await hub.must("GET", `/jobs/${stdout.trim()}`, { token: hub.admin })).json<JobView>();
}

describe("jobctl delegate", () => {
  test.each([
    [
      ["do it", ...model],
      "--allow: name what the agent may change, such as --allow src/, or give --read-only",
    ],
    [
      ["do it", ...model, "--allow", "src", "--read-only"],
      "--read-only: the agent may change what --allow names",
    ],
    [["do it", ...model, "--allow", "../x"], "must not contain .."],
    [["do it", ...model, "--allow", "src", "--repo", "gone"], "gone: there is no such directory"],
    [["do it", ...model, "--allow", "src", "--repo", "task.md"], "task.md: is not a directory"],
    [["  ", ...model, "--read-only"], "prompt: it is empty"],
    [["@gone.md", ...model, "--read-only"], "prompt @gone.md: there is no such file"],
    [["do it", "--read-only"], "--model: no worker offers a model; list it under capabilities"],
    [["do it", "--read-only", "--provider", "OLAMA"], "Allowed choices are OPENROUTER, OLLAMA"],
    [["do it", ...model, "--read-only", "--mode", "fast"], "Allowed choices are patch, in-place"],
    [["do it", ...model, "--read-only", "--expect", "/etc/passwd"], "must be relative"],
    [["do it", ...model, "--read-only", "--agent", "a,,b"], '"a,,b" has an empty name'],
    [["do it", ...model, "--read-only", "--agent", "a,b", "--n", "17"], "34 jobs are too many"],
    [["do it", ...model, "--read-only", "--n", "2", "--mode", "in-place"], "several agents cannot work"],
  ])("%j is refused: %s", async (args, message) => {
    const { code, stderr, stdout } = await jobctl(["delegate", ...args]);
    expect(stderr).toContain(message);
    expect(stdout).toBe("");
    expect([2, 125]).toContain(code);
  });

  test("the short way submits a job in this repository", async () => {
    const job = await submitted("Mend the tests.", ...model, "--allow", "src/", "--agent", "claude-code");
    expect(job).toMatchObject({ type: "delegate", provider: "OLLAMA", model: "m" });
    expect(job.run).toEqual({ kind: "delegate", agent: "claude-code", prompt: "Mend the tests." });
  });

  test("every option reaches the document", async () => {
    const job = await submitted(
      ...[
        "@task.md",
        ...model,
        "--repo",
        join(repo, "src"),
        "--allow",
        join(repo, "src/deep"),
        "--allow",
        "./b//c",
      ],
      ...[
        "--mode",
        "in-place",
        "--expect",
        "deep/x.txt",
        "--step",
        "first",
        "--step",
        "then",
        "--idle-timeout",
        "1500ms",
      ],
      ...[
        "--timeout",
        "10m",
        "--session",
        "tmux:claude",
        "--tag",
        "gpu",
        "--secret",
        "KEY",
        "--attempts",
        "1",
      ],
    );
    expect(job.run).toMatchObject({
      ...{ agent: "default", prompt: "Mend the tests.", mode: "in-place", idle_timeout_sec: 2 },
      ...{ expected_artifacts: ["deep/x.txt"], secrets: ["KEY"] },
    });
    expect(job).toMatchObject({ steps: ["first", "then"], timeout_sec: 600, max_attempts: 1 });
    expect(job.requires).toEqual({ session: "tmux:claude", tags: ["gpu"] });
  });

  test("the built-in agent needs no --allow, and a prompt may come from standard input", async () => {
    const { stdout } = await jobctl(["delegate", "-", ...model, "--agent", "chat", "--detach", "--json"], {
      typed: "Why?\n",
      isTTY: false,
    });
    const { job_id } = JSON.parse(stdout) as { job_id: string };
    const job = (await hub.must("GET", `/jobs/${job_id}`, { token: hub.admin })).json<JobView>();
    expect(job.run).toMatchObject({ agent: "chat", prompt: "Why?" });
  });

  test("the model is the only one that workers offer, or has to be chosen", async () => {
    const register = (worker_id: string, capabilities: object[]) =>
      hub.must("POST", "/workers/register", {
        token: hub.admin,
        body: {
          worker_id,
          location: "LOCAL_MACHINE",
          cores: 1,
          ram_gb: 1,
          slots: 1,
          kinds: ["delegate"],
          capabilities,
        },
      });
    await register("w1", [{ provider: "OLLAMA", model: "only" }]);
    expect(await submitted("x", "--read-only")).toMatchObject({ provider: "OLLAMA", model: "only" });
    await register("w2", [
      { provider: "OLLAMA", model: "only" },
      { provider: "OPENROUTER", model: "other" },
    ]);
    const { stderr } = await jobctl(["delegate", "x", "--read-only"]);
    expect(stderr).toContain("--model: workers offer several models; choose one:\n");
    expect(stderr).toContain("\n  --provider OPENROUTER --model other");
    expect(await submitted("x", "--read-only", "--model", "other")).toMatchObject({ provider: "OPENROUTER" });
  });
});

describe("jobctl diff and apply", () => {
  test("a job that no agent has worked on has no diff", async () => {
    const { stdout } = await jobctl(["submit", "t", "--params", "1"]);
    for (const verb of ["diff", "apply"]) {
      const { code, stderr } = await jobctl([verb, stdout.trim()]);
      expect(code).toBe(2);
      expect(stderr).toContain("was not given to a coding agent, so it has no diff");
    }
  });

  test("a job that has not ended has none yet", async () => {
    const { id } = await submitted("x", ...model, "--read-only");
    expect((await jobctl(["diff", id])).stderr).toContain("the job has not ended yet; it has no diff so far");
    const { code, stderr } = await jobctl(["apply", id]);
    expect(code).toBe(1);
    expect(stderr).toContain("is pending, so its changes are not applied");
  });

  test.each(["patch", "in-place"])(
    "a job that was cancelled before it ran has no changes (%s)",
    async (mode) => {
      const { id } = await submitted("x", ...model, "--allow", "src", "--mode", mode);
      await jobctl(["stop", id]);
      const { code, stderr } = await jobctl(["apply", id]);
      expect([code, stderr]).toEqual([1, `jobctl: job ${id} was cancelled and has left no changes\n`]);
    },
  );
});
