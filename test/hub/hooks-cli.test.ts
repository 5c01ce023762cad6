import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll(stillEnv);

const jobctl = (...args: string[]): Promise<CliRun> =>
  runCli("jobctl", ["hooks", ...args], { env: { WRIT_HOME: hub.home } });

test("put refuses a hook without a command, and shows what the hub says of a wrong header", async () => {
  expect(await jobctl("put", "a", "--verify", "github")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no command given; write it after --"),
  });
  expect((await jobctl("put", "a", "--verify", "a b", "--", "true")).code).toBe(2);
  expect((await jobctl("show", "none")).code).toBe(4);
});

test("a hook is put, listed, called and removed, and the SDK reads it", async () => {
  const name = freshName("cli");
  const put = await jobctl(
    "put",
    name,
    "--verify",
    "X-Sent-By",
    "--tolerance",
    "1m",
    "--",
    "echo",
    "-n",
    "hi",
  );
  expect(put).toMatchObject({ code: 0, stderr: "" });
  expect(put.stdout).toContain("verify:     X-Sent-By, within 60 s\n");
  const [, path] = /^path: +(\S+)$/m.exec(put.stdout)!;
  const [, secret] = /^secret: +(\S+)$/m.exec(put.stdout)!;
  expect((await jobctl()).stdout).toMatch(new RegExp(`${name} +${path} +X-Sent-By +exec`));
  const body = '{"a":1}';
  const headers = { "x-sent-by": createHmac("sha256", secret!).update(body).digest("hex") };
  const answer = await fetch(`${hub.url}${path}`, { method: "POST", body, headers });
  expect(answer.status).toBe(202);
  const writ = new Writ({ url: hub.url, token: hub.admin });
  const job = await writ.get(((await answer.json()) as { id: string }).id);
  expect(job).toMatchObject({ params: { a: 1 }, run: { argv: ["echo", "-n", "hi"] } });
  expect(await writ.hooks.get(name)).toMatchObject({
    name,
    path,
    verify: { hmac_sha256_header: "X-Sent-By" },
  });
  expect((await jobctl("remove", name)).stdout).toBe(`${name} is removed\n`);
  writ.close();
});
