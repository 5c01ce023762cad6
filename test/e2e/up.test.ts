import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve as resolvePath } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { removeHome } from "../support/remove-home.ts";

const root = join(import.meta.dirname, "../..");
const home = join(mkdtempSync(join(tmpdir(), "writ-up-")), "home");
let up: ChildProcess;
let shown = "";

type Ended = { code: number; stdout: string; stderr: string };

function run(program: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const options = {
      cwd: root,
      env: { PATH: process.env["PATH"], WRIT_HOME: home, ...env },
      timeout: 180_000,
    };
    execFile(resolvePath(root, program), args, options, (error, stdout, stderr) => {
      resolve({
        code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1,
        stdout,
        stderr,
      });
    });
  });
}

beforeAll(async () => {
  up = spawn(join(root, "bin/writ"), ["up", "--home", home, "--port", "0", "--grpc-port", "0"], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [up.stdout!, up.stderr!]) {
    stream.on("data", (text) => {
      shown += text;
    });
  }
  await eventually("writ up greets", () => shown.includes("jobctl"));
});
afterAll(() => {
  // The last test has stopped it; only one that failed leaves something to kill.
  up.kill("SIGKILL");
  removeHome(join(home, ".."));
});

describe("writ up", () => {
  it("C7: is the process that its caller started, and says where it is: HTTP, gRPC, worker and home", () => {
    const file = JSON.parse(readFileSync(join(home, "hub.json"), "utf8"));
    expect(file).toMatchObject({ pid: up.pid, port: expect.any(Number), version: expect.any(String) });
    expect(shown).toContain(file.url);
    expect(shown).toMatch(new RegExp(`^  grpc {4}\\S+:${file.grpc_port}$`, "m"));
  });

  it("fills a private home", () => {
    expect(statSync(home).mode & 0o777).toBe(0o700);
    for (const name of ["admin.token", "writ.sqlite", "hub.json", "writ.yaml", "logs/hub.log"]) {
      expect([name, statSync(join(home, name)).mode & 0o077]).toEqual([name, 0]);
    }
    expect(readdirSync(home)).toEqual(expect.arrayContaining(["keys", "outputs", "objects", "work", "logs"]));
  });

  it("refuses a second hub for the same home, in one line that names the first", async () => {
    const second = await run("bin/writ", ["hub", "--home", home, "--port", "0"]);
    expect(second.code).toBe(2);
    expect(second.stderr.trim().split("\n")).toHaveLength(1);
    expect(second.stderr).toContain(`process ${up.pid}`);
  });

  it("runs a command from submit to result", async () => {
    const script = 'echo out; echo err >&2; printf \'{"answer": 42}\' > "$JOB_RESULT_FILE"';
    const done = await run("bin/jobctl", [
      "submit",
      "exec",
      "--json",
      "--wait",
      "--exec",
      "--",
      "sh",
      "-c",
      script,
    ]);
    expect(done.code).toBe(0);
    const { job_id: id, result } = JSON.parse(done.stdout.trim().split("\n").at(-1)!);
    expect(result).toEqual({ answer: 42 });
    expect((await run("bin/jobctl", ["stream", id])).stdout).toBe("out\n");
    expect((await run("bin/jobctl", ["stream", id, "--stderr"])).stdout).toBe("err\n");
    expect(JSON.parse((await run("bin/jobctl", ["result", id])).stdout)).toEqual({ answer: 42 });
    expect(JSON.parse((await run("bin/jobctl", ["status", id, "--json"])).stdout)).toMatchObject({
      state: "EXITED",
      exit_code: 0,
      isolation: expect.objectContaining({ level: expect.any(String) }),
    });
    expect((await run("bin/jobctl", ["status", id.slice(-8)])).stdout).toContain(id);
  });

  it("says with its exit code when a job failed, and why", async () => {
    const argv = ["submit", "exec", "--attempts", "1", "--wait", "--exec", "--", "sh", "-c", "exit 7"];
    const failed = await run("bin/jobctl", argv);
    expect(failed.code).toBe(1);
    const missing = await run("bin/jobctl", ["status", "01890000-0000-7000-8000-000000000000"]);
    expect(missing.code).toBe(4);
    const denied = await run("bin/jobctl", ["workers", "--token", "sk_user_wrong"]);
    expect(denied.code).toBe(5);
    const nowhere = await run("bin/jobctl", ["workers", "--hub", "http://127.0.0.1:1"]);
    expect(nowhere.code).toBe(6);
    for (const { stderr } of [missing, denied, nowhere]) expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  it("runs the session in the README as it is printed there", async () => {
    const blocks = readFileSync(join(root, "README.md"), "utf8").matchAll(/^```console\n([\s\S]*?)^```$/gm);
    const [session] = [...blocks].map(([, text]) => text!).filter((text) => text.startsWith("$ bin/jobctl"));
    const commands = [...session!.matchAll(/^\$ (.+)$/gm)].map(([, command]) => command!);
    expect(commands.length).toBeGreaterThan(4);
    const ended = await run("/bin/sh", ["-ec", commands.join("\n")]);
    expect([ended.code, ended.stderr]).toEqual([0, ""]);
    // On a busy machine the stop may come before the job has written its line.
    expect(ended.stdout).toMatch(/^hello\nID +STATE[\s\S]+ is STOPPED\n(?:working\n)?[\s\S]+ cancelled\n$/);
  });

  for (const example of readdirSync(join(root, "examples")).filter((name) => name.endsWith(".ts"))) {
    it(`serves examples/${example}`, async () => {
      const ended = await run("node_modules/.bin/node", [join(root, "examples", example)]);
      expect(ended.code).toBe(0);
      // A handler that refuses its job says so in the worker's log, and nothing else is wrong.
      expect(ended.stderr).toMatch(/^(?:writ worker \S+: (?:the handler of add failed|refused job).*\n)*$/);
      expect(ended.stdout).not.toBe("");
    });
  }

  it("gives its worker the new key after an emergency rotation", async () => {
    expect(await run("bin/writ", ["keys", "rotate", "--emergency"])).toMatchObject({ code: 0, stderr: "" });
    expect(await run("bin/jobctl", ["run", "echo", "again"])).toMatchObject({ code: 0, stdout: "again\n" });
    expect(shown).toContain("restarting it with the new ones");
  });

  it("does not restart a worker again and again whose settings are wrong, but as soon as they are corrected", async () => {
    const file = join(home, "worker/agents.yaml");
    const good = readFileSync(file, "utf8");
    writeFileSync(file, `${good}\nnonsense: 1\n`);
    const [worker] = readFileSync(`/proc/${up.pid}/task/${up.pid}/children`, "utf8").split(" ");
    process.kill(Number(worker), "SIGKILL");
    await eventually("the refusal is told", () => shown.includes("does not accept its settings"));
    expect(shown).toContain("nonsense: is not a known key");
    writeFileSync(file, good);
    expect(await run("bin/jobctl", ["run", "echo", "corrected"])).toMatchObject({
      code: 0,
      stdout: "corrected\n",
    });
    expect(shown.split("does not accept its settings")).toHaveLength(2);
  });

  it("stops cleanly at SIGTERM, with its worker", async () => {
    const exited = new Promise<number | null>((resolve) => up.once("exit", (code) => resolve(code)));
    up.kill("SIGTERM");
    expect(await exited).toBe(0);
    expect(existsSync(join(home, "hub.json"))).toBe(false);
  });
});
