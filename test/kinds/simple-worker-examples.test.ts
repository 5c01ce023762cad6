import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasPython } from "../support/python.ts";

const examples = join(import.meta.dirname, "../../examples");

/** A pause is a line in a file, so that no test has to wait for it. */
const programs = {
  "simple-worker.sh": ["sh", join(examples, "simple-worker.sh")],
  ...(hasPython && {
    "simple_worker.py": [
      "python3",
      "-c",
      `import os, runpy, sys, time
path = sys.argv.pop(1)
def pause(sec):
    with open(os.environ["PAUSES"], "a") as file: file.write("pause\\n")
time.sleep = pause
runpy.run_path(path)`,
      join(examples, "simple_worker.py"),
    ],
  }),
};

type Answer = { status: number; body?: unknown };

/** Runs a program against a server in the place of a hub, until `answer` gives nothing more. */
async function runAgainst(
  words: readonly string[],
  answer: (path: string, body: string, pauses: number) => Answer | undefined,
  more: Record<string, string> = {},
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "writ-example-"));
  const pauses = join(dir, "pauses");
  appendFileSync(pauses, "");
  writeFileSync(join(dir, "sleep"), `#!/bin/sh\necho pause >> "${pauses}"\n`);
  chmodSync(join(dir, "sleep"), 0o755);
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const path = (request.url ?? "").replace("/api/v1", "");
    const count = readFileSync(pauses, "utf8").split("\n").length - 1;
    const given = answer(path, Buffer.concat(pieces).toString(), count);
    if (given === undefined) return end();
    response.writeHead(given.status).end(given.body === undefined ? "" : JSON.stringify(given.body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const [program = "", ...args] = words;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { PATH: `${dir}:${process.env["PATH"]}`, WRIT_HUB_URL: url, WRIT_TOKEN: "t", PAUSES: pauses };
  const worker = spawn(program, args, {
    env: { ...env, ...more, TMPDIR: dir },
    stdio: "ignore",
    detached: true,
  });
  onTestFinished(async () => {
    // With what it has started: a shell waits for its curl before it hears a signal.
    if (worker.exitCode === null && process.kill(-worker.pid!, "SIGKILL")) await once(worker, "exit");
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  await over;
}

describe.each(Object.entries(programs))("the example %s", (_, words) => {
  test("pauses before it claims again when the hub has nothing for it", async () => {
    const pausesAtClaims: number[] = [];
    await runAgainst([...words, "cat"], (path, _body, pauses) => {
      if (path === "/jobs/claim") pausesAtClaims.push(pauses);
      return pausesAtClaims.length > 3 ? undefined : { status: 204 };
    });
    expect(pausesAtClaims).toEqual([0, 1, 2, 3]);
  });

  /** Gives the program one job, and returns what it registers with and how it reports the end. */
  async function reportOf(command: string, env: Record<string, string> = {}) {
    const job = { id: "j", type: "t", attempt: 1, token: "secret", params: { n: 1 }, priority: 5 };
    const calls: { path: string; body: Record<string, unknown> }[] = [];
    let isGiven = false;
    await runAgainst(
      [...words, "sh", "-c", command],
      (path, body) => {
        if (path === "/jobs/claim") {
          if (isGiven) return undefined;
          isGiven = true;
          return { status: 200, body: job };
        }
        calls.push({ path, body: JSON.parse(body) });
        return path === "/workers/register" ? { status: 204 } : { status: 200, body: {} };
      },
      env,
    );
    return { registered: calls[0], report: calls.at(-1) };
  }

  test("reports a result of 300,000 bytes, and null for a command that prints nothing", async () => {
    const digits = `printf '"'; head -c 300000 /dev/zero | tr '\\0' 7; printf '"\\n'`;
    expect((await reportOf(digits)).report).toMatchObject({
      path: "/jobs/j/result",
      body: { token: "secret", result: "7".repeat(300_000) },
    });
    expect((await reportOf("true")).report).toMatchObject({
      path: "/jobs/j/result",
      body: { result: null },
    });
  });

  test("sends what a failed command wrote to stderr", async () => {
    const { report } = await reportOf(`echo 'a "quoted" \\ thing' >&2; exit 3`);
    expect(report).toMatchObject({
      path: "/jobs/j/fail",
      body: { reason: expect.stringContaining('a "quoted" \\ thing') },
    });
  });

  test("claims jobs of all types, or only of those that WORKER_TYPES names", async () => {
    expect((await reportOf("true")).registered?.body).not.toHaveProperty("types");
    const { registered } = await reportOf("true", { WORKER_TYPES: "one,two" });
    expect(registered?.body).toMatchObject({ types: ["one", "two"] });
  });
});
