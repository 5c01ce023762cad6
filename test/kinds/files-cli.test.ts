import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { runCli } from "../support/run-cli.ts";
import { kindStage } from "./stage.ts";

const stage = kindStage();
const { hub } = stage;
let dir: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "writ-files-cli-"));
  await stage.startWorker();
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const sha256 = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function jobctl(...args: string[]) {
  return runCli("jobctl", args, { env: { WRIT_HOME: hub.home } });
}

/** The id of a job that has left the file `a.txt`. */
async function jobWithFiles(): Promise<string> {
  const script = `cd $JOB_OUTPUT_DIR; mkdir deep; printf one > a.txt; printf two > deep/b.txt`;
  const { stdout } = await jobctl(
    "submit",
    "t",
    "--exec",
    "--collect",
    "**",
    "--wait",
    "--json",
    "--",
    "sh",
    "-c",
    script,
  );
  return JSON.parse(stdout).job_id;
}

describe("jobctl run", () => {
  test("sends inputs, saves what the job leaves, and prints the job's output and nothing else on stdout", async () => {
    writeFileSync(join(dir, "in.txt"), "hello");
    const saved = join(dir, "new/saved");
    const run = await jobctl(
      ...[
        "run",
        "--input",
        join(dir, "in.txt"),
        "--input",
        `deep/x=${join(dir, "in.txt")}`,
        "--output",
        saved,
        "--",
      ],
      ...["sh", "-c", "cat inputs/in.txt inputs/deep/x; echo -n out > $JOB_OUTPUT_DIR/out.txt; exit 7"],
    );
    expect(run).toMatchObject({ code: 7, stdout: "hellohello" });
    expect(run.stderr).toContain(`jobctl: 1 file was saved (3 bytes) in ${saved}`);
    expect(readFileSync(join(saved, "out.txt"), "utf8")).toBe("out");
  });

  test("never writes outside the directory, whatever is in it", async () => {
    mkdirSync(join(dir, "outside"));
    mkdirSync(join(dir, "saved"));
    symlinkSync("../outside", join(dir, "saved/sub"));
    const script = "mkdir $JOB_OUTPUT_DIR/sub; echo x > $JOB_OUTPUT_DIR/sub/x";
    const run = await jobctl("run", "--output", join(dir, "saved"), "--", "sh", "-c", script);
    expect(run.code).toBe(125);
    expect(run.stderr).toContain("symbolic link");
    expect(existsSync(join(dir, "outside/x"))).toBe(false);
  });

  test("says which directory cannot be written, also one in which none can ever be made", async () => {
    writeFileSync(join(dir, "plain"), "");
    for (const [place, code] of [
      [join(dir, "plain"), "EEXIST"],
      ["/proc/nope", "ENOENT"],
    ] as const) {
      const run = await jobctl("run", "--output", place, "--", "sh", "-c", "echo x > $JOB_OUTPUT_DIR/x");
      expect(run.code).toBe(125);
      expect(run.stderr).toContain(`files cannot be saved to ${place} (${code}); choose another directory`);
    }
  });

  test("says which input is missing, and starts nothing", async () => {
    const run = await jobctl("run", "--input", "/no/such/file", "--", "true");
    expect(run).toMatchObject({ code: 125, stdout: "" });
    expect(run.stderr).toContain('--input "/no/such/file": there is no such file; give FILE, or PATH=FILE');
    const folder = await jobctl("run", "--input", dir, "--", "true");
    expect(folder.stderr).toContain("is a directory; pack it into an archive");
  });

  test("does not wait for files with --detach", async () => {
    const run = await jobctl("run", "--detach", "--output", dir, "--", "true");
    expect(run.stderr).toContain(
      "--output: with --detach the command does not wait for the files; use --collect instead",
    );
  });

  test("-i sends up to 8 MiB of standard input", async () => {
    const typed = randomBytes(600_000).toString("hex");
    const run = await runCli("jobctl", ["run", "-i", "--", "sha256sum"], {
      env: { WRIT_HOME: hub.home },
      typed,
    });
    expect(run.stdout).toContain(sha256(typed));
    const tooLong = await runCli("jobctl", ["run", "-i", "--", "wc"], {
      env: { WRIT_HOME: hub.home },
      typed: "x".repeat(8 * 1024 ** 2 + 1),
    });
    expect(tooLong).toMatchObject({ code: 125 });
    expect(tooLong.stderr).toContain(
      "-i: standard input has more than 8388608 bytes; put it into a file and use --input",
    );
  });
});

