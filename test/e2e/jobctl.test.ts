import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import { removeHome } from "../support/remove-home.ts";

const root = join(import.meta.dirname, "../..");
const jobctl = join(root, "bin/jobctl");
const home = mkdtempSync(join(tmpdir(), "writ-jobctl-"));
/** As another machine has it: filled by `writ certs issue`. */
const bobHome = join(home, "for-bob");
const env = { PATH: process.env["PATH"], WRIT_HOME: home };
const bobEnv = { ...env, WRIT_HOME: bobHome };
let up: ChildProcess;

type Ended = { code: number; stdout: string; stderr: string };

function run(args: string[], options: { env?: typeof env; program?: string } = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const limits = { timeout: 180_000, maxBuffer: 64 * 1024 * 1024 };
    execFile(
      options.program ?? jobctl,
      args,
      { env: options.env ?? env, ...limits },
      (error, stdout, stderr) => {
        resolve({
          code: error === null ? 0 : typeof error.code === "number" ? error.code : -1,
          stdout,
          stderr,
        });
      },
    );
  });
}

async function start(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(["start", ...words]);
  expect([code, stderr]).toEqual([0, ""]);
  return stdout.trim();
}

async function status(id: string): Promise<Record<string, unknown>> {
  return JSON.parse((await run(["status", "--json", id])).stdout);
}

async function inState(id: string, state: string): Promise<Record<string, unknown>> {
  return eventually(`${id} is ${state}`, async () => {
    const job = await status(id);
    return job["state"] === state && job;
  });
}

/** Whether any process of this machine has the word in its command line. */
function isAlive(word: string): boolean {
  return readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name) || name === String(process.pid)) return false;
    try {
      const words = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return words[0] === "sleep" && words.includes(word);
    } catch {
      return false;
    }
  });
}

const oneLine = /^jobctl: [^\n]+\n$/;

