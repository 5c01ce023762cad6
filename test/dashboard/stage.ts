import { systemClock } from "../../src/runtime/clock/clock.ts";
import { startTestHub, type TestHub } from "../support/hub.ts";
import { claimJob } from "../support/jobs.ts";
import { drawPng } from "./draw-png.ts";
import type { JobWish } from "./stage-acts.ts";
import { StageClock } from "./stage-clock.ts";
import { StageCrew } from "./stage-crew.ts";
import { tilesLog, transcodeLog } from "./stage-logs.ts";
import { StageTraffic } from "./stage-traffic.ts";

/** A hub with a fleet and an hour of history, for pictures and for tests that only look. */
export type Stage = {
  hub: TestHub;
  /** Ids of the jobs that pictures open. */
  jobs: { running: string; dead: string; waiting: string; done: string; charts: string };
  /** While it runs, jobs come and go. */
  keepBusy(): { stop(): Promise<void> };
  stop(): Promise<void>;
};

const silentMs = 60_000;

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
    keepBusy: () => play.keepBusy(),
    async stop() {
      clearInterval(beat);
      await hub.stop();
    },
  };
}

const minuteMs = 60_000;

class Play extends StageCrew {
  readonly #traffic = new StageTraffic(this);

  /** Several small jobs a second. */
  keepBusy(): { stop(): Promise<void> } {
    let isOver = false;
    const turns = (async () => {
      while (!isOver) {
        await this.#traffic.moment();
        await systemClock.sleep(150);
      }
    })();
    return {
      async stop() {
        isOver = true;
        await turns;
      },
    };
  }

  async history(): Promise<Stage["jobs"]> {
    await this.#quietHour();
    const dead = await this.#deadLetters();
    const done = await this.#lastMinutes();
    const charts = await this.#charts();
    const waiting = await this.#waiting();
    const running = await this.#running();
    this.clock.at(0);
    return { running, dead, waiting, done, charts };
  }

