import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { type ComposeService, deployDir, readCompose } from "./compose-file.ts";
import type { ContainerStore, Ended } from "./container-store.ts";

/** Has no meaning for one run in one network: nothing is published, restarted or built here. */
const leftOut = ["build", "image", "restart", "init", "ports", "networks", "network_mode", "depends_on"];

/**
 * Starts services as compose.yaml describes them. All containers share a network of their own, in which every name is
 * the loopback address, so that a container can be replaced and nothing reaches the machine.
 */
export class ComposeStage {
  readonly services: Record<string, ComposeService>;
  readonly #store: ContainerStore;
  #network: ChildProcess | undefined;
  readonly #started = new Set<string>();

  constructor(store: ContainerStore, files?: readonly string[]) {
    this.#store = store;
    this.services = readCompose(files).services;
  }

  async open(): Promise<void> {
    const script = "ip link set lo up && echo ready && exec sleep infinity";
    this.#network = spawn("unshare", ["--net", "sh", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
    await once(this.#network.stdout!, "data");
  }

  async close(): Promise<void> {
    for (const name of this.#started) await this.#store.tryPodman(["rm", "--force", "--time", "0", name]);
    if (this.#network?.kill("SIGKILL")) await once(this.#network, "exit");
  }

  /** Starts a service after all that it depends on, as far as they do not run yet. */
  async up(name: string, changes: Partial<ComposeService> = {}): Promise<void> {
    const service = this.#serviceOf(name, changes);
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      if (condition === "service_completed_successfully") await this.runOnce(other);
      else if (!this.#started.has(other)) await this.up(other);
    }
    await this.start(name, this.#words(service), service.command);
    await this.healthy(name);
  }

  /** Runs a service that ends; answers what it wrote. */
  async runOnce(name: string): Promise<string> {
    const service = this.#serviceOf(name, {});
    for (const other of Object.keys(service.depends_on ?? {}))
      if (!this.#started.has(other)) await this.up(other);
    return this.#store.podman(["run", "--rm", ...this.#words(service), ...(service.command ?? [])]);
  }

  async start(name: string, words: readonly string[], command: readonly string[] = []): Promise<void> {
    await this.#store.podman(["run", "--detach", "--name", name, ...words, ...command]);
    this.#started.add(name);
  }

  /** Waits until the health check of its image passes; an image without one is taken at its word. */
  async healthy(name: string): Promise<void> {
    if ((await this.inspect(name, "{{.Config.Healthcheck}}")) === "<nil>") return;
    await eventually(`${name} is healthy: ${await this.logs(name)}`, () => this.isHealthy(name));
  }

  async isHealthy(name: string): Promise<boolean> {
    return (await this.#store.tryPodman(["healthcheck", "run", name])).code === 0;
  }

  exec(name: string, ...words: string[]): Promise<string> {
    return this.#store.podman(["exec", name, ...words]);
  }

  tryExec(name: string, ...words: string[]): Promise<Ended> {
    return this.#store.tryPodman(["exec", name, ...words]);
  }

  async logs(name: string): Promise<string> {
    const { stdout, stderr } = await this.#store.tryPodman(["logs", name]);
    return stdout + stderr;
  }

  async inspect(name: string, format: string): Promise<string> {
    return (await this.#store.podman(["inspect", "--format", format, name])).trim();
  }

  /** Asks it to end, as `docker stop` does, with the patience that the service names; answers its exit code. */
  async stop(name: string): Promise<number> {
    const seconds = /^(\d+)s$/.exec(this.services[name]?.stop_grace_period ?? "10s")![1]!;
    await this.#store.podman(["stop", "--time", seconds, name]);
    return this.exitCode(name);
  }

  async kill(name: string): Promise<number> {
    await this.#store.podman(["kill", "--signal", "KILL", name]);
    await this.#store.podman(["wait", name]);
    return this.exitCode(name);
  }

  async exitCode(name: string): Promise<number> {
    return Number(await this.inspect(name, "{{.State.ExitCode}}"));
  }

  async remove(name: string): Promise<void> {
    await this.#store.podman(["rm", "--force", "--time", "0", name]);
    this.#started.delete(name);
  }

  /** What each container here is given, whatever it is. */
  network(): string[] {
    const names = Object.keys(this.services).flatMap((name) => ["--add-host", `${name}:127.0.0.1`]);
    const limits = ["--cgroups", "disabled", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"];
    return [...limits, "--network", `ns:/proc/${this.#network!.pid}/ns/net`, ...names];
  }

  #serviceOf(name: string, changes: Partial<ComposeService>): ComposeService {
    const service = this.services[name];
    if (service === undefined) throw new Error(`compose.yaml has no service ${name}`);
    return { ...service, ...changes };
  }

  #words(service: ComposeService): string[] {
    const { image, entrypoint, environment = {}, volumes = [], tmpfs = [], ...more } = service;
    const { cap_add = [], cap_drop = [], security_opt = [], read_only, healthcheck, ...rest } = more;
    const { command: _command, stop_grace_period: _patience, ...unknown } = rest;
    const odd = Object.keys(unknown).filter((key) => !leftOut.includes(key));
    if (odd.length > 0) throw new Error(`this stage does not know ${odd.join(", ")}`);
    return [
      ...this.network(),
      ...Object.entries(environment).flatMap(([key, value]) => ["--env", `${key}=${value}`]),
      ...volumes.flatMap((volume) => ["--volume", volume.replace(/^\.\//, `${join(deployDir, "/")}`)]),
      ...tmpfs.flatMap((path) => ["--tmpfs", path]),
      ...cap_add.flatMap((right) => ["--cap-add", right]),
      ...cap_drop.flatMap((right) => ["--cap-drop", right]),
      ...security_opt.flatMap((option) => ["--security-opt", option]),
      ...(read_only ? ["--read-only"] : []),
      ...(healthcheck === undefined
        ? []
        : ["--health-cmd", JSON.stringify(healthcheck.test.slice(1)), "--health-interval", "disable"]),
      ...(entrypoint === undefined ? [] : ["--entrypoint", JSON.stringify(entrypoint)]),
      `localhost/${image}`,
    ];
  }
}
