import { execFileSync } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { Writ } from "../../src/client/index.ts";
import { cageTest, obstacle } from "../sandbox/cage-stage.ts";
import { HubProcess } from "../support/hub-process.ts";
import { runCommand } from "../support/run-command.ts";
import { WorkerProcess } from "../support/worker-process.ts";

const secret = "correct-horse/battery+staple";
const hub = new HubProcess({ WRIT_LOG_LEVEL: "info" });
const worker = new WorkerProcess(hub, "keeper");
let writ: Writ;

beforeAll(async () => {
  if (obstacle !== null) return;
  await hub.start();
  writ = new Writ({ url: hub.url, token: hub.token });
  await worker.enrol();
  writeFileSync(join(worker.home, "key"), `${secret}\n`, { mode: 0o600 });
  const file = join(worker.home, "key");
  appendFileSync(
    join(worker.home, "agents.yaml"),
    `\nexecution:\n  secrets:\n    API_KEY:\n      file: ${file}\n`,
  );
  worker.start();
});
afterAll(async () => {
  writ?.close();
  await worker.remove();
  await hub.remove();
});

cageTest(
  "A14: a secret given by name stands nowhere at the hub, and the receipt is of the masked bytes",
  async () => {
    const script = [
      'printf "key=%s\\n" "$API_KEY"',
      // In two writes, and so in two chunks.
      'printf "%s" "$(printf "%s" "$API_KEY" | head -c 22)"; sleep 0.2; printf "staple\\n"',
      'printf "user:%s" "$API_KEY" | base64 -w0 >&2',
      'printf \'{"token":"%s"}\' "$API_KEY" > "$JOB_RESULT_FILE"',
    ].join("; ");
    const run = { kind: "exec" as const, argv: ["sh", "-c", script], secrets: ["API_KEY"] };
    const { id } = await writ.submit({ type: "masked", run });
    const job = await writ.wait(id);

    const stars = "*".repeat(secret.length);
    expect(job).toMatchObject({ status: "completed", result: { token: stars } });
    expect(await textOf(id, "stdout")).toBe(`key=${stars}\n${stars}\n`);
    const encoded = Buffer.from(`user:${secret}`).toString("base64");
    const seen = await textOf(id, "stderr");
    expect(seen).toHaveLength(encoded.length);
    expect(seen).toMatch(/^dXNlcj.\*{37}$/);

    const verified = await runCommand("jobctl", ["verify", id], { home: hub.home });
    expect(verified).toMatchObject({ exitCode: 0, stderr: "" });
    const core = Buffer.from(secret).toString("base64").slice(0, 20);
    for (const text of [secret, core, encoded.slice(8, 28)]) expect(filesWith(text)).toEqual([]);
  },
);

async function textOf(id: string, stream: "stdout" | "stderr"): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of writ.streamOutput(id, { stream, follow: false })) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** Files of the hub's home that hold a text. */
function filesWith(text: string): string[] {
  try {
    return execFileSync("grep", ["-rlaF", text, hub.home], { encoding: "utf8" }).split("\n").filter(Boolean);
  } catch {
    // grep found nothing.
    return [];
  }
}
