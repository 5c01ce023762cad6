import { join } from "node:path";
import { isEnded } from "../src/core/jobs/job.ts";
import type { HubSettings } from "../src/hub/settings/settings.ts";
import type { HandlerFunction } from "../src/runners/handler.ts";
import { RunFailure } from "../src/runners/runner.ts";
import { SimClient } from "./client.ts";
import type { Defect } from "./defects.ts";
import { type Disk, freshDisk, type HomeTemplate } from "./disk.ts";
import { type SimHub, seededIds, startSimHub } from "./hub.ts";
import { type CallTrouble, Network } from "./network.ts";
import { healsAtMs, type Part, type Step, stepText, workerIds } from "./plan.ts";
import { Broken, Promises } from "./promises.ts";
import { replaceMachineTime, settle } from "./settle.ts";
import { forgetWorker, type SimWorker, startSimWorker } from "./worker.ts";
import { World } from "./world.ts";

/** What all schedules share. */
export type Stage = {
  template: HomeTemplate;
  settings: HubSettings;
  tokens: { client: string; worker(workerId: string): string };
  signingKeys: string[];
};

export type Outcome = {
  /** The promise that was broken; null if all were kept. */
  broken: string | null;
  story: string[];
  events: number;
  jobs: number;
};

/** Long after the last fault: retries, leases and clocks have all run out by then. */
const restMs = 600_000;

/** Runs one schedule from its beginning until everything has come to rest. */
export async function runSchedule(
  stage: Stage,
  { seed, plan, defect }: { seed: number; plan: readonly Step[]; defect: Defect },
): Promise<Outcome> {
  const world = new World(seed);
  const putBack = replaceMachineTime(() => world.nowMs);
  const scene = new Scene(stage, world, defect);
  let broken: string | null = null;
  try {
    await scene.play(plan);
  } catch (error) {
    broken = error instanceof Broken ? error.message : `unexpected: ${(error as Error).stack}`;
    world.tell(`BROKEN: ${broken}`);
  } finally {
    putBack();
    scene.end();
  }
  return { broken, story: world.story, events: world.eventCount, jobs: scene.jobCount };
}

