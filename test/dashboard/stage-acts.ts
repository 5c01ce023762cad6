import type { SigningKey } from "../../src/signing/ed25519.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { uploadForJob } from "../support/files.ts";
import type { TestHub } from "../support/hub.ts";
import { claimJob, type HeldJob, submitJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { receiptFor } from "../support/receipts.ts";
import type { StageClock } from "./stage-clock.ts";
import { commands } from "./stage-commands.ts";

export type Machine = {
  id: string;
  key: SigningKey;
  slots: number;
  cores: number;
  ramGb: number;
  cpu: number;
  mem: number;
};

const isolation = {
  level: "strict",
  applied: [
    "cgroup",
    "namespaces",
    "jail",
    "user",
    "capabilities",
    "no_new_privs",
    "seccomp",
    "network",
    "cpu",
    "memory",
    "io",
    "pids",
  ],
  missing: [],
};

/** What people and workers do on the stage. */
export class StageActs {
  readonly hub: TestHub;
  readonly clock: StageClock;
  readonly machines = new Map<string, Machine>();
  readonly held = new Map<string, HeldJob[]>();
  tokens: Record<string, string> = {};

  constructor(hub: TestHub, clock: StageClock) {
    this.hub = hub;
    this.clock = clock;
  }

  keep(workerId: string, held: HeldJob): void {
    this.held.get(workerId)?.push(held);
  }

  async submit({ user, argv, ...fields }: JobWish): Promise<{ id: string }> {
    const run = { kind: "exec", argv: argv ?? commands[fields.type] ?? ["true"] };
    return submitJob(this.hub, { token: this.tokens[user ?? "ci"]!, ...fields, run });
  }

  async start(wish: JobWish & { workerId: string }): Promise<HeldJob> {
    const { workerId, ...fields } = wish;
    const place = workerId === "elm-cloud-1" ? { execution_location: "CLOUD" } : {};
    await this.submit({ ...fields, ...place });
    this.clock.pass(40);
    return this.claim({ type: wish.type, workerId });
  }

  async claim({ type, workerId }: { type: string; workerId: string; id?: string }): Promise<HeldJob> {
    const held = await claimJob(this.hub, { workerId, type });
    await this.worker(`/jobs/${held.id}/start`, { ...held.fence, isolation });
    return held;
  }

  async progress(held: HeldJob, progress: number, detail: string): Promise<void> {
    await this.worker(`/jobs/${held.id}/progress`, { ...held.fence, progress, detail });
  }

  async say(held: HeldJob, said: Partial<Record<"stdout" | "stderr", string>>): Promise<void> {
    for (const [stream, text] of Object.entries(said)) {
      await appendOutput(this.hub, held, { stream, bytes: Buffer.from(text) });
    }
  }

  async finish(
    held: HeldJob,
    result: unknown,
    said: { stdout?: string; files?: Record<string, Buffer> } = {},
  ): Promise<void> {
    const { key } = this.machines.get(held.fence.worker_id)!;
    const hashes = said.stdout === undefined ? {} : { stdout_sha256: sha256Hex(said.stdout) };
    const usage = {
      cpu_ms: 900,
      memory_peak_bytes: 61 * 2 ** 20,
      oom: false,
      pids_peak: 4,
      io_read_bytes: 18 * 2 ** 20,
      io_write_bytes: 2 * 2 ** 20,
    };
    const output_files = [];
    for (const [name, bytes] of Object.entries(said.files ?? {})) {
      const file = { folderId: "reports", objectKey: `week-46/${name}`, bytes };
      output_files.push(await uploadForJob(this.hub, held, file));
    }
    const claims = { result, exit_code: 0, isolation, usage, output_files, ...hashes };
    const receipt = await receiptFor(this.hub, { ...held, key }, claims);
    await this.worker(`/jobs/${held.id}/result`, {
      ...held.fence,
      result,
      exit_code: 0,
      isolation,
      usage,
      output_files,
      receipt,
    });
  }

  async fail(held: HeldJob, failure: Failure): Promise<void> {
    const { key } = this.machines.get(held.fence.worker_id)!;
    const { code, reason, exitCode = null, partial, usage = null, stderr } = failure;
    const hashes = stderr === undefined ? {} : { stderr_sha256: sha256Hex(stderr) };
    const says = {
      exit_code: exitCode,
      isolation,
      usage,
      ...hashes,
      ...(partial === undefined ? {} : { result: partial }),
    };
    const receipt = await receiptFor(this.hub, { ...held, key }, says);
    await this.worker(`/jobs/${held.id}/fail`, {
      ...held.fence,
      code,
      reason,
      ...(exitCode === null ? {} : { exit_code: exitCode }),
      ...(partial === undefined ? {} : { partial_result: partial }),
      ...(usage === null ? {} : { usage }),
      isolation,
      receipt,
    });
  }

  async worker(path: string, body: unknown): Promise<void> {
    await this.hub.must("POST", path, { token: this.hub.admin, body });
  }
}

export type JobWish = { type: string; user?: string; argv?: string[]; [field: string]: unknown };
type Failure = {
  code: string;
  reason: string;
  exitCode?: number;
  partial?: unknown;
  usage?: Record<string, number | boolean>;
  stderr?: string;
};