beforeAll(async () => {
  writeFileSync(join(home, "writ.yaml"), "commands:\n  users:\n    bob:\n      deny: [rm]\n", {
    mode: 0o600,
  });
  up = spawn(join(root, "bin/writ"), ["up", "--home", home, "--port", "0", "--grpc-port", "0"], {
    env: { PATH: process.env["PATH"] },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let shown = "";
  up.stdout!.on("data", (text) => {
    shown += text;
  });
  await eventually("writ up greets", () => shown.includes("jobctl"));
  const issued = await run(["certs", "issue", "--home", home, "--user", "bob", "--out", bobHome], {
    program: join(root, "bin/writ"),
  });
  expect(issued).toMatchObject({ code: 0 });
});
afterAll(async () => {
  const exited = once(up, "exit");
  if (up.kill("SIGKILL")) await exited;
  removeHome(home);
});

describe("jobctl, as a person uses it", () => {
  it("starts, streams, asks, stops, and streams and asks again", async () => {
    const script = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.05; done";
    const id = await start("sh", "-c", script);
    const streaming = run(["stream", id.slice(-8)]);
    await inState(id, "RUNNING");
    const saidBytes = async () => Number((await status(id))["stdout_bytes"]);
    await eventually("it has said two lines", async () => (await saidBytes()) >= "line 1\nline 2\n".length);
    expect((await run(["status", id])).stdout).toMatch(/^isolation +\S+$/m);

    const stopped = await run(["stop", id.slice(-6)]);
    expect([stopped.code, stopped.stdout]).toEqual([0, `${id} is STOPPED\n`]);

    const { code, stdout } = await streaming;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^line 1\nline 2\n/);
    expect((await run(["stream", id])).stdout).toBe(stdout);
    expect(await status(id)).toMatchObject({ state: "STOPPED", stdout_bytes: stdout.length });

    const again = await run(["stop", id]);
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(oneLine);
  });

  it("takes limits from anywhere among the words, and leaves all others to the command", async () => {
    const listed = await start("ls", "/", "-lah");
    const said = await start("echo", "hello", "world", "--cpu=500m", "--mem=100M", "--io=low");
    expect((await run(["stream", listed])).stdout).toMatch(/^total .*\n(?:.*\n)+$/);
    expect((await run(["stream", said])).stdout).toBe("hello world\n");
    expect(await status(said)).toMatchObject({
      command: ["echo", "hello", "world"],
      limits: { cpu: "500m", memory: "100M", io: "low" },
      state: "EXITED",
      exit_code: 0,
    });
  });

  it("says of a command that does not exist what a person understands", async () => {
    const id = await start("no-such-command");
    const { reason } = await inState(id, "FAILED");
    expect(reason).toBe("command not found: no-such-command");
    expect((await run(["stream", id])).stdout).toBe("");
  });

  it("refuses limits that are none, and names the field", async () => {
    const bad = await run(["start", "ls", "--cpu", "lots"]);
    expect(bad.code).toBe(2);
    expect(bad.stderr).toMatch(oneLine);
    expect(bad.stderr).toContain("cpu");
  });

  it("replays an exited job to the byte, and both of its outputs", async () => {
    const id = await start("sh", "-c", "printf 'a\\000\\033[31mb'; printf oops >&2; exit 3");
    await inState(id, "EXITED");
    expect((await run(["stream", id])).stdout).toBe("a\0\x1b[31mb");
    expect((await run(["stream", id, "--stderr"])).stdout).toBe("oops");
    expect(await status(id)).toMatchObject({ exit_code: 3, stderr_bytes: 4 });
  });

  it.each([["yes"], ["dd", "if=/dev/zero", "bs=64"]])(
    "stops a long %s in the middle of its output",
    async (...words) => {
      const id = await start("timeout", "60", ...words);
      await eventually("it has said something", async () => Number((await status(id))["stdout_bytes"]) > 0);
      const some = await run(["stream", "--no-follow", "--json", id]);
      expect(some.stdout.length).toBeGreaterThan(0);
      expect((await run(["stop", id])).code).toBe(0);
      expect(await status(id)).toMatchObject({ state: "STOPPED" });
    },
  );

  it("lists and finds jobs of its user, and says nothing is there when nothing is", async () => {
    const id = await start("true");
    expect((await run(["list", "--limit", "1"])).stdout).toContain(id.slice(-8));
    const missing = await run(["status", "01890000-0000-7000-8000-000000000000"]);
    expect(missing.code).toBe(4);
    expect(missing.stderr).toMatch(oneLine);
  });
});

describe("another user", () => {
  it.each(["stream", "status", "stop"])("may not %s a job of the first", async (command) => {
    const id = await start("echo", "secret");
    const { code, stdout, stderr } = await run([command, id], { env: bobEnv });
    expect([code, stdout]).toEqual([5, ""]);
    expect(stderr).toMatch(oneLine);
  });

  it("may run and read what is its own", async () => {
    expect(await run(["run", "echo", "mine"], { env: bobEnv })).toEqual({
      code: 0,
      stdout: "mine\n",
      stderr: "",
    });
    const jobs = (await run(["list", "--json"], { env: bobEnv })).stdout.trim().split("\n");
    expect(jobs.map((line) => JSON.parse(line).user)).toEqual(["bob"]);
  });

  it("may not run what writ.yaml denies, and no job exists afterwards", async () => {
    const before = (await run(["list", "--all", "--json"])).stdout.split("\n").length;
    const denied = await run(["start", "rm", "-rf", "x"], { env: bobEnv });
    expect([denied.code, denied.stdout]).toEqual([5, ""]);
    expect(denied.stderr).toMatch(oneLine);
    expect((await run(["run", "rm"], { env: bobEnv })).code).toBe(125);
    expect((await run(["list", "--all", "--json"])).stdout.split("\n").length).toBe(before);
  });
});

describe("jobctl run", () => {
  it.each([
    [7, ["--", "sh", "-c", "exit 7"]],
    [0, ["true"]],
    [127, ["no-such-command"]],
    [126, ["/etc"]],
    [137, ["sh", "-c", "kill -9 $$"]],
    [124, ["--timeout", "1s", "sleep", "60"]],
    [125, ["--nonsense", "true"]],
  ])("ends with %i for %j", async (expected, words) => {
    const { code, stdout } = await run(["run", ...words]);
    expect([code, stdout]).toEqual([expected, ""]);
  });

  it("prints the job's output and nothing else", async () => {
    const done = await run(["run", "sh", "-c", "echo out; echo err >&2"]);
    expect(done).toEqual({ code: 0, stdout: "out\n", stderr: "err\n" });
  });

  it("stops the job at Ctrl-C: its tree is dead when 130 comes back", async () => {
    const marker = String(1_000_000 + process.pid);
    const child = spawn(jobctl, ["run", "sh", "-c", `echo begun; sleep ${marker} & sleep ${marker}`], {
      env,
    });
    const exited = once(child, "exit");
    await once(child.stdout, "data");
    await eventually("its processes run", () => isAlive(marker));
    child.kill("SIGINT");
    expect(await exited).toEqual([130, null]);
    expect(isAlive(marker)).toBe(false);
  });

  it("leaves a job with --detach, and attach takes it up again", async () => {
    const { stdout } = await run(["run", "--detach", "sh", "-c", "echo one; sleep 0.3; echo two; exit 9"]);
    expect(await run(["attach", stdout.trim()])).toEqual({ code: 9, stdout: "one\ntwo\n", stderr: "" });
  });

  it("goes on with the next attempt and says so", async () => {
    const words = [
      "--env",
      "A=1",
      "--attempts",
      "2",
      "sh",
      "-c",
      "echo try $JOB_ATTEMPT; [ $JOB_ATTEMPT = 2 ]",
    ];
    const { stdout } = await run(["run", "--detach", ...words]);
    const id = stdout.trim();
    await eventually("the first attempt is over", async () => {
      const job = await status(id);
      return job["state"] === "QUEUED" && job["attempt"] === 1;
    });
    const streaming = spawn(jobctl, ["stream", id], { env });
    let said = "";
    streaming.stderr.on("data", (text) => {
      said += text;
    });
    await eventually("it says so", () => said.includes("following attempt 2"));
    // Listened for before the stop: it may end before the stop has been answered.
    const exited = once(streaming, "exit");
    // The second attempt would come in half a minute; this test does not wait for it.
    await run(["stop", id]);
    expect(await exited).toEqual([0, null]);
  });
});

describe("C5: jobctl run in a pipe", () => {
  const shell = (script: string) => run(["-c", script], { program: "/bin/sh" });

  it("C5: sends its input with -i, to the byte, with a certificate and with a token", async () => {
    const token = readFileSync(join(home, "admin.token"), "utf8").trim();
    const made = "head -c 65536 /dev/zero | tr '\\0' x";
    for (const flags of ["", `--token ${token}`]) {
      const { code, stdout, stderr } = await shell(`${made} | ${jobctl} ${flags} run -i wc -c`);
      expect([code, stdout.trim(), stderr]).toEqual([0, "65536", ""]);
    }
  });

  it("C5: sends more than 64 KiB as a file, and refuses more than 8 MiB before anything runs", async () => {
    expect((await shell(`head -c 65537 /dev/zero | ${jobctl} run -i wc -c`)).stdout).toBe("65537\n");
    const { code, stdout, stderr } = await shell(`head -c 8388609 /dev/zero | ${jobctl} run -i cat`);
    expect([code, stdout]).toEqual([125, ""]);
    expect(stderr).toMatch(/^jobctl: -i: standard input has more than 8388608 bytes; [^\n]+\n$/);
  });

  it("C5: says without -i that the input is not sent, and leaves it to the shell", async () => {
    const { stdout, stderr } = await shell(`printf 'one\\ntwo\\n' | { ${jobctl} run cat; cat; }`);
    expect(stdout).toBe("one\ntwo\n");
    expect(stderr).toMatch(/^jobctl: standard input is not sent to the job; -i sends [^\n]+\n$/);
  });
});

const hasTerminal = existsSync("/usr/bin/script");
describe.skipIf(!hasTerminal)(
  `jobctl watch on a terminal${hasTerminal ? "" : " (not capable: no script)"}`,
  () => {
    const watch = (...flags: string[]) => {
      const terminal = spawn(
        "/usr/bin/script",
        ["-qefc", [jobctl, "watch", ...flags].join(" "), "/dev/null"],
        {
          env: { ...env, TERM: "xterm" },
        },
      );
      onTestFinished(() => void terminal.kill("SIGKILL"));
      let shown = "";
      terminal.stdout.on("data", (text) => {
        shown += text;
      });
      return { terminal, shown: () => shown };
    };

    it("counts all jobs, not only the rows that it shows", async () => {
      const running = await start("sleep", "60");
      await inState(running, "RUNNING");
      const newest = await start("true");
      await inState(newest, "EXITED");
      const { shown } = watch("--limit", "1");
      await eventually("the table is there", () => shown().includes(newest.slice(-8)));
      expect(shown()).toContain("1 running, 0 queued, 1 shown; q quits");
      await run(["stop", running]);
      await eventually("the end is counted", () => shown().includes("0 running, 0 queued, 1 shown; q quits"));
    });

    it("shows a live table on a screen of its own, and q leaves", async () => {
      const id = await start("sleep", "60");
      await inState(id, "RUNNING");
      const { terminal, shown } = watch();
      await eventually("the table is there", () => shown().includes(id.slice(-8)));
      expect(shown()).toContain("\x1b[?1049h");
      expect(shown()).toMatch(/ID +STATE/);
      await run(["stop", id]);
      await eventually("the change is shown", () =>
        new RegExp(`${id.slice(-8)}[^\\n]*STOPPED`).test(shown().slice(shown().lastIndexOf("\x1b[H"))),
      );
      const exited = once(terminal, "exit");
      terminal.stdin.write("q");
      expect(await exited).toEqual([0, null]);
      expect(shown()).toContain("\x1b[?1049l");
    });
  },
);
