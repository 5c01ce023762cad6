import type { RouteInput } from "../src/contract/routes/build-request.ts";
import { callRoute } from "../src/contract/routes/call-route.ts";
import { jobRoutes } from "../src/contract/routes/job-routes.ts";
import type { RouteAnswer } from "../src/contract/routes/read-answer.ts";
import type { Route } from "../src/contract/routes/route.ts";
import { codeOf, isRetryable } from "../src/core/errors.ts";
import type { Clock } from "../src/runtime/clock/clock.ts";
import type { HttpClient } from "../src/runtime/http/http-client.ts";
import type { Network } from "./network.ts";
import type { JobPlan } from "./plan.ts";
import type { Life, World } from "./world.ts";

const timeoutMs = 3_000;
const lookMs = { from: 20, to: 800 };
const ends = ["completed", "failed", "quarantined"];

/** What a producer has written down of its requests: it outlives the producer's process. */
type Request = {
  job: JobPlan;
  dueAtMs: number;
  id: string | null;
  isSeenEnded: boolean;
  orders: { route: "cancelJob" | "retryJob"; isDone: boolean }[];
};

/** Submits jobs until each is accepted, gives orders until each is answered, and looks until each job has ended. */
export class SimClient {
  readonly #world: World;
  readonly #network: Network;
  readonly #token: string;
  readonly #requests = new Map<string, Request>();
  readonly #wall = { offsetMs: 0 };
  #life: Life = { name: "client", isOver: true };
  #http!: HttpClient;
  #clock!: Clock;

  constructor(world: World, network: Network, token: string) {
    this.#world = world;
    this.#network = network;
    this.#token = token;
    this.start();
  }

  get isUp(): boolean {
    return !this.#life.isOver;
  }

  /** Everything is accepted, and every job was seen to have ended. */
  get isDone(): boolean {
    return [...this.#requests.values()].every(
      ({ isSeenEnded, orders }) => isSeenEnded && orders.every((order) => order.isDone),
    );
  }

  start(): void {
    this.#life = { name: "client", isOver: false };
    this.#http = this.#network.clientOf(this.#life, this.#token);
    this.#clock = this.#world.clockOf(this.#life, this.#wall);
    for (const request of this.#requests.values()) void this.#pursue(request, this.#life);
  }

  crash(): void {
    this.#life.isOver = true;
  }

  submit(job: JobPlan): void {
    const request: Request = { job, dueAtMs: job.delayMs, id: null, isSeenEnded: false, orders: [] };
    this.#requests.set(job.name, request);
    if (this.isUp) void this.#pursue(request, this.#life);
  }

  order(name: string, route: "cancelJob" | "retryJob"): void {
    const request = this.#requests.get(name);
    if (request === undefined) return;
    request.orders.push({ route, isDone: false });
    if (!request.isSeenEnded) return;
    request.isSeenEnded = false;
    if (this.isUp) void this.#pursue(request, this.#life);
  }

  async #pursue(request: Request, life: Life): Promise<void> {
    while (!life.isOver && !request.isSeenEnded) {
      try {
        if (request.id === null) request.id = await this.#send(request.job);
        await this.#giveOrders(request);
        const { body } = await this.#call(jobRoutes.getJob, { params: { id: request.id } });
        request.isSeenEnded = ends.includes(body.status) && request.orders.every(({ isDone }) => isDone);
      } catch (error) {
        if (!isRetryable(error) && codeOf(error) !== "INTERNAL") throw error;
      }
      await this.#clock.sleep(this.#world.random.between(lookMs.from, lookMs.to));
    }
  }

  async #send(job: JobPlan): Promise<string> {
    const { name, parts, maxAttempts, retry, timeoutSec, delayMs, ttlSec, finishSec, priority } = job;
    const { body } = await this.#call(jobRoutes.submitJob, {
      body: {
        type: "simulated",
        params: { name, parts },
        idempotency_key: name,
        timeout_sec: timeoutSec,
        priority,
        ...(maxAttempts !== null && { max_attempts: maxAttempts }),
        ...(retry !== null && { retry }),
        ...(delayMs > 0 && { run_at: this.#runAt(job) }),
        ...(ttlSec !== null && { queue_ttl_sec: ttlSec }),
        ...(finishSec !== null && { finish_within_sec: finishSec }),
      },
    });
    return body.id;
  }

  /** The same in every repetition: another moment would make it another request. */
  readonly #runAts = new Map<string, number>();
  #runAt({ name, delayMs }: JobPlan): number {
    const known = this.#runAts.get(name) ?? this.#clock.nowMs() + delayMs;
    this.#runAts.set(name, known);
    return known;
  }

  async #giveOrders({ id, orders }: Request): Promise<void> {
    for (const order of orders) {
      if (order.isDone) continue;
      try {
        await this.#call(jobRoutes[order.route], { params: { id: id! } });
      } catch (error) {
        // It has ended already, or has not ended yet: that is an answer.
        if (codeOf(error) !== "STATE_CONFLICT") throw error;
      }
      order.isDone = true;
    }
  }

  #call<R extends Route>(route: R, input: RouteInput<R>): Promise<RouteAnswer<R>> {
    return callRoute((request) => this.#http.request({ ...request, timeoutMs }), route, input);
  }
}
