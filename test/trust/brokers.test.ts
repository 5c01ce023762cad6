import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { publish, readLog, register } from "../../src/registry/index.ts";

const src = join(import.meta.dirname, "../../src");

test("K-05: the program names no broker", () => {
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.endsWith(".test.ts"),
  );
  expect(files.length).toBeGreaterThan(100);
  // Help has placeholders: HOST, or [user@]host.
  const naming = files.filter((file) => /mqtts?:\/\/[a-z0-9]/.test(readFileSync(join(src, file), "utf8")));
  expect(naming).toEqual([]);
});

test("K-05: without a broker that somebody named, nothing is published or recorded", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "writ-brokers-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const place = { cwd, env: {} };
  const { job_id: id } = await register(place, { prompt: "mend it", agent: "a", agentSession: "s" });
  await expect(publish(place, id, { event: "begun" })).rejects.toThrow("there is no default one");
  expect((await readLog(place, id)).map(({ event }) => event)).toEqual(["registered"]);
});

test("K-05: a password is in no record", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "writ-brokers-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const job = { prompt: "mend it", agent: "a", agentSession: "s" };
  const broker = "mqtts://ada:hunter2@broker.example";
  await expect(register({ cwd, env: {} }, { ...job, broker })).rejects.toThrow("must not contain a password");
});
