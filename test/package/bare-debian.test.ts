import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readBlock } from "../docs/page.ts";
import { eventually } from "../support/eventually.ts";
import { checkout, makeDebian } from "../support/make-debian.ts";
import { removeHome } from "../support/remove-home.ts";
import { BareMachine, machineObstacle } from "./bare-machine.ts";
import { packInto } from "./installed-package.ts";

/** Node as npm has it, and the npm that Node 20 brings: Debian's own are older. */
const debian = makeDebian({
  name: "bare",
  variant: "minbase",
  packages: [],
  finish: `npm install --global --prefix "$root/usr/local" --ignore-scripts --no-audit --no-fund --loglevel=error npm@10 node-linux-${process.arch}@20 >&2`,
});
const obstacle = debian.obstacle ?? machineObstacle();
const page = "docs/getting-started.md";
const anyPort = "--port 0 --grpc-port 0";
/** It installs, compiles and downloads, maybe on a machine that does much else. */
const patienceMs = 600_000;

// Somebody who has a Debian with nothing but Node 20 and npm, and reads docs/getting-started.md. Every line that this person
// types is one of that page.
describe.skipIf(obstacle !== null)(
  `a new user on a bare Debian${obstacle === null ? "" : ` (not capable: ${obstacle})`}`,
  { timeout: patienceMs },
  () => {
    let machine: BareMachine;
    let tarball: string;
    let terminal: Terminal;
    let submitted: string;

    beforeAll(async () => {
      machine = await BareMachine.start(debian.path);
      const dir = mkdtempSync(join(tmpdir(), "writ-bare-package-"));
      tarball = machine.addFile(packInto(dir));
      removeHome(dir);
    }, patienceMs);
    afterAll(() => machine?.stop());

    /** The lines of a code block of the page, with the place where the tarball is. */
    const linesOf = (block: string): string[] =>
      codeOf(block)
        .split("\n")
        .map((line) => line.replace("/path/to/writ-0.1.0.tgz", tarball));

    test("has Node 20, and neither the library that Node 26 needs nor a compiler", async () => {
      expect(await machine.must("user", "node --version")).toMatch(/^v20\./);
      expect(await machine.must("root", "find / -xdev -name 'libatomic.so*'")).toBe("");
      expect((await machine.run("root", "gcc --version")).code).toBe(127);
    });

    test("installs the package, and is told in one line which library a hub lacks", async () => {
      const [enter, install, up] = linesOf("install package");
      await machine.must("user", `${enter} && ${install}`);
      const first = await machine.run("user", `cd app && ${up} ${anyPort}`);
      const missing =
        "writ: the Node that was fetched needs libatomic.so.1 (Debian: apt-get install libatomic1)\n";
      expect(first).toEqual({
        code: 1,
        stdout: "",
        stderr: expect.stringMatching(/^writ: fetching .*\nwrit: /),
      });
      expect(first.stderr.replace(/^.*\n/, "")).toBe(missing);
      const again = await machine.run("user", `cd app && ${up} ${anyPort}`);
      expect(again).toEqual({ code: 1, stdout: "", stderr: missing });
    });

    test("installs the library, starts a hub, and runs a job", async () => {
      await machine.must("root", linesOf("install library").join("\n"));
      const up = linesOf("install package").at(-1);
      terminal = new Terminal(machine, `cd app && ${up} ${anyPort}`);
      await terminal.shows("jobctl run echo hello");
      const [run] = linesOf("install run");
      expect(await machine.must("user", `cd app && ${run}`)).toBe("hello\n");
    });

    test("compiles a program in another folder, which submits a job and waits for it", async () => {
      // A newer compiler than ours may come at any time.
      const { devDependencies } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
      const pinned = (line: string) =>
        line.replace(/\b(typescript|@types\/node)\b/g, (name) => `${name}@${devDependencies[name]}`);
      await machine.must("user", linesOf("install typescript").map(pinned).join(" && "));
      const dir = mkdtempSync(join(tmpdir(), "writ-bare-program-"));
      writeFileSync(join(dir, "submit.ts"), codeOf("install program"));
      const program = machine.addFile(join(dir, "submit.ts"));
      removeHome(dir);
      await machine.must("user", `cp ${program} program/submit.ts`);
      const [compile, run] = linesOf("install compile");
      // For a bundler it is compiled in package.test.ts.
      expect(await machine.run("user", `cd program && ${compile}`)).toMatchObject({ code: 0, stdout: "" });
      const printed = await machine.must("user", `cd program && ${run}`);
      expect(printed).toMatch(/^[0-9a-f-]{36} completed\n$/);
      submitted = printed.split(" ")[0]!;
    });

    test("stops with Ctrl-C and starts again, and everything is still there", async () => {
      await terminal.interrupt();
      await eventually("the hub has stopped", async () => {
        const { code, stderr } = await machine.run("user", "cd app && npx jobctl list");
        return code === 6 && stderr.includes("no hub is running in /home/ada/.writ");
      });
      const up = linesOf("install package").at(-1);
      terminal = new Terminal(machine, `cd app && ${up} ${anyPort}`);
      await terminal.shows("jobctl run echo hello");
      expect(await machine.must("user", "cd app && npx jobctl list")).toContain(submitted.slice(-8));
      expect(await machine.must("user", `cd app && npx jobctl stream ${submitted}`)).toBe("hello\n");
      const [run] = linesOf("install run");
      expect(await machine.must("user", `cd app && ${run}`)).toBe("hello\n");
    });
  },
);

/** A terminal of the user in which one command runs, with what it shows. */
class Terminal {
  readonly #child: ChildProcess;
  #shown = "";

  constructor(machine: BareMachine, line: string) {
    this.#child = machine.start("user", `script --quiet --flush --return --command '${line}' /dev/null`);
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      stream.on("data", (text: Buffer) => {
        this.#shown += text;
      });
  }

  async shows(text: string): Promise<void> {
    await eventually(
      "the command shows what it should, or ends",
      () => this.#shown.includes(text) || this.#hasEnded,
    );
    expect(this.#shown).toContain(text);
  }

  /** Presses Ctrl-C. What the command ends with is that of npx and its shell. */
  async interrupt(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.stdin!.write("\x03");
    await exited;
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null;
  }
}

function codeOf(block: string): string {
  return readBlock(page, block)
    .replace(/^```\w+\n/, "")
    .replace(/\n?```$/, "");
}
