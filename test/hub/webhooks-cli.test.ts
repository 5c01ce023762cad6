import { expect, test } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { stillEnv } from "../support/hub.ts";
import { freshName } from "../support/jobs.ts";
import { type CliRun, runCli } from "../support/run-cli.ts";
import { hubForAll } from "../support/use-hub.ts";

const hub = hubForAll({ ...stillEnv, WRIT_WEBHOOK_HOSTS: "127.0.0.1:1,localhost" });

const jobctl = (...args: string[]): Promise<CliRun> =>
  runCli("jobctl", ["webhooks", ...args], { env: { WRIT_HOME: hub.home } });

test("put refuses an event that does not exist, and shows what the hub says of an address", async () => {
  expect(await jobctl("put", "a", "https://receiver.example/", "--event", "job:done")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("job:completed"),
  });
  expect(await jobctl("put", "a", "https://10.0.0.1/", "--event", "job:failed")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("only the hub's operator can allow 10.0.0.1 (WRIT_WEBHOOK_HOSTS)"),
  });
  expect(await jobctl("show", "none")).toMatchObject({ code: 4 });
});

test("a webhook is put, listed, shown, rotated, redelivered and removed", async () => {
  const name = freshName("cli");
  const words = ["--event", "job:created", "job:failed", "--type", "build"];
  const put = await jobctl("put", name, "http://127.0.0.1:1/x", ...words);
  expect(put).toMatchObject({ code: 0, stderr: "" });
  expect(put.stdout).toMatch(/^secret: {5}whsec_\S+\n +It is shown only now\.$/m);
  expect((await jobctl()).stdout).toMatch(new RegExp(`${name} +http://127.0.0.1:1/x +active`));
  const shown = (await jobctl("show", name)).stdout;
  expect(shown).toContain("events:     job:created, job:failed\ntypes:      build\n");
  expect(shown).not.toContain("whsec_");
  expect((await jobctl("rotate", name)).stdout).toMatch(/^old secret: valid until 20/m);
  expect((await jobctl("redeliver", name, "--from-seq", "1")).stdout).toContain("seq:        0\n");
  expect((await jobctl("remove", name)).stdout).toBe(`${name} is removed\n`);
  expect((await jobctl("show", name)).code).toBe(4);
});

test("a hub that runs says what it could not deliver, and the SDK reads it", async () => {
  const writ = new Writ({ url: hub.url, token: hub.admin });
  const name = freshName("sdk");
  const { secret } = await writ.webhooks.put(name, { url: "http://127.0.0.1:1/x", events: ["job:created"] });
  expect(secret).toMatch(/^whsec_/);
  const { id } = await writ.submit({ type: "t", run: { kind: "exec", argv: ["true"] } });
  const { failing } = await eventually("the receiver was called", async () => {
    const webhook = await writ.webhooks.get(name);
    return webhook.state === "failing" && webhook;
  });
  expect(failing).toMatchObject({ reason: expect.stringContaining("ECONNREFUSED") });
  expect((await jobctl("show", name)).stdout).toContain("state:      failing\n");
  await writ.webhooks.remove(name);
  expect(id).toBeTruthy();
  writ.close();
});
