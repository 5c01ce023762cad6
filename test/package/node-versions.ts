import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestHub } from "../support/hub.ts";
import type { TestWorker } from "../support/worker.ts";
import { checkFunctionWorker } from "./function-worker.ts";
import type { InstalledPackage } from "./installed-package.ts";
import { findNodes, type Nodes } from "./older-nodes.ts";

const run = promisify(execFile);
const tooOld = 18;
/** Started together: with more, a machine with two processors gains nothing. */
const atOnce = 4;

type Stage = { installed: InstalledPackage; hub: TestHub; worker: TestWorker };

/** Client, `writ/jobs`, function workers and programs on other versions of Node than 26, which all other tests run on. */
export function describeNodeVersions(
  theStage: () => Stage,
  majors: readonly number[],
  { isWhole }: { isWhole: boolean },
): void {
  describe.for(majors)("on Node %i", (major) => {
    let nodes: Nodes;
    beforeAll(() => {
      nodes = findNodes([major]);
    });
    afterAll(() => nodes.remove());

    const optionsOf = () => {
      const { installed, hub } = theStage();
      // With a registry at which nothing listens: no other Node can be fetched.
      const env = {
        PATH: "/usr/bin:/bin",
        HOME: installed.app,
        WRIT_HUB_URL: hub.url,
        WRIT_TOKEN: hub.admin,
        npm_config_registry: "http://127.0.0.1:1",
      };
      return { cwd: installed.app, env, timeout: 120_000 };
    };
    const programFile = (name: string): string => join(theStage().installed.folder, `bin/${name}.js`);

    test("a program submits jobs and serves jobs, and jobctl runs", async ({ skip }) => {
      if (nodes.obstacle !== null) return skip(`not capable: ${nodes.obstacle}`);
      const node = nodes.fileOf(major);
      expect((await run(node, ["--version"])).stdout).toMatch(new RegExp(`^v${major}\\.`));
      const { stdout } = await run(node, [writeProgram(theStage().installed)], optionsOf());
      expect(JSON.parse(stdout)).toEqual({ status: "completed", output: "hello\n", served: 42 });
      const printed = await run(node, [programFile("jobctl"), "run", "echo", "hello"], optionsOf());
      expect(printed.stdout).toBe("hello\n");
      const list = await run(node, [programFile("writ"), "workers", "list"], optionsOf());
      expect(list.stdout).toContain(theStage().worker.workerId);

      // With the certificate of the home, over gRPC: nothing listens on this port.
      const lost = ["--home", theStage().hub.home, "--grpc", "127.0.0.1:1", "list"];
      const { WRIT_TOKEN: _, WRIT_HUB_URL: __, ...env } = optionsOf().env;
      await expect(
        run(node, [programFile("jobctl"), ...lost], { ...optionsOf(), env }),
      ).rejects.toMatchObject({
        code: 6,
        stderr: expect.stringContaining("no hub answers at 127.0.0.1:1 (ECONNREFUSED)"),
      });
    });

    test("O-25 a function worker runs jobs, without a launcher, alone in its directory", async ({ skip }) => {
      if (nodes.obstacle !== null) return skip(`not capable: ${nodes.obstacle}`);
      await checkFunctionWorker(theStage(), nodes.fileOf(major));
    });

    test("O-25 every part of every command can be loaded", async ({ skip }) => {
      if (nodes.obstacle !== null) return skip(`not capable: ${nodes.obstacle}`);
      const lib = join(theStage().installed.folder, "lib");
      // The others are entry points, which would begin to work.
      const files = readdirSync(lib).filter((name) => name.startsWith("shared-"));
      expect(files.length).toBeGreaterThan(50);
      const script = `const problems = [];
for (const name of ${JSON.stringify(files)})
  await import("${lib}/" + name).catch((error) => {
    // What Node does not have. Another error is that of a part which is loaded before the one that it needs.
    if (error instanceof SyntaxError || error.code !== undefined) problems.push(error.message);
  });
process.stdout.write(JSON.stringify(problems), () => process.exit(0));`;
      const { stdout } = await run(nodes.fileOf(major), ["--input-type=module", "-e", script], optionsOf());
      expect(JSON.parse(stdout)).toEqual([]);
    });

    // With what is loaded above, a few show the way that all of them go.
    const few = ["up", "certs", "doctor", "registry", "run", "run-job"];
    test(`O-25 ${isWhole ? "every command of every program" : few.join(", ")} shows its help`, async ({
      skip,
    }) => {
      if (nodes.obstacle !== null) return skip(`not capable: ${nodes.obstacle}`);
      const node = nodes.fileOf(major);
      const help = async (...words: string[]) => (await run(node, words, optionsOf())).stdout;
      for (const program of ["writ", "jobctl", "writ-agent"]) {
        const file = programFile(program);
        const shown = await help(file, "--help");
        const commands = [...shown.matchAll(/^ {2}([a-z][a-z-]+) .*$/gm)].map(([, name]) => name!);
        expect(commands.length, program).toBeGreaterThan(3);
        const waiting = commands.filter((name) => (isWhole ? name !== "help" : few.includes(name)));
        while (waiting.length > 0) {
          const some = waiting.splice(0, atOnce);
          const texts = await Promise.all(some.map((command) => help(file, command, "--help")));
          for (const [index, text] of texts.entries())
            expect(text).toMatch(new RegExp(`^Usage: ${program} ${some[index]}\\b`));
        }
      }
    });
  });
}

/** A Node before those that are promised. */
export function describeTooOldNode(theInstalled: () => InstalledPackage): void {
  test("Node 18 is too old for all of it, and each program says so in one line", async ({ skip }) => {
    const nodes = findNodes([tooOld]);
    try {
      if (nodes.obstacle !== null) return skip(`not capable: ${nodes.obstacle}`);
      for (const name of ["writ", "jobctl", "writ-agent"])
        await expect(
          run(nodes.fileOf(tooOld), [join(theInstalled().folder, `bin/${name}.js`), "--help"]),
        ).rejects.toMatchObject({
          code: 1,
          stderr: expect.stringMatching(
            new RegExp(`^${name}: Node 20 or newer is needed, and this is v18\\.[0-9.]+\\n$`),
          ),
        });
    } finally {
      nodes.remove();
    }
  });
}

function writeProgram({ app }: InstalledPackage): string {
  const folder = join(app, "programs");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "both.mjs");
  writeFileSync(
    file,
    `import { Writ } from "writ/client";
import { serveJobs } from "writ/jobs";

const writ = Writ.fromEnvironment(process.env);
const { id } = await writ.submit({ type: "exec", run: { kind: "exec", argv: ["echo", "hello"] } });
const { status } = await writ.wait(id);
let output = "";
for await (const bytes of writ.streamOutput(id)) output += Buffer.from(bytes);
writ.close();

const server = await serveJobs({ double: ({ input }) => input.number * 2 }, { port: 0 });
const url = \`http://127.0.0.1:\${server.port}/job\`;
const job = { job_id: "00000000-0000-7000-8000-000000000001", job_class: "double", job_input: { number: 21 } };
await fetch(url, { method: "POST", body: JSON.stringify(job) });
let served;
while (served?.status !== "completed") served = await (await fetch(\`\${url}/\${job.job_id}\`)).json();
await server.stop();
console.log(JSON.stringify({ status, output, served: served.result }));
`,
  );
  return file;
}