class Scene {
  readonly #stage: Stage;
  readonly #world: World;
  readonly #defect: Defect;
  readonly #disk: Disk;
  readonly #promises: Promises;
  readonly #network: Network;
  readonly #client: SimClient;
  readonly #ids;
  readonly #workers = new Map<string, SimWorker>();
  readonly #walls = new Map<string, { offsetMs: number }>();
  readonly #troubles = new Map<string, CallTrouble[]>();
  readonly #cutOff = new Set<string>();
  #isHealed = false;
  #hub: SimHub | null = null;
  #failure: Error | null = null;
  readonly #onFailure = (error: unknown): void => {
    this.#failure ??= error as Error;
  };

  constructor(stage: Stage, world: World, defect: Defect) {
    this.#stage = stage;
    this.#world = world;
    this.#defect = defect;
    this.#disk = freshDisk(stage.template);
    this.#promises = new Promises(world);
    this.#ids = seededIds(world);
    this.#network = new Network(
      world,
      {
        ofNextCall: (from) => this.#troubles.get(from)?.shift() ?? null,
        isCutOff: (from) => this.#cutOff.has(from) || this.#cutOff.has("hub"),
      },
      this.#promises,
    );
    this.#client = new SimClient(world, this.#network, stage.tokens.client);
    process.on("unhandledRejection", this.#onFailure);
  }

  get jobCount(): number {
    return this.#promises.jobs.size;
  }

  async play(plan: readonly Step[]): Promise<void> {
    for (const workerId of workerIds) forgetWorker(this.#dirOf(workerId));
    await this.#startHub();
    for (const workerId of workerIds) await this.#startWorker(workerId);
    const steps: Due[] = plan.map((step) => ({ atMs: step.atMs, act: () => this.#take(step) }));
    this.#due.push(...steps);
    const healsMs = healsAtMs(plan);
    await this.#runUntil(healsMs, () => false);
    await this.#heal();
    await this.#runUntil(healsMs + restMs, () => this.#isAtRest());
    this.#checkRest();
  }

  end(): void {
    process.off("unhandledRejection", this.#onFailure);
    this.#hub?.crash();
    for (const worker of this.#workers.values()) worker.crash();
    this.#client.crash();
    this.#disk.remove();
  }

  /** Steps wait for real files, which the world's time must not see: each is taken between two events. */
  readonly #due: Due[] = [];

  async #runUntil(untilMs: number, isOver: () => boolean): Promise<void> {
    for (;;) {
      this.#due.sort((a, b) => a.atMs - b.atMs);
      const next = this.#due[0];
      const stopMs = next === undefined ? untilMs : Math.min(next.atMs, untilMs);
      await this.#world.run(stopMs, isOver, () => this.#check());
      if (next === undefined || next.atMs > untilMs || isOver()) return;
      this.#due.shift();
      await next.act();
      await settle();
      this.#check();
    }
  }

  #check(): void {
    if (this.#failure !== null) throw this.#failure;
    this.#promises.check(this.#hub);
  }

  #later(ms: number, act: () => Promise<void> | void): void {
    this.#due.push({ atMs: Math.max(this.#world.nowMs, 0) + ms, act });
  }

  async #take(step: Step): Promise<void> {
    this.#world.tell(`— ${stepText(step)}`);
    if (step.kind === "submit") this.#client.submit(step.job);
    if (step.kind === "cancel") this.#client.order(step.name, "cancelJob");
    if (step.kind === "put back") this.#client.order(step.name, "retryJob");
    if (step.kind === "crash") this.#crash(step.who, step.downMs);
    if (step.kind === "set clock") this.#wallOf(step.who).offsetMs = step.toMs;
    if (step.kind === "trouble")
      this.#troubles.set(step.who, [...(this.#troubles.get(step.who) ?? []), step.trouble]);
    if (step.kind === "cut off") {
      this.#cutOff.add(step.who);
      this.#later(step.forMs, () => void this.#cutOff.delete(step.who));
    }
    if (step.kind === "full disk") {
      this.#disk.isFull = true;
      this.#later(step.forMs, () => {
        this.#disk.isFull = false;
      });
    }
  }

  #crash(who: string, downMs: number): void {
    if (who === "hub" && this.#hub !== null) {
      const hub = this.#hub;
      hub.crash();
      this.#hub = null;
      this.#network.hub = null;
      this.#network.reset(hub);
      this.#later(downMs, () => this.#startHub());
    } else if (who === "client" && this.#client.isUp) {
      this.#client.crash();
      this.#later(downMs, () => this.#client.start());
    } else if (this.#workers.has(who)) {
      this.#workers.get(who)!.crash();
      this.#workers.delete(who);
      this.#later(downMs, () => this.#startWorker(who));
    }
  }

  async #startHub(): Promise<void> {
    if (this.#hub !== null) return;
    const { settings } = this.#stage;
    // A hub does not start on a full disk; its supervisor tries again.
    if (this.#disk.isFull) return this.#later(500, () => this.#startHub());
    this.#world.tell("the hub starts");
    const wall = this.#wallOf("hub");
    const parts = {
      world: this.#world,
      disk: this.#disk,
      settings,
      defect: this.#defect,
      ids: this.#ids,
      wall,
    };
    this.#hub = await startSimHub(parts);
    this.#network.hub = this.#hub;
    this.#promises.checkAll(this.#hub);
  }

  async #startWorker(workerId: string): Promise<void> {
    if (this.#workers.has(workerId)) return;
    this.#world.tell(`${workerId} starts`);
    const { signingKeys, tokens } = this.#stage;
    this.#workers.set(
      workerId,
      await startSimWorker({
        world: this.#world,
        network: this.#network,
        workerId,
        dir: this.#dirOf(workerId),
        token: tokens.worker(workerId),
        signingKeys,
        wall: this.#wallOf(workerId),
        handlers: new Map([["simulated", this.#handlerOf(workerId)]]),
      }),
    );
  }

  #dirOf(workerId: string): string {
    return join(this.#stage.template.dir, workerId);
  }

  #handlerOf(workerId: string): HandlerFunction {
    return async (job, { signal }) => {
      const { name, parts } = job.params as { name: string; parts: Part[] };
      const { id, attempt } = job;
      this.#promises.begun(workerId, { id, attempt, name });
      const { ms, end } = parts[(attempt - 1) % parts.length]!;
      const life = this.#workers.get(workerId)?.life;
      if (life !== undefined) await this.#world.clockOf(life, { offsetMs: 0 }).sleep(ms, signal);
      if (end === "error") throw new Error("the handler failed");
      if (end === "refusal")
        throw new RunFailure("INVALID_JOB", "JOB_NOT_ACCEPTED", "the handler refuses it");
      return { name, attempt, worker: workerId };
    };
  }

  /** Whatever was wrong is over, so everything must come to its end by itself. */
  async #heal(): Promise<void> {
    this.#world.tell("— nothing goes wrong any more");
    this.#isHealed = true;
    this.#disk.isFull = false;
    this.#cutOff.clear();
    this.#troubles.clear();
    for (const wall of this.#walls.values()) wall.offsetMs = 0;
    this.#due.length = 0;
    await this.#startHub();
    for (const workerId of workerIds) await this.#startWorker(workerId);
    if (!this.#client.isUp) this.#client.start();
  }

  #isAtRest(): boolean {
    const { jobs } = this.#promises;
    return (
      this.#isHealed && this.#client.isDone && [...jobs.values()].every(({ status }) => isEnded(status!))
    );
  }

  #checkRest(): void {
    if (!this.#isAtRest()) {
      const open = [...this.#promises.jobs.values()].filter(({ status }) => !isEnded(status!));
      const what = open.map(({ name, status }) => `${name} is ${status}`).join(", ");
      throw new Broken(`after all faults were over, something waits for ever: ${what || "the client"}`);
    }
    this.#promises.checkAll(this.#hub!);
  }

  #wallOf(who: string): { offsetMs: number } {
    const wall = this.#walls.get(who) ?? { offsetMs: 0 };
    this.#walls.set(who, wall);
    return wall;
  }
}

type Due = { atMs: number; act: () => Promise<void> | void };
