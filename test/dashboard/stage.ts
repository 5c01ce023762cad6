import type { Clock } from "../../src/runtime/clock.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { generateSigningKey, type SigningKey } from "../../src/signing/ed25519.ts";
import { sha256Hex } from "../../src/signing/mac.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { claimJob, type HeldJob, registerWorker, submitJob } from "../support/jobs.ts";
import { appendOutput } from "../support/output.ts";
import { receiptFor } from "../support/receipts.ts";
import { issueToken } from "../support/tokens.ts";

/** A hub with a fleet and an hour of history, for pictures and for tests that only look. */
export type Stage = {
  hub: TestHub;
  /** Ids of the jobs that pictures open. */
  jobs: { running: string; dead: string; waiting: string; done: string };
  stop(): Promise<void>;
};

const historyMs = 62 * 60_000;
const silentMs = 60_000;

/** Starts an hour ago and is moved on by hand, so that the history has ages. */
class StageClock implements Clock {
  #aheadMs = -historyMs;
  readonly nowMs = () => Math.round(systemClock.nowMs() + this.#aheadMs);
  readonly monotonicMs = () => systemClock.monotonicMs() + this.#aheadMs;
  readonly sleep = systemClock.sleep;
  readonly setTimer = systemClock.setTimer;

  pass(ms: number): void {
    this.#aheadMs = Math.min(0, this.#aheadMs + ms);
  }

  /** Moves to this long before now. */
  at(agoMs: number): void {
    if (-agoMs > this.#aheadMs) this.#aheadMs = -agoMs;
  }
}

type Machine = {
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

export async function setStage(): Promise<Stage> {
  const clock = new StageClock();
  const env = {
    WRIT_LEASE_MS: "3600000",
    WRIT_WORKER_INACTIVE_MS: String(silentMs),
    WRIT_BACKOFF_SCALE: "1",
  };
  const hub = await startTestHub(env, { clock });
  const play = new Play(hub, clock);
  await play.people();
  await play.fleet();
  const jobs = await play.history();
  const beat = setInterval(() => void play.beat().catch(() => {}), 5_000);
  await play.beat();
  return {
    hub,
    jobs,
    async stop() {
      clearInterval(beat);
      await hub.stop();
    },
  };
}

const minuteMs = 60_000;

class Play {
  readonly #hub: TestHub;
  readonly #clock: StageClock;
  readonly #machines = new Map<string, Machine>();
  readonly #held = new Map<string, HeldJob[]>();
  #tokens: Record<string, string> = {};

  constructor(hub: TestHub, clock: StageClock) {
    this.#hub = hub;
    this.#clock = clock;
  }

  async people(): Promise<void> {
    const people = [
      { name: "ci", role: "user", tenant: "default" },
      { name: "release-bot", role: "user", tenant: "default" },
      { name: "media-api", role: "user", tenant: "media" },
      { name: "research-api", role: "user", tenant: "research" },
      { name: "shop", role: "user", tenant: "storefront" },
      { name: "wall-screen", role: "viewer", tenant: undefined },
    ] as const;
    for (const { name, role, tenant } of people) {
      const wish = { role, user_id: name, ...(tenant === undefined ? {} : { tenant_id: tenant }) };
      this.#tokens[name] = (await issueToken(this.#hub, wish)).token;
    }
  }

  async fleet(): Promise<void> {
    const machines = [
      { id: "oak-01", slots: 16, cores: 16, ramGb: 64, tags: ["ssd"], cpu: 71, mem: 58 },
      { id: "oak-02", slots: 16, cores: 16, ramGb: 64, tags: ["ssd"], cpu: 84, mem: 66 },
      { id: "ash-01", slots: 8, cores: 8, ramGb: 32, tags: ["db"], cpu: 42, mem: 35 },
      {
        id: "elm-cloud-1",
        slots: 8,
        cores: 8,
        ramGb: 16,
        tags: ["spot"],
        cpu: 63,
        mem: 44,
        location: "CLOUD",
      },
      { id: "yew-gpu-1", slots: 4, cores: 32, ramGb: 256, tags: ["gpu", "a100"], cpu: 55, mem: 81 },
      { id: "fir-edge-1", slots: 4, cores: 4, ramGb: 8, tags: ["arm64"], cpu: 20, mem: 30 },
    ];
    for (const { id, slots, cores, ramGb, tags, cpu, mem, location } of machines) {
      const { signingKey: key } = generateSigningKey();
      const fields = { slots, cores, ram_gb: ramGb, tags, version: "0.1.0", public_key: key.publicKeyPem };
      await registerWorker(this.#hub, { worker_id: id, ...fields, ...(location ? { location } : {}) });
      this.#machines.set(id, { id, key, slots, cores, ramGb, cpu, mem });
      this.#held.set(id, []);
    }
  }

  /** Everybody but fir-edge-1 is heard of, and says how its machine does. */
  async beat(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    for (const { id, slots, cores, ramGb, cpu, mem } of this.#machines.values()) {
      if (id === "fir-edge-1") continue;
      const held = this.#held.get(id) ?? [];
      const jobs = held.map(({ id: job_id, fence }) => ({
        job_id,
        attempt: fence.attempt,
        token: fence.token,
      }));
      await this.#worker("/workers/heartbeat", { worker_id: id, status: "active", current_jobs: jobs });
      const wave = Math.sin(nowMs / 400_000 + cores) * 9 + Math.sin(nowMs / 90_000) * 4;
      await this.#worker(`/workers/${id}/metrics`, {
        ts: nowMs,
        cpu_percent: Math.max(2, Math.min(99, cpu + wave)),
        load1: cores / 2,
        mem_used_bytes: Math.round(ramGb * 2 ** 30 * (mem / 100)),
        mem_total_bytes: ramGb * 2 ** 30,
        disk_free_bytes: 4e11,
        slots_used: held.length,
        slots,
      });
    }
  }

  async history(): Promise<Stage["jobs"]> {
    await this.#quietHour();
    const dead = await this.#deadLetters();
    const done = await this.#lastMinutes();
    const waiting = await this.#waiting();
    const running = await this.#running();
    this.#clock.at(0);
    return { running, dead, waiting, done };
  }

  async #quietHour(): Promise<void> {
    const types = [
      "image.resize.v1",
      "mail.digest",
      "etl.orders.load",
      "exec",
      "backup.snapshot",
      "solver.route",
    ];
    for (let minute = 60; minute > 26; minute -= 2) {
      this.#clock.at(minute * minuteMs);
      await this.beat();
      const type = types[minute % types.length]!;
      const workerId = ["oak-01", "oak-02", "ash-01"][minute % 3]!;
      const held = await this.#start({ type, workerId, user: "shop", max_attempts: 1 });
      this.#clock.pass(2_000 + minute * 130);
      if (minute % 14 === 0)
        await this.#fail(held, { code: "WORKER_EXIT_ERROR", reason: "exited with code 3", exitCode: 3 });
      else await this.#finish(held, { files: minute % 7, bytes: 412990 + minute * 991 });
    }
  }

  async #deadLetters(): Promise<string> {
    let last = "";
    for (const [index, agoMin] of [25, 20, 15].entries()) {
      this.#clock.at(agoMin * minuteMs);
      await this.beat();
      const wish = {
        type: "video.transcode.v2",
        user: "media-api",
        argv: ["transcode", "--preset", "hls-3", "@/work/input.json"],
        limits: { cpu: "4", memory: "512M", pids: 512 },
        max_attempts: 3,
        metadata: { reel: `reel-0${417 + index}` },
      };
      last = await this.#dieOfMemory(wish);
    }
    return last;
  }

