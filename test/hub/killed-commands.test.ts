import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test } from "vitest";
import { backUp } from "../../src/hub/admin.ts";
import { startTestHub, stillEnv } from "../support/hub.ts";
import { runCli } from "../support/run-cli.ts";

// What a backup, a restore or the sample of an upgrade leaves when it is killed.
const program = join(import.meta.dirname, "../support/hold-work-folder.ts");

type Command = { folder: string; temporary: string; kill(): Promise<void> };

function scratch(): string {
  const dir = mkdtempSync(join(tmpdir(), "writ-killed-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** A command in a process of its own, which has made its copies. */
async function atWork(dir: string, prefix: string): Promise<Command> {
  const target = scratch();
  const child = spawn(process.execPath, [program, dir, prefix, join(target, "b.writ")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => end(child));
  const [folder] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return { folder, temporary: join(target, readdirSync(target)[0]!), kill: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function stoppedHome(): Promise<string> {
  const home = join(scratch(), "home");
  const hub = await startTestHub(stillEnv, { home });
  await hub.stop({ keepHome: true });
  return home;
}

const start = async (home: string): Promise<void> => {
  const hub = await startTestHub(stillEnv, { home });
  await hub.stop({ keepHome: true });
};

const doctor = async (home: string): Promise<string> => {
  const run = await runCli("writ", ["doctor", "--home", home, "--hub", "http://127.0.0.1:9"], { env: {} });
  return run.stdout.replaceAll(/\s+/g, " ");
};

test("A18: the next start of a hub removes what killed commands have left, at once, and nothing of a command that runs", async () => {
  const home = await stoppedHome();
  const places: [string, string][] = [
    [home, ".backup-"],
    [home, ".take-over-"],
    [dirname(home), `.${basename(home)}.restore-`],
  ];
  const killed = await Promise.all(places.map(([dir, prefix]) => atWork(dir, prefix)));
  const running = await atWork(home, ".backup-");
  await Promise.all(killed.map(({ kill }) => kill()));
  const said = await doctor(home);
  for (const { folder } of killed) expect(said).toContain(folder);
  expect(said).not.toContain(running.folder);

  await start(home);
  for (const { folder, temporary } of killed)
    expect([existsSync(folder), existsSync(temporary)]).toEqual([false, false]);
  expect(readFileSync(join(running.folder, "writ.sqlite"), "utf8")).toBe("params");
  expect(existsSync(running.temporary)).toBe(true);
  expect(await doctor(home)).not.toContain("left by a command that was killed");
});

test("A18: the next backup removes what a killed one has left", async () => {
  const home = await stoppedHome();
  const killed = await atWork(home, ".backup-");
  await killed.kill();
  const call = { home, env: {}, passphrase: "twelve and more", version: "0.0.0-test", nowMs: Date.now() };
  await backUp({ ...call, file: join(scratch(), "next.writ") });
  expect([existsSync(killed.folder), existsSync(killed.temporary)]).toEqual([false, false]);
  expect(readdirSync(home).filter((name) => name.startsWith(".backup-"))).toEqual([]);
});

test("A18: what is removed is never behind a link, nor a file that a forged note names", async () => {
  const home = await stoppedHome();
  const mine = join(scratch(), "mine");
  writeFileSync(mine, "mine");
  const killed = await Promise.all([atWork(home, ".backup-"), atWork(home, ".backup-")]);
  await Promise.all(killed.map(({ kill }) => kill()));
  symlinkSync(dirname(mine), join(killed[0]!.folder, "link"));
  writeFileSync(join(killed[1]!.folder, "beside"), mine);
  const elsewhere = await atWork(scratch(), ".backup-");
  await elsewhere.kill();
  symlinkSync(elsewhere.folder, join(home, ".backup-0123456789ab"));

  await start(home);
  expect(killed.map(({ folder }) => existsSync(folder))).toEqual([false, false]);
  expect(readFileSync(mine, "utf8")).toBe("mine");
  expect(existsSync(join(elsewhere.folder, "writ.sqlite"))).toBe(true);
});
