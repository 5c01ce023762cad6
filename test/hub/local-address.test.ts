import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { stillEnv } from "../support/hub.ts";
import { runCommand } from "../support/run-command.ts";
import { hubForAll } from "../support/use-hub.ts";

// As behind a proxy that ends TLS: no server answers at the public address here.
const publicUrl = "https://hub.example";
const hub = hubForAll({ ...stillEnv, WRIT_PUBLIC_URL: publicUrl });
const writ = (...args: string[]) => runCommand("writ", args, { home: hub.home });
const emptyFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "writ-local-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

test("a home without a hub, or without a worker, is not healthy", async () => {
  const home = emptyFolder();
  expect(await runCommand("writ", ["health"], { home })).toMatchObject({
    exitCode: 1,
    stdout: `hub in ${home}: not running\n`,
  });
  expect(await runCommand("writ", ["health", "worker"], { home })).toMatchObject({ exitCode: 1 });
  expect((await writ("health", "king")).stderr).toContain("It must be hub or worker");
});

test("a hub whose public address leads nowhere is healthy, and its own programs reach it", async () => {
  expect(await writ("health")).toMatchObject({ exitCode: 0, stdout: `hub in ${hub.home}: ok\n` });
  expect(await runCommand("jobctl", ["whoami"], { home: hub.home })).toMatchObject({ exitCode: 0 });
  expect(await runCommand("jobctl", ["list"], { home: hub.home })).toMatchObject({ exitCode: 0 });
});

test("links and files for other machines have the public address, and not our authority", async () => {
  expect((await writ("open", "--print")).stdout).toMatch(/^https:\/\/hub\.example\/#login=/);
  const file = join(emptyFolder(), "agents.yaml");
  expect(await writ("workers", "add", "far", "--out", file)).toMatchObject({ exitCode: 0 });
  const { server } = parse(readFileSync(file, "utf8"));
  expect(server).toEqual({ url: publicUrl, worker_id: "far", worker_token: expect.any(String) });
});