  async #dieOfMemory(wish: JobWish): Promise<string> {
    const { id } = await this.#submit(wish);
    for (const workerId of ["oak-01", "oak-02", "oak-01"]) {
      const held = await this.#claim({ type: wish.type, workerId });
      this.#clock.pass(38_200);
      await this.#say(held, { stderr: transcodeLog });
      await this.#fail(held, {
        code: "OOM_KILLED",
        reason: "used all of 512 MiB and was killed",
        exitCode: 137,
        partial: {
          frames_done: 2817,
          frames_total: 7200,
          outputs: [
            { preset: "1080p", bytes: 11264018 },
            { preset: "720p", bytes: 6734112 },
          ],
          encoder: { name: "hevc", threads: 4, lookahead: 214 },
        },
        usage: { cpu_ms: 148_900, memory_peak_bytes: 512 * 2 ** 20, oom: true },
        stderr: transcodeLog,
      });
      this.#clock.pass(64_000);
    }
    return id;
  }

  async #lastMinutes(): Promise<string> {
    this.#clock.at(9 * minuteMs);
    await this.beat();
    let done = "";
    for (const [index, type] of [
      "mail.digest",
      "solver.route",
      "backup.snapshot",
      "image.resize.v1",
      "exec",
    ].entries()) {
      const held = await this.#start({
        type,
        workerId: index % 2 === 0 ? "ash-01" : "elm-cloud-1",
        user: "shop",
      });
      this.#clock.pass(1_800 + index * 9_000);
      await this.#say(held, { stdout: `${type}: done\n` });
      await this.#finish(held, { sent: 1204 + index, skipped: 3 }, { stdout: `${type}: done\n` });
      done = held.id;
    }
    const cancelled = await this.#submit({ type: "report.monthly", user: "release-bot" });
    await this.#hub.must("DELETE", `/jobs/${cancelled.id}`, { token: this.#tokens["release-bot"]! });
    const failed = await this.#start({
      type: "delegate.fix",
      workerId: "elm-cloud-1",
      user: "ci",
      max_attempts: 1,
    });
    this.#clock.pass(47_000);
    await this.#fail(failed, {
      code: "VALIDATION_FAILED",
      reason: "./validate.sh exited with 1",
      exitCode: 1,
    });
    return done;
  }

  async #waiting(): Promise<string> {
    this.#clock.at(161_000);
    await this.beat();
    await this.#hub.must("POST", "/workers/yew-gpu-1/drain", { token: this.#hub.admin });
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) {
      const wish = {
        type: "embed.batch.v3",
        user: "research-api",
        argv: ["python3", "-m", "embed", "--batch", "512"],
        requires: { tags: ["gpu"], ram_gb: 32 },
        limits: { cpu: "8", memory: "24G", network: "none" },
      };
      ids.push((await this.#submit(wish)).id);
    }
    return ids[0]!;
  }

  async #running(): Promise<string> {
    this.#clock.at(152_000);
    for (let index = 0; index < 22; index++) {
      const workerId = ["oak-01", "oak-02", "ash-01", "elm-cloud-1"][index % 4]!;
      const type = ["image.resize.v1", "tiles.build", "test.e2e", "solver.route"][index % 4]!;
      const held = await this.#start({ type, workerId, user: "research-api" });
      this.#keep(workerId, held);
      if (index % 4 === 2) await this.#progress(held, 48, "checkout: 118 of 244 passed");
      this.#clock.pass(900);
    }
    await this.beat();
    const tiles = await this.#tiles();
    this.#clock.at(40_000);
    const retrying = await this.#start({
      type: "etl.orders.load",
      workerId: "ash-01",
      user: "shop",
      max_attempts: 3,
    });
    this.#clock.pass(6_000);
    await this.#fail(retrying, { code: "TIMEOUT", reason: "ran longer than 600 s" });
    this.#clock.at(9_000);
    for (const [index, type] of ["mail.digest", "image.resize.v1"].entries()) {
      const held = await this.#start({ type, workerId: "ash-01", user: "shop" });
      this.#clock.pass(600 + index * 1200);
      await this.#finish(held, { files: 3, bytes: 412990 + index });
    }
    this.#clock.at(800);
    const taken = await this.#submit({ type: "image.resize.v1", user: "shop" });
    this.#keep("oak-02", await claimJob(this.#hub, { workerId: "oak-02", type: "image.resize.v1" }));
    void taken;
    return tiles;
  }

  async #tiles(): Promise<string> {
    const wish = {
      type: "tiles.build",
      user: "research-api",
      argv: ["python3", "-m", "tiles", "build", "--zoom", "0-14", "--region", "alps"],
      requires: { tags: ["ssd"] },
      limits: { cpu: "2", memory: "2G", pids: 512, network: "none" },
      timeout_sec: 1800,
      max_attempts: 3,
    };
    this.#clock.at(134_000);
    const { id } = await this.#submit(wish);
    const lost = await this.#claim({ type: "tiles.build", workerId: "oak-01", id });
    this.#clock.pass(24_000);
    await this.#fail(lost, { code: "WORKER_DISCONNECTED", reason: "worker oak-01 was silent for 70 s" });
    this.#clock.pass(31_000);
    const held = await this.#claim({ type: "tiles.build", workerId: "oak-02", id });
    this.#keep("oak-02", held);
    await this.#say(held, { stdout: tilesLog });
    await this.#progress(held, 62, "zoom 11 of 14, 41,288 tiles");
    return id;
  }

  #keep(workerId: string, held: HeldJob): void {
    this.#held.get(workerId)?.push(held);
  }

  async #submit({ user, argv = ["true"], ...fields }: JobWish): Promise<{ id: string }> {
    const run = { kind: "exec", argv };
    return submitJob(this.#hub, { token: this.#tokens[user ?? "ci"]!, ...fields, run });
  }

  async #start(wish: JobWish & { workerId: string }): Promise<HeldJob> {
    const { workerId, ...fields } = wish;
    const place = workerId === "elm-cloud-1" ? { execution_location: "CLOUD" } : {};
    await this.#submit({ ...fields, ...place });
    this.#clock.pass(40);
    return this.#claim({ type: wish.type, workerId });
  }

  async #claim({ type, workerId }: { type: string; workerId: string; id?: string }): Promise<HeldJob> {
    const held = await claimJob(this.#hub, { workerId, type });
    await this.#worker(`/jobs/${held.id}/start`, { ...held.fence, isolation });
    return held;
  }

  async #progress(held: HeldJob, progress: number, detail: string): Promise<void> {
    await this.#worker(`/jobs/${held.id}/progress`, { ...held.fence, progress, detail });
  }

  async #say(held: HeldJob, said: Partial<Record<"stdout" | "stderr", string>>): Promise<void> {
    for (const [stream, text] of Object.entries(said)) {
      await appendOutput(this.#hub, held, { stream, bytes: Buffer.from(text) });
    }
  }

  async #finish(held: HeldJob, result: unknown, said: { stdout?: string } = {}): Promise<void> {
    const { key } = this.#machines.get(held.fence.worker_id)!;
    const hashes = said.stdout === undefined ? {} : { stdout_sha256: sha256Hex(said.stdout) };
    const usage = { cpu_ms: 900, memory_peak_bytes: 61 * 2 ** 20, oom: false };
    const claims = { result, exit_code: 0, isolation, usage, ...hashes };
    const receipt = await receiptFor(this.#hub, { ...held, key }, claims);
    await this.#worker(`/jobs/${held.id}/result`, {
      ...held.fence,
      result,
      exit_code: 0,
      isolation,
      usage,
      receipt,
    });
  }

  async #fail(held: HeldJob, failure: Failure): Promise<void> {
    const { key } = this.#machines.get(held.fence.worker_id)!;
    const { code, reason, exitCode = null, partial, usage = null, stderr } = failure;
    const hashes = stderr === undefined ? {} : { stderr_sha256: sha256Hex(stderr) };
    const says = {
      exit_code: exitCode,
      isolation,
      usage,
      ...hashes,
      ...(partial === undefined ? {} : { result: partial }),
    };
    const receipt = await receiptFor(this.#hub, { ...held, key }, says);
    await this.#worker(`/jobs/${held.id}/fail`, {
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

  async #worker(path: string, body: unknown): Promise<void> {
    await this.#hub.must("POST", path, { token: this.#hub.admin, body });
  }
}

