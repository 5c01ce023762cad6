import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestHub } from "../support/hub.ts";
import { removeHome } from "../support/remove-home.ts";
import type { TestWorker } from "../support/worker.ts";
import { type InstalledPackage, npmInstall } from "./installed-package.ts";

const run = promisify(execFile);

/** Node as npm has it: a package for each platform whose only content is the program. */
const nodePackage = `node-${process.platform}-${process.arch}`;
const tooOld = 18;

type Stage = { installed: InstalledPackage; hub: TestHub; worker: TestWorker };

/** The client, `writ/jobs` and `jobctl` on other versions of Node than 26, which all other tests run on. */
export function describeNodeVersions(theStage: () => Stage, majors: readonly number[]): void {
  describe("on older versions of Node", () => {
    const dir = mkdtempSync(join(tmpdir(), "writ-nodes-"));
    let obstacle: string | null = null;

    beforeAll(() => {
      obstacle = installNodes(dir, [tooOld, ...majors]);
    });
    afterAll(() => removeHome(dir));

    const nodeOf = (major: number): string => join(dir, `node_modules/node-${major}/bin/node`);
    const optionsOf = () => {
      const { installed, hub } = theStage();
      const env = { PATH: "/usr/bin:/bin", HOME: dir, WRIT_HUB_URL: hub.url, WRIT_TOKEN: hub.admin };
      return { cwd: installed.app, env, timeout: 120_000 };
    };
    const programFile = (name: string): string => join(theStage().installed.folder, `bin/${name}.js`);

    test.for(majors)("Node %i submits jobs, serves jobs and runs jobctl", async (major, { skip }) => {
      if (obstacle !== null) return skip(`not capable: ${obstacle}`);
      const node = nodeOf(major);
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

    test("Node 18 is too old for all of it, and each program says so in one line", async ({ skip }) => {
      if (obstacle !== null) return skip(`not capable: ${obstacle}`);
      for (const name of ["writ", "jobctl", "writ-agent"])
        await expect(run(nodeOf(tooOld), [programFile(name), "--help"], optionsOf())).rejects.toMatchObject({
          code: 1,
          stderr: expect.stringMatching(
            new RegExp(`^${name}: Node 20 or newer is needed, and this is v18\\.[0-9.]+\\n$`),
          ),
        });
    });
  });
}

/** Installs them side by side, or returns why that is not possible here. */
function installNodes(dir: string, majors: readonly number[]): string | null {
  writeFileSync(join(dir, "package.json"), "{}\n");
  const wanted = majors.map((major) => `node-${major}@npm:${nodePackage}@${major}`);
  try {
    npmInstall(dir, ["--ignore-scripts", "--force", ...wanted]);
    return null;
  } catch (error) {
    const { stderr } = error as { stderr?: Buffer };
    return `npm cannot install ${nodePackage}: ${String(stderr).trim().split("\n")[0]}`;
  }
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
