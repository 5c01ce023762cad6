import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Why a network of its own cannot be made here; undefined if it can. */
export const noNetwork: string | undefined = lackOfNetwork();

function lackOfNetwork(): string | undefined {
  if (process.getuid?.() !== 0) return "not capable: only root can make a network namespace";
  const ip = ["/sbin/ip", "/usr/sbin/ip", "/bin/ip"].some(existsSync);
  return ip ? undefined : "not capable: ip is not installed (apt-get install iproute2)";
}

/**
 * A network namespace in which a database server runs, with one address for each hub: a test that takes such an address
 * away cuts that hub off from the database without a word to either of them. Nothing answers any more, as behind a
 * broken switch, and connections are whole again when the address is back.
 */
export class DatabaseNetwork {
  readonly name: string;
  readonly #near: string;
  readonly #prefix: string;
  readonly #hubs: number;

  constructor(hubs: number) {
    const number = process.pid % 65_536;
    this.name = `writ-db-${process.pid}`;
    this.#near = `wdb${process.pid}`.slice(0, 15);
    // 10.x.y.0/24, of our own process.
    this.#prefix = `10.${128 + (number >> 9)}.${(number >> 1) & 255}`;
    this.#hubs = hubs;
    const far = "far";
    ip("netns", "add", this.name);
    try {
      ip("link", "add", this.#near, "type", "veth", "peer", "name", far, "netns", this.name);
      ip("addr", "add", `${this.#prefix}.1/24`, "dev", this.#near);
      ip("link", "set", this.#near, "up");
      ip("-n", this.name, "link", "set", "lo", "up");
      ip("-n", this.name, "link", "set", far, "up");
      // The address of the test itself is never taken away.
      ip("-n", this.name, "addr", "add", `${this.#prefix}.2/24`, "dev", far);
      for (let hub = 0; hub < hubs; hub++) this.mend(hub);
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  /** Where the test reaches the server. */
  get host(): string {
    return `${this.#prefix}.2`;
  }

  hostFor(hub: number): string {
    return `${this.#prefix}.${10 + hub}`;
  }

  cut(hub: number): void {
    ip("-n", this.name, "addr", "del", `${this.hostFor(hub)}/32`, "dev", "far");
  }

  mend(hub: number): void {
    ip("-n", this.name, "addr", "replace", `${this.hostFor(hub)}/32`, "dev", "far");
  }

  mendAll(): void {
    for (let hub = 0; hub < this.#hubs; hub++) this.mend(hub);
  }

  /** The link goes with the namespace. */
  remove(): void {
    ip("netns", "del", this.name);
  }
}

function ip(...args: string[]): void {
  execFileSync("ip", args, { stdio: ["ignore", "ignore", "pipe"] });
}