type JobWish = { type: string; user?: string; argv?: string[]; [field: string]: unknown };
type Failure = {
  code: string;
  reason: string;
  exitCode?: number;
  partial?: unknown;
  usage?: { cpu_ms: number; memory_peak_bytes: number; oom: boolean };
  stderr?: string;
};

const tilesLog = `tiles 2.4.1 starting in /work, 14 zoom levels, region alps
reading /work/in/alps.osm.pbf (1.42 GiB) …
index: 18,204,551 nodes, 2,310,884 ways in 41.2 s
${[
  "1 tile     0.0",
  "2 tiles    0.0",
  "4 tiles    0.1",
  "9 tiles    0.2",
  "22 tiles    0.6",
  "71 tiles    1.9",
  "240 tiles    4.8",
  "902 tiles   11.7",
  "3,410 tiles   28.3",
  "12,988 tiles   57.0",
]
  .map((line, zoom) => `zoom ${String(zoom).padStart(2)} \x1b[32mok\x1b[0m ${line.padStart(20)} s`)
  .join("\n")}
\x1b[33mwarn\x1b[0m  glacier polygon 771204 is not closed, closing it
zoom 10 \x1b[32mok\x1b[0m 23,640 tiles  104.9 s
zoom 11 … 41,288 of 66,120 tiles
`;

const transcodeLog = `transcode 2.1 starting, preset hls-3, 3 outputs, hevc
Input #0, mov,mp4, from '/work/in/reel-0417.mov':
  Duration: 00:02:00.04, start: 0.000000, bitrate: 184211 kb/s
  Stream #0:0: Video: prores (HQ), yuv422p10le, 3840x2160, 60 fps
Stream mapping: Stream #0:0 -> #0:0 (prores -> hevc), 3 outputs
frame=  411 fps= 74 q=28.0 size=    2048kB time=00:00:06.83 speed=1.23x
frame= 1106 fps= 75 q=28.0 size=    6144kB time=00:00:18.42 speed=1.25x
frame= 1894 fps= 75 q=28.0 size=   11264kB time=00:00:31.55 speed=1.25x
\x1b[33m[hevc @ 0x5581] lookahead buffer grew to 214 frames\x1b[0m
frame= 2588 fps= 74 q=28.0 size=   15872kB time=00:00:43.12 speed=1.24x
\x1b[31m[hevc @ 0x5581] memory allocation of 33177600 bytes is slow\x1b[0m
frame= 2817 fps= 73 q=28.0 size=   17998kB time=00:00:46.95 speed=1.22x
\x1b]52;c;Y2xpcGJvYXJk\x07\x1b[31mcannot allocate memory\x1b[0m
`;