describe("jobctl artifacts", () => {
  test("list shows path, size and hash", async () => {
    const id = await jobWithFiles();
    const { stdout } = await jobctl("artifacts", "list", id);
    expect(stdout).toMatch(/^PATH\s+SIZE\s+SHA-256\s+STATE\n/);
    expect(stdout).toContain(`a.txt       3 bytes  ${sha256("one")}  stored\n`);
    const lines = (await jobctl("artifacts", "list", id, "--json")).stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { path: "a.txt", object_key: `${id}/a.txt`, size: 3, sha256: sha256("one"), available: true },
      { path: "deep/b.txt" },
    ]);
  });

  test("get saves all files, or those that are named", async () => {
    const id = await jobWithFiles();
    expect((await jobctl("artifacts", "get", id.slice(-8), "deep/b.txt", "--output", dir)).code).toBe(0);
    expect(existsSync(join(dir, "a.txt"))).toBe(false);
    const json = await jobctl("artifacts", "get", id, "--output", dir, "--json");
    expect(JSON.parse(json.stdout.split("\n")[0]!)).toMatchObject({ saved_as: join(dir, "a.txt") });
    expect(readFileSync(join(dir, "a.txt"), "utf8")).toBe("one");
    const none = await jobctl("artifacts", "get", id, "nope");
    expect(none).toMatchObject({ code: 4 });
    expect(none.stderr).toContain('the job has no file "nope"; `jobctl artifacts list ID` shows its files');
  });

  test("verify compares what is stored, or a copy, with the receipt that the worker signed", async () => {
    const id = await jobWithFiles();
    const stored = await jobctl("artifacts", "verify", id);
    expect(stored).toMatchObject({ code: 0 });
    expect(stored.stdout).toContain(`${id}/a.txt matches the receipt`);
    await jobctl("artifacts", "get", id, "--output", dir);
    expect((await jobctl("artifacts", "verify", id, "--dir", dir)).code).toBe(0);
    writeFileSync(join(dir, "a.txt"), "forged");
    const forged = await jobctl("artifacts", "verify", id, "--dir", dir);
    expect(forged.code).toBe(1);
    expect(forged.stdout).toContain(`${id}/a.txt does not match the receipt`);
  });
});

describe("jobctl submit", () => {
  test("has the limits and the environment of run", async () => {
    const limits = ["--cpu", "1", "--mem", "64M", "--io", "high", "--pids", "20", "--network", "host"];
    const { stdout, stderr } = await jobctl(
      ...[
        "submit",
        "t",
        "--exec",
        "--env",
        "A=b",
        "--cwd",
        "/tmp",
        ...limits,
        "--",
        "sh",
        "-c",
        "echo $A; pwd",
      ],
    );
    expect(stderr).toBe("");
    const job = await stage.ended(stdout.trim());
    expect(job.limits).toEqual({ cpu: "1", memory: "64M", io: "high", pids: 20, network: "host" });
    expect(job.run).toMatchObject({ env: { A: "b" }, cwd: "/tmp" });
    const refused = await jobctl("submit", "t", "--env", "A=b");
    expect(refused.stderr).toContain("--env: is for commands; use it with --exec -- COMMAND");
  });

  test("saves files with --wait", async () => {
    writeFileSync(join(dir, "in"), "data");
    const words = ["--", "sh", "-c", "cp inputs/in $JOB_OUTPUT_DIR/out"];
    const flags = ["--input", join(dir, "in"), "--output", join(dir, "saved")];
    expect((await jobctl("submit", "t", "--exec", "--wait", ...flags, ...words)).code).toBe(0);
    expect(readFileSync(join(dir, "saved/out"), "utf8")).toBe("data");
    const refused = await jobctl("submit", "t", "--exec", ...flags, ...words);
    expect(refused.stderr).toContain("--output: needs --wait, because the files come when the job has ended");
  });
});
