import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect } from "vitest";
import { readInjections } from "../../src/runners/egress/read-injections.ts";
import { readSecrets } from "../../src/runners/read-secrets.ts";
import type { SecretEntry } from "../../src/runners/runner.ts";
import { cageTest, setStage } from "./cage-stage.ts";
import { type Credentials, makeCredentials, Names, openHttps, portOf, runClosed } from "./egress-world.ts";

const key = "sk-live-4f0e9c5b7a2d4e6f8a1b3c5d7e9f0a2b";
const masked = "*".repeat(key.length);

type Inject = NonNullable<SecretEntry["inject"]>;

describe("a key that the worker adds", () => {
  const stage = setStage();
  const dir = mkdtempSync(join(tmpdir(), "writ-key-"));
  const file = join(dir, "key");
  const names = new Names({
    "api.test": ["127.0.0.1"],
    "stranger.test": ["127.0.0.1"],
    "public.test": ["127.0.0.1"],
  });
  const seen: IncomingMessage[] = [];
  let trusted: Credentials;
  let other: Credentials;
  let api: Server;
  let stranger: Server;

  beforeAll(async () => {
    writeFileSync(file, `${key}\n`, { mode: 0o600 });
    trusted = makeCredentials(["api.test"]);
    other = makeCredentials(["stranger.test"]);
    api = await openHttps(trusted, answer);
    stranger = await openHttps(other, answer);
  });
  afterAll(() => {
    for (const server of [api, stranger]) server.close();
    for (const one of [trusted, other]) one.close();
    rmSync(dir, { recursive: true, force: true });
  });

  /** A server that tells all that it was told. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    seen.push(request);
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk);
    const said = String(request.headers["x-api-key"] ?? request.headers.authorization);
    if (request.url === "/zip") response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(said));
    else if (request.url === "/moved")
      response.writeHead(307, { location: `https://elsewhere.test/${said}` }).end();
    else if (request.url === "/slow") {
      response.writeHead(200, { "x-echo": said, "set-cookie": ["a=1", "b=2"] });
      // The value arrives in pieces, and none of them is held for ever.
      for (const piece of ["first\n", ...said, "\nlast\n"]) {
        response.write(piece);
        await pause(1);
      }
      response.end();
    } else response.end(`${request.method} ${request.headers.host} ${said} ${Buffer.concat(body)}\n`);
  }

  const secretsOf = (inject: Inject) => ({ KEY: { file, tenants: ["default"], inject } });
  const here = (): Inject => ({ host: `api.test:${portOf(api)}`, header: "X-Api-Key" });

  const run = (argv: string[], inject: Inject = here(), more: object = {}) =>
    runClosed(stage, argv, {
      names,
      egress: { allow: [], inject: ["KEY"] },
      allow: [`127.0.0.1:${portOf(api)}`, `127.0.0.1:${portOf(stranger)}`],
      settings: { secrets: secretsOf(inject) },
      ca: [String(trusted.cert)],
      ...more,
    });

  cageTest(
    "is not given to a job that asks for it in its environment, and a plain secret is added nowhere",
    async () => {
      const secrets = { ...secretsOf(here()), PLAIN: { file, tenants: ["default"] } };
      const refused = { detail: "NO_SUCH_SECRET", code: "INVALID_JOB" };
      await expect(readSecrets(secrets, ["KEY"], "default")).rejects.toMatchObject(refused);
      for (const [name, tenant] of [
        ["PLAIN", "default"],
        ["OTHER", "default"],
        ["KEY", "strangers"],
        ["__proto__", "default"],
      ])
        await expect(readInjections(secrets, [name!], tenant!)).rejects.toMatchObject(refused);
    },
  );

  cageTest("does not reach a host that its file does not name", async () => {
    for (const url of [
      "http://stranger.test.writ.internal/",
      "http://api.test.writ.internal:8080/",
      "http://a.api.test.writ.internal/",
    ]) {
      const { stdout } = await run(["curl", "-sS", url]);
      expect(stdout).toContain("NO_SUCH_SECRET: this job has no key for this host");
    }
    expect(seen).toEqual([]);
  });

  cageTest("does not reach a server whose certificate is not that host's", async () => {
    const wrong = { ...here(), host: `api.test:${portOf(stranger)}` };
    const { stdout } = await run(["curl", "-sS", "http://api.test.writ.internal/"], wrong);
    expect(stdout).toContain("has no certificate that can be trusted");
    expect(seen).toEqual([]);
  });

  cageTest("does not reach a private address that the worker's file does not name", async () => {
    const { stdout } = await run(["curl", "-sS", "http://api.test.writ.internal/"], here(), {
      allow: ["*:443"],
    });
    expect(stdout).toContain("has an address that is loopback");
    expect(seen).toEqual([]);
  });

  cageTest("replaces what the job sends in its header, and is masked in the answer", async () => {
    const sends = [
      "-H",
      "x-api-key: mine",
      "-H",
      "X-API-KEY: also mine",
      "-H",
      "Connection: x-api-key",
      "-d",
      "hello",
    ];
    const { stdout, usage, isolation } = await run([
      "curl",
      "-sS",
      ...sends,
      "http://api.test.writ.internal/v1",
    ]);
    expect(stdout).toBe(`POST api.test:${portOf(api)} ${masked} hello\n`);
    expect(seen.at(-1)!.headersDistinct["x-api-key"]).toEqual([key]);
    expect(seen.at(-1)!.headers).toMatchObject({ "accept-encoding": "identity" });
    expect(usage.network).toMatchObject({ requests: 1, denied: 0 });
    expect(isolation.network).toMatchObject({
      inject: ["KEY"],
      allowed: [{ host: `api.test:${portOf(api)}`, requests: 1 }],
    });
  });

  cageTest("is written as its format says, and goes through a tunnel and through SOCKS too", async () => {
    const bearer = { ...here(), header: "authorization", format: "Bearer {secret}" };
    for (const way of [["-p"], ["-x", "socks5h://127.0.0.1:3128"]]) {
      const { stdout } = await run(["curl", "-sS", ...way, "http://api.test.writ.internal/"], bearer);
      expect(stdout).toContain(`GET api.test:${portOf(api)} ${"*".repeat(7 + key.length)}`);
      expect(seen.at(-1)!.headers.authorization).toBe(`Bearer ${key}`);
    }
  });

  cageTest(
    "is masked in headers, in a redirect that is handed back, and in an answer in pieces",
    async () => {
      const slow = await run(["curl", "-sSi", "http://api.test.writ.internal/slow"]);
      expect(slow.stdout).toContain(`first\n${masked}\nlast\n`);
      expect(slow.stdout.toLowerCase()).toContain(
        `x-echo: ${masked}\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n`,
      );
      const moved = await run(["curl", "-sSi", "http://api.test.writ.internal/moved"]);
      expect(moved.stdout.toLowerCase()).toContain(`location: https://elsewhere.test/${masked}`);
      const zipped = await run(["curl", "-sS", "http://api.test.writ.internal/zip"]);
      expect(zipped.stdout).toContain("the server answered in the encoding gzip, which was not asked for");
    },
  );

  cageTest("is in no file, environment, argument or memory that the job can read", async () => {
    const script = `
      curl -sS http://api.test.writ.internal/v1 >/work/answer; curl -sS -X TRACE http://api.test.writ.internal/v1 >>/work/answer
      env >/work/env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/maps >/work/proc 2>/dev/null
      for dir in /work /tmp /etc /dev/shm /run /var /home /root; do grep -rsl "$0" $dir; done
      grep -c . /work/answer`;
    const { stdout, stderr } = await run(["sh", "-c", script, key.slice(0, 20)]);
    expect(stdout.trim().split("\n").at(-1)).toBe("2");
    // The search itself, which has the beginning of the key as its argument, is all that is found.
    expect(stdout.split("\n").filter((line) => line.startsWith("/"))).toEqual(["/work/proc"]);
    expect(stdout + stderr).not.toContain(key);
  });

  cageTest("has to be in a private file that can be sent in a header", async () => {
    chmodSync(file, 0o644);
    await expect(run(["true"])).rejects.toMatchObject({ detail: "NO_SUCH_SECRET" });
    chmodSync(file, 0o600);
    const whole = readFileSync(file);
    writeFileSync(file, "two\nlines");
    await expect(run(["true"])).rejects.toMatchObject({ detail: "NO_SUCH_SECRET" });
    writeFileSync(file, whole);
  });
});
