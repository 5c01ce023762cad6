import { type ChildProcess, execFile, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "../support/eventually.ts";
import { removeHome } from "../support/remove-home.ts";

const root = join(import.meta.dirname, "../..");

type TestAnswer = { file: string; name: string; passed: boolean; words: string };

/** What is read of vitest's report. */
type Report = {
  testResults: {
    name: string;
    assertionResults: {
      ancestorTitles: string[];
      title: string;
      status: string;
      failureMessages: string[];
    }[];
  }[];
};

/** A copy of the sources in which a recipe can be followed. It is run as it is, without bundles. */
export class CheckoutCopy {
  readonly dir = mkdtempSync(join(tmpdir(), "writ-recipe-"));
  readonly home = join(this.dir, "home");
  /** The files that the recipe has written or edited so far. */
  readonly touched = new Set<string>();
  #child: ChildProcess | undefined;

  constructor(names = ["src", "package.json", "tsconfig.json"]) {
    for (const name of names) {
      cpSync(join(root, name), join(this.dir, name), { recursive: true });
    }
    symlinkSync(join(root, "node_modules"), join(this.dir, "node_modules"));
  }

  write(path: string, text: string): void {
    this.touched.add(path);
    mkdirSync(dirname(join(this.dir, path)), { recursive: true });
    writeFileSync(join(this.dir, path), text, { flag: "wx" });
  }

  /** Replaces the one place in a file where this text stands. */
  edit(path: string, from: string | RegExp, to: string): void {
    const parts = readFileSync(join(this.dir, path), "utf8").split(from);
    if (parts.length !== 2) throw new Error(`${path} holds ${from} ${parts.length - 1} times`);
    this.touched.add(path);
    writeFileSync(join(this.dir, path), parts.join(to));
  }

  /** What the type checker has to say of these files and all that they import; empty when all is well. */
  async checkTypes(...files: string[]): Promise<string> {
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    this.edit("tsconfig.json", /"(?:include|files)": \[.*?\]/, `"files": ${JSON.stringify(files)}`);
    const run = promisify(execFile)(process.execPath, [tsc, "--noEmit"], { cwd: this.dir });
    return run.then(
      ({ stdout }) => stdout,
      (error) => error.stdout || String(error),
    );
  }

  /** Runs test files, or those that vitest's words choose, whatever becomes of them. A name holds the titles around the test. */
  async runTests(...files: string[]): Promise<TestAnswer[]> {
    const report = join(this.dir, "report.json");
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const words = ["run", "--reporter=json", `--outputFile=${report}`, ...files];
    const run = promisify(execFile)(process.execPath, [vitest, ...words], { cwd: this.dir });
    const { stderr } = await run.catch((error: { stderr: string }) => error);
    if (!existsSync(report)) throw new Error(`vitest wrote no report: ${stderr}`);
    const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
    return testResults.flatMap(({ name: file, assertionResults }) =>
      assertionResults.map(({ ancestorTitles, title, status, failureMessages }) => ({
        file,
        name: [...ancestorTitles, title].join(" > "),
        passed: status === "passed",
        words: failureMessages.join("\n"),
      })),
    );
  }

  /** What this program prints, as JSON. It may import the copy's own files, by their path below the copy. */
  async run(program: string): Promise<unknown> {
    this.write("program.ts", program);
    const run = promisify(execFile)(process.execPath, [join(this.dir, "program.ts")]);
    return JSON.parse((await run).stdout);
  }

  /** Starts `writ up`: a hub, and a worker in a process of its own. */
  async startHub(): Promise<void> {
    const words = ["up", "--home", this.home, "--port", "0", "--grpc-port", "0"];
    const child = spawn(process.execPath, [join(this.dir, "src/cli/writ.ts"), ...words], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"], NODE_ID: "local" },
    });
    this.#child = child;
    let errors = "";
    child.stderr.on("data", (text) => {
      errors += text;
    });
    await eventually("the hub is there", () => {
      if (child.exitCode !== null) throw new Error(`writ up exited with ${child.exitCode}: ${errors}`);
      return existsSync(join(this.home, "hub.json"));
    });
  }

  /** Calls the hub as its administrator. */
  async call(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
    const { url } = JSON.parse(readFileSync(join(this.home, "hub.json"), "utf8")) as { url: string };
    const token = readFileSync(join(this.home, "admin.token"), "utf8").trim();
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: body && JSON.stringify(body),
    });
    return { status: answer.status, body: await answer.json() };
  }

  async remove(): Promise<void> {
    const child = this.#child;
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await exited;
    }
    removeHome(this.home);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
