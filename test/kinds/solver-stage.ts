import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Job, type JobInput, Writ } from "../../src/client/index.ts";
import { eventually } from "../support/eventually.ts";
import { HubProcess } from "../support/hub-process.ts";
import { WorkerProcess } from "../support/worker-process.ts";
import { SolverServer } from "./solver-server.ts";

export type SolverJob = Omit<JobInput, "type">;

const endStates = new Set(["completed", "failed", "quarantined"]);

/** A hub, a worker and a web server with solvers, as users would have them. */
export class SolverStage {
  readonly server = new SolverServer();
  readonly hub = new HubProcess({
    WRIT_BACKOFF_SCALE: "0",
    WRIT_LOG_LEVEL: "warn",
    // A worker that is killed is missed soon.
    WRIT_LEASE_MS: "15000",
    WRIT_REAPER_INTERVAL_MS: "200",
  });
  writ!: Writ;
  worker!: WorkerProcess;

  async open(env: Record<string, string> = {}): Promise<void> {
    await this.server.start();
    await this.hub.start();
    this.writ = new Writ({ url: this.hub.url, token: this.hub.token });
    const hosts = JSON.stringify([this.server.host]);
    this.worker = new WorkerProcess(this.hub, "solver-worker", { SOLVER_HOSTS: hosts, ...env });
    await this.worker.enrol();
    this.worker.start();
  }

  async close(): Promise<void> {
    this.writ.close();
    await this.worker.remove();
    await this.hub.remove();
    await this.server.stop();
  }

  async submit(job: SolverJob, client = this.writ): Promise<string> {
    return (await client.submit({ type: "solve", max_attempts: 1, ...job } as JobInput)).id;
  }

  async endOf(id: string, client = this.writ): Promise<Job> {
    return eventually("the job has ended", async () => {
      const job = await client.get(id);
      return endStates.has(job.status) ? job : null;
    });
  }

  async solve(job: SolverJob, client = this.writ): Promise<Job> {
    return this.endOf(await this.submit(job, client), client);
  }

  async outputOf(id: string): Promise<string> {
    const parts: Uint8Array[] = [];
    for await (const chunk of this.writ.streamOutput(id, { follow: false })) parts.push(chunk);
    return Buffer.concat(parts).toString();
  }

  get cacheDir(): string {
    return join(this.worker.home, "solvers");
  }

  /** The files that the cache has of a tenant, unfinished ones too. */
  cached(tenant = "default"): string[] {
    return readdirSync(join(this.cacheDir, tenant)).sort();
  }
}

/** A program of a given size that prints its name. */
export function padded(name: string, bytes: number): string {
  return `#!/bin/sh\necho '"${name}"'\nexit\n`.padEnd(bytes, "#");
}
