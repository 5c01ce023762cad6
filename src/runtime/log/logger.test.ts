import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WritError } from "../../core/errors.ts";
import { openLogger } from "./logger.ts";

let dir: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "writ-logger-"));
  file = join(dir, "logs", "hub.log");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

test("no secret reaches the file, by field name or by shape, at any depth", () => {
  const canary = "CANARYcanary0123456789";
  const logger = openLogger({ file, level: "info" });
  logger
    .child({ token: canary })
    .info({ headers: { Authorization: `Bearer ${canary}`, cookie: canary } }, "call");
  logger.info({ a: { b: [{ lease_token: canary, "set-cookie": [canary] }] } }, `given sk_worker_${canary}`);
  logger.error({ err: new WritError("HTTP_ERROR", `Bearer ${canary} refused`, { token: canary }) });
  logger.error(Object.assign(new Error("no"), { password: canary }));
  logger.info(
    { job_token: canary, err: new Error(`nor\neyJ${canary}.${canary}.${canary}`) },
    `eyJ${canary}.e30.`,
  );
  logger.info({ job_private_key: canary, tenant_id: "default" }, "kept");
  logger.close();
  const text = readFileSync(file, "utf8");
  expect(text).not.toContain(canary);
  expect(text).toContain('"tenant_id":"default"');
  expect(lines(text)).toHaveLength(6);
  expect(lines(text)[2]).toMatchObject({ level: "error", err: { type: "WritError", code: "HTTP_ERROR" } });
});

test("lines below the level are left out", () => {
  const logger = openLogger({ file, level: "warn" });
  logger.info("no");
  logger.warn("yes");
  logger.close();
  expect(lines(readFileSync(file, "utf8")).map((line) => line["msg"])).toEqual(["yes"]);
});

test("no line is lost or torn at rotation, the files stay small and private, and the oldest go", async () => {
  const logger = openLogger({ file, level: "info", maxSizeBytes: 2000, keep: 50 });
  for (let n = 0; n < 400; n++) {
    logger.info({ n }, "x".repeat(n % 97));
    // Some bursts within one turn of the loop and some lines alone.
    if (n % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  logger.close();
  const names = readdirSync(join(dir, "logs")).sort((a, b) => age(b) - age(a));
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) {
    const stat = statSync(join(dir, "logs", name));
    expect(stat.size).toBeLessThanOrEqual(2000);
    expect(stat.mode & 0o777).toBe(0o600);
  }
  const all = names.flatMap((name) => lines(readFileSync(join(dir, "logs", name), "utf8")));
  expect(all.map((line) => line["n"])).toEqual(Array.from({ length: 400 }, (_, n) => n));
});

test("keeps five full files beside the current one, continues a file of an earlier start and tightens its mode", () => {
  const first = openLogger({ file, level: "info", maxSizeBytes: 500 });
  first.info("one");
  first.close();
  chmodSync(file, 0o644);
  const second = openLogger({ file, level: "info", maxSizeBytes: 500 });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  second.info("two");
  second.close();
  expect(lines(readFileSync(file, "utf8"))).toHaveLength(2);
  const third = openLogger({ file, level: "info", maxSizeBytes: 500 });
  for (let n = 0; n < 200; n++) third.info({ n }, "fill");
  third.close();
  expect(readdirSync(join(dir, "logs")).sort()).toEqual([
    "hub.log",
    "hub.log.1",
    "hub.log.2",
    "hub.log.3",
    "hub.log.4",
    "hub.log.5",
  ]);
});

test("a line longer than a whole file is still written", () => {
  const logger = openLogger({ file, level: "info", maxSizeBytes: 100, keep: 2 });
  logger.info("x".repeat(1000));
  logger.info("after");
  logger.close();
  expect(readFileSync(`${file}.1`, "utf8")).toContain("x".repeat(1000));
  expect(readFileSync(file, "utf8")).toContain("after");
});

test("what was logged just before the process ends is in the file", () => {
  const script = join(dir, "script.ts");
  writeFileSync(
    script,
    `import { openLogger } from ${JSON.stringify(join(import.meta.dirname, "logger.ts"))};
     openLogger({ file: ${JSON.stringify(file)}, level: "info" }).info("last words");
     throw new Error("dies at once");`,
  );
  const { status } = spawnSync(process.execPath, [script], { stdio: "ignore" });
  expect(status).toBe(1);
  expect(readFileSync(file, "utf8")).toContain("last words");
});

function lines(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function age(name: string): number {
  return Number(name.split(".")[2] ?? 0);
}