  /** Time passes, and others work meanwhile. */
  async #wait(ms: number): Promise<void> {
    await this.#traffic.until(this.clock.agoMs - ms);
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
      await this.#traffic.until(minute * minuteMs);
      await this.beat();
      const type = types[minute % types.length]!;
      const workerId = ["oak-01", "oak-02", "ash-01"][minute % 3]!;
      const held = await this.start({ type, workerId, user: "shop", max_attempts: 1 });
      this.clock.pass(700 + minute * 60);
      if (minute % 14 === 0)
        await this.fail(held, { code: "WORKER_EXIT_ERROR", reason: "exited with code 3", exitCode: 3 });
      else await this.finish(held, { files: minute % 7, bytes: 412990 + minute * 991 });
    }
  }

  async #deadLetters(): Promise<string> {
    let last = "";
    for (const [index, agoMin] of [25, 20, 15].entries()) {
      await this.#traffic.until(agoMin * minuteMs);
      await this.beat();
      const wish = {
        type: "video.transcode.v2",
        user: "media-api",
        argv: ["transcode", "--preset", "hls-3", "@/work/input.json"],
        limits: { cpu: "4", memory: "512M", io: "med", pids: 512 },
        max_attempts: 3,
        metadata: { reel: `reel-0${417 + index}` },
      };
      last = await this.#dieOfMemory(wish);
    }
    return last;
  }

  async #dieOfMemory(wish: JobWish): Promise<string> {
    const { id } = await this.submit(wish);
    for (const workerId of ["oak-01", "oak-02", "oak-01"]) {
      const held = await this.claim({ type: wish.type, workerId });
      await this.#wait(38_200);
      await this.say(held, { stderr: transcodeLog });
      await this.fail(held, {
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
        usage: {
          cpu_ms: 148_900,
          memory_peak_bytes: 512 * 2 ** 20,
          oom: true,
          pids_peak: 22,
          io_read_bytes: 812 * 2 ** 20,
          io_write_bytes: 18 * 2 ** 20,
        },
        stderr: transcodeLog,
      });
      await this.#wait(64_000);
    }
    return id;
  }

  async #lastMinutes(): Promise<string> {
    await this.#traffic.until(9 * minuteMs);
    await this.beat();
    let done = "";
    for (const [index, type] of [
      "mail.digest",
      "solver.route",
      "backup.snapshot",
      "image.resize.v1",
      "exec",
    ].entries()) {
      const held = await this.start({
        type,
        workerId: index % 2 === 0 ? "ash-01" : "elm-cloud-1",
        user: "shop",
      });
      await this.#wait(1_800 + index * 9_000);
      await this.say(held, { stdout: `${type}: done\n` });
      await this.finish(held, { sent: 1204 + index, skipped: 3 }, { stdout: `${type}: done\n` });
      done = held.id;
    }
    const cancelled = await this.submit({ type: "report.monthly", user: "release-bot" });
    await this.hub.must("DELETE", `/jobs/${cancelled.id}`, { token: this.tokens["release-bot"]! });
    const failed = await this.start({
      type: "delegate.fix",
      workerId: "elm-cloud-1",
      user: "ci",
      max_attempts: 1,
    });
    await this.#wait(47_000);
    await this.fail(failed, {
      code: "VALIDATION_FAILED",
      reason: "./validate.sh exited with 1",
      exitCode: 1,
    });
    return done;
  }

  /** A job that has stored pictures. */
  async #charts(): Promise<string> {
    const held = await this.start({
      type: "report.weekly",
      workerId: "oak-01",
      user: "research-api",
      argv: ["python3", "-m", "report", "--week", "46"],
      output_location: { folder_id: "reports", prefix: "week-46" },
      limits: { cpu: "2", memory: "1G", network: "none" },
    });
    this.clock.pass(7_400);
    await this.say(held, { stdout: "4 regions, 2 charts, 1 table\n" });
    const files = {
      "elevation.png": drawPng({ width: 640, height: 400 }),
      "coverage.png": drawPng({ width: 400, height: 400 }),
      "table.csv": Buffer.from("region,tiles\nalps,66120\n".repeat(400)),
    };
    await this.finish(held, { regions: 4, charts: 2 }, { stdout: "4 regions, 2 charts, 1 table\n", files });
    return held.id;
  }

  async #waiting(): Promise<string> {
    await this.#traffic.until(161_000);
    await this.beat();
    for (let index = 0; index < 3; index++) {
      const wish = { type: "embed.batch.v3", user: "research-api", requires: { tags: ["gpu"] } };
      this.keep("yew-gpu-1", await this.start({ ...wish, workerId: "yew-gpu-1" }));
    }
    await this.hub.must("POST", "/workers/yew-gpu-1/drain", { token: this.hub.admin });
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) {
      const wish = {
        type: "embed.batch.v3",
        user: "research-api",
        argv: ["python3", "-m", "embed", "--batch", "512"],
        requires: { tags: ["gpu"], ram_gb: 32 },
        limits: { cpu: "8", memory: "24G", network: "none" },
      };
      ids.push((await this.submit(wish)).id);
    }
    return ids[0]!;
  }

  async #running(): Promise<string> {
    await this.#traffic.until(152_000);
    const busy = { "oak-01": 11, "oak-02": 11, "ash-01": 4, "elm-cloud-1": 6 };
    const places = Object.entries(busy).flatMap(([id, count]) => Array.from({ length: count }, () => id));
    const users = ["shop", "research-api", "ci", "shop", "media-api", "shop"];
    for (let index = 0; index < places.length; index++) {
      const workerId = places[(index * 7) % places.length]!;
      const type = ["image.resize.v1", "tiles.build", "test.e2e", "solver.route"][index % 4]!;
      const held = await this.start({ type, workerId, user: users[index % users.length]! });
      this.keep(workerId, held);
      if (index % 4 === 2) await this.progress(held, 48, "checkout: 118 of 244 passed");
      await this.#wait(400);
    }
    await this.beat();
    const tiles = await this.#tiles();
    await this.#traffic.until(40_000);
    const retrying = await this.start({
      type: "etl.orders.load",
      workerId: "ash-01",
      user: "shop",
      max_attempts: 3,
    });
    this.clock.pass(6_000);
    await this.fail(retrying, { code: "TIMEOUT", reason: "ran longer than 600 s" });
    await this.#traffic.until(9_000);
    for (const [index, type] of ["mail.digest", "image.resize.v1"].entries()) {
      const held = await this.start({ type, workerId: "ash-01", user: "shop" });
      this.clock.pass(600 + index * 1200);
      await this.finish(held, { files: 3, bytes: 412990 + index });
    }
    this.clock.at(800);
    for (const workerId of ["oak-01", "oak-02"]) {
      await this.submit({ type: "image.resize.v1", user: "shop" });
      this.keep(workerId, await claimJob(this.hub, { workerId, type: "image.resize.v1" }));
    }
    return tiles;
  }

  async #tiles(): Promise<string> {
    const wish = {
      type: "tiles.build",
      user: "research-api",
      argv: ["python3", "-m", "tiles", "build", "--zoom", "0-14", "--region", "alps"],
      requires: { tags: ["ssd"] },
      limits: { cpu: "2", memory: "2G", io: "med", pids: 512, network: "none" },
      timeout_sec: 1800,
      max_attempts: 3,
    };
    await this.#traffic.until(134_000);
    const { id } = await this.submit(wish);
    const lost = await this.claim({ type: "tiles.build", workerId: "oak-01", id });
    await this.#wait(24_000);
    await this.fail(lost, { code: "WORKER_DISCONNECTED", reason: "worker oak-01 was silent for 70 s" });
    await this.#wait(31_000);
    const held = await this.claim({ type: "tiles.build", workerId: "oak-02", id });
    this.keep("oak-02", held);
    await this.say(held, { stdout: tilesLog });
    await this.progress(held, 62, "zoom 11 of 14, 41,288 tiles");
    this.metered = id;
    this.meteredSince = this.clock.nowMs();
    return id;
  }
}
