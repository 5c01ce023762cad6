import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isOrdinaryUser, userId, userObstacle } from "../sandbox/cage-stage.ts";
import { eventually } from "../support/eventually.ts";
import { removeHome } from "../support/remove-home.ts";
import { hostNode, type InstalledPackage, pathWith } from "./installed-package.ts";

const run = promisify(execFile);
const obstacle = userObstacle();
const people = [
  { who: "the user of the tests", ids: {}, skip: false },
  { who: "an ordinary user", ids: { uid: userId, gid: userId }, skip: isOrdinaryUser() || obstacle !== null },
];

/** The first steps of somebody who has installed the package, on the Node that the machine has. */
export function describeNewUser(theInstalled: () => InstalledPackage): void {
  describe.each(people)("$who", ({ ids, skip }) => {
    const home = mkdtempSync(join(tmpdir(), "writ-new-user-"));
    let up: ChildProcess;
    let shown = "";
    let options: { cwd: string; env: Record<string, string>; timeout: number };

    beforeAll(async () => {
      if (skip) return;
      if (ids.uid !== undefined) chownSync(home, ids.uid, ids.uid);
      const env = { PATH: pathWith(hostNode(), theInstalled().app), HOME: home };
      options = { cwd: theInstalled().app, env, timeout: 180_000, ...ids };
      up = spawn(bin("writ"), ["up", "--port", "0", "--grpc-port", "0"], options);
      for (const stream of [up.stdout!, up.stderr!])
        stream.on("data", (text) => {
          shown += text;
        });
      await eventually(
        `writ up greets: ${shown}`,
        () => shown.includes("jobctl run") || up.exitCode !== null,
      );
    });
    afterAll(async () => {
      if (up?.exitCode === null && up.kill("SIGTERM")) await once(up, "exit");
      removeHome(home);
    });

    const bin = (name: string): string => join(theInstalled().app, "node_modules/.bin", name);
    const tell = (name: string): string =>
      skip ? `${name} (not capable: ${obstacle ?? "there is only one user"})` : name;

    test.skipIf(skip)(tell("starts a hub and a worker, whose home is in the user's own"), () => {
      expect(shown).toContain(`home    ${join(home, ".writ")}`);
    });

    test.skipIf(skip)(tell("runs a job from the command line"), async () => {
      const { stdout } = await run(bin("jobctl"), ["run", "echo", "hello"], options);
      expect(stdout).toBe("hello\n");
    });

    test.skipIf(skip)(tell("submits a job from JavaScript and waits for it"), async () => {
      const { stdout } = await run("node", [writeProgram()], options);
      expect(JSON.parse(stdout)).toEqual({ status: "completed" });
    });

    test.skipIf(skip)(tell("opens the dashboard and the reference"), async () => {
      const url = /hub {5}(http\S+)/.exec(shown)![1]!;
      expect(await (await fetch(url)).text()).toContain('<div id="root">');
      expect((await fetch(`${url}/api/docs`)).status).toBe(200);
    });

    test.skipIf(skip)(tell("makes a worker of their own from a template"), async () => {
      const { stdout } = await run(bin("writ"), ["new", "worker", "mine", "--lang", "ts"], {
        ...options,
        cwd: home,
      });
      expect(stdout).toContain("mine/ is a worker");
    });

    test.skipIf(skip)(tell("finds every part of the cage"), async () => {
      const { stdout } = await run(bin("writ"), ["doctor"], options).catch(
        (error: { stdout: string }) => error,
      );
      expect(stdout).toMatch(/ok +cage: launcher +there/);
    });

    test.skipIf(skip)(tell("stops everything with one signal"), async () => {
      const exited = once(up, "exit");
      up.kill("SIGTERM");
      expect(await exited).toEqual([0, null]);
    });

    function writeProgram(): string {
      const folder = join(theInstalled().app, "programs");
      mkdirSync(folder, { recursive: true });
      const file = join(folder, "submit.mjs");
      writeFileSync(
        file,
        `import { Writ } from "writ/client";
const writ = Writ.fromEnvironment(process.env);
const { id } = await writ.submit({ type: "exec", run: { kind: "exec", argv: ["true"] } });
const { status } = await writ.wait(id);
writ.close();
console.log(JSON.stringify({ status }));
`,
      );
      return file;
    }
  });
}
