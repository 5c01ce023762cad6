import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { list, register } from "../../src/registry/index.ts";
import { emptyDirectory, jobctlRegistry, registryUser } from "./registry-process.ts";

const jobsInAll = 1_000;

async function registerJobs(cwd: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < count; at++) {
    const job = { prompt: `job ${at}`, agent: "a", agentSession: "shared" };
    // The history is not the subject, and costs most of the time.
    ids.push((await register({ cwd, logsDir: "/dev/null/none" }, job)).job_id);
  }
  return ids;
}

test.each([2, 20])(
  "%i processes that pick for one session never get the same of 1,000 jobs",
  async (count) => {
    const cwd = emptyDirectory();
    const ids = await registerJobs(cwd, jobsInAll);
    expect(new Set(ids).size).toBe(jobsInAll);
    const outputs = await Promise.all(
      Array.from({ length: count }, async () => {
        const child = registryUser(cwd, "pick");
        const [output, [code]] = await Promise.all([text(child.stdout!), once(child, "close")]);
        expect(code).toBe(0);
        return output.split("\n").filter((line) => line !== "");
      }),
    );
    const picked = outputs.flat();
    expect(picked).toHaveLength(jobsInAll);
    expect(new Set(picked)).toEqual(new Set(ids));
    // Each of them got jobs in the order in which they were registered.
    for (const own of outputs) expect(own).toEqual(ids.filter((id) => own.includes(id)));
    expect((await list({ cwd })).every(({ status }) => status === "running")).toBe(true);
  },
);

test("20 callers of `jobctl registry pick` get the 15 jobs that there are, and the others are told so", async () => {
  const cwd = emptyDirectory();
  const ids = await registerJobs(cwd, 15);
  const calls = Array.from({ length: 20 }, () => jobctlRegistry(cwd, ["pick", "--agent-session", "shared"]));
  const ended = await Promise.all(calls);
  expect(ended.map(({ code, stderr }) => `${code}${stderr}`).toSorted()).toEqual([
    ...ids.map(() => "0"),
    ...Array.from({ length: 5 }, () => "3"),
  ]);
  const picked = ended.flatMap(({ stdout }) => stdout.split("\n").filter((line) => line !== ""));
  expect(picked.toSorted()).toEqual(ids.toSorted());
});
