import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { LoggedEvent } from "../../src/core/events.ts";
import { webhookMessage } from "../../src/hub/webhooks/webhook-message.ts";
import { hasPython, pythonEnv, pythonNote } from "../support/python.ts";
import { readBlock, readText, root } from "./page.ts";

const folder = "examples/webhooks";
const key = Buffer.alloc(32, 7);
const secret = `whsec_${key.toString("base64")}`;
const nowMs = Date.parse("2026-03-01T00:00:00Z");
const event: LoggedEvent = {
  seq: 7,
  jobSeq: 1,
  event: "JOB_COMPLETED",
  ts: nowMs - 1_000,
  tenantId: "acme",
  jobId: "0196-job",
  ownerId: "ann",
  details: { type: "café", status: "completed", worker_id: "w1", attempt: 1, priority: 5 },
  origin: null,
};
const sent = (keys: Buffer[]) => webhookMessage(event, { webhookId: "abc", keys, nowMs });

type Call = { secret: string; headers: Record<string, string>; body: string; now: number };

const canRun = (file: string): boolean => file.endsWith(".mjs") || hasPython;

const programs: Record<string, readonly string[]> = {
  "verify.mjs": [
    process.execPath,
    "--input-type=module",
    "-e",
    `import { text } from "node:stream/consumers";
    import { verify } from "./verify.mjs";
    const { secret, headers, body, now } = JSON.parse(await text(process.stdin));
    console.log(JSON.stringify(verify(secret, headers, Buffer.from(body), now)));`,
  ],
  "verify.py": [
    "python3",
    "-c",
    `import json, sys
from verify import verify
call = json.load(sys.stdin)
print(json.dumps(verify(call["secret"], call["headers"], call["body"].encode(), call["now"])))`,
  ],
};

/** What the program says, or the line of its error. */
function runProgram([command, ...args]: readonly string[], call: Call): unknown {
  const { stdout, stderr } = spawnSync(command!, args, {
    cwd: join(root, folder),
    input: JSON.stringify(call),
    env: pythonEnv({}),
    encoding: "utf8",
  });
  if (stdout === "") throw new Error(stderr.split("\n").find((line) => /^\w*Error: /.test(line)));
  return JSON.parse(stdout);
}

describe.each(Object.entries(programs))(`examples/webhooks/%s${pythonNote}`, (file, program) => {
  const call = (keys: Buffer[], change: Partial<Call> = {}): unknown => {
    const { headers, body } = sent(keys);
    return runProgram(program, { secret, headers, body: body.toString(), now: nowMs / 1_000, ...change });
  };

  test.runIf(canRun(file))(
    "refuses a body that was changed, another secret, and a message that is old",
    () => {
      const body = sent([key]).body.toString().replace('"attempt":1', '"attempt":2');
      expect(() => call([key], { body })).toThrow("the signature is wrong");
      expect(() => call([Buffer.alloc(32, 8)])).toThrow("the signature is wrong");
      expect(() => call([key], { now: nowMs / 1_000 + 301 })).toThrow("the message is too old");
      expect(() => call([key], { now: nowMs / 1_000 - 301 })).toThrow("the message is too old");
    },
  );

  test.runIf(canRun(file))("accepts what the hub sends, also while there are two secrets", () => {
    const data = {
      id: "0196-job",
      type: "café",
      status: "completed",
      worker_id: "w1",
      attempt: 1,
      priority: 5,
    };
    const message = {
      id: `msg_abc_7_${event.ts.toString(36)}`,
      type: "job:completed",
      data: { ...data, ts: event.ts, seq: 7 },
    };
    const timestamp = new Date(event.ts).toISOString();
    expect(call([key])).toEqual({ ...message, timestamp });
    expect(call([Buffer.alloc(32, 8), key])).toMatchObject({ type: "job:completed" });
  });

  test("stands in docs/webhooks.md as it is", () => {
    const shown = readBlock("docs/webhooks.md", file);
    expect(shown.replace(/^```\w+\n/, "").replace(/\n```$/, "\n")).toBe(readText(`${folder}/${file}`));
  });
});
