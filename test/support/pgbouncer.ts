import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { type PostgresCluster, withClient } from "./postgres-cluster.ts";

const program = "/usr/sbin/pgbouncer";

/** Why tests with PgBouncer cannot run here; undefined if they can. */
export const noPgBouncer: string | undefined = existsSync(program)
  ? undefined
  : "not capable: PgBouncer is not installed (apt-get install pgbouncer)";

/** PgBouncer in front of a server. It refuses to run as root, so root becomes an ordinary user. */
export class PgBouncer {
  readonly #dir = mkdtempSync(join(tmpdir(), "writ-pgbouncer-"));
  #child: ChildProcess | null = null;
  #port = 0;

  static async start(cluster: PostgresCluster, mode: "session" | "transaction"): Promise<PgBouncer> {
    const bouncer = new PgBouncer();
    try {
      await bouncer.#start(cluster, mode);
      return bouncer;
    } catch (error) {
      await bouncer.stop();
      throw error;
    }
  }

  url(database: string): string {
    return `postgres://bench@127.0.0.1:${this.#port}/${database}`;
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child !== null && child.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await exited;
    }
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #start(cluster: PostgresCluster, mode: string): Promise<void> {
    this.#port = await freePort();
    const config = join(this.#dir, "pgbouncer.ini");
    const lines = [
      "[databases]",
      `* = host=127.0.0.1 port=${cluster.port}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${this.#port}`,
      "unix_socket_dir =",
      "auth_type = any",
      `pool_mode = ${mode}`,
      "default_pool_size = 40",
    ];
    // With auth_type = any, everybody is the user of the entry.
    lines[1] += " user=bench";
    writeFileSync(config, `${lines.join("\n")}\n`);
    // It reads its file before it changes its user.
    const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
    const child = spawn(program, ["-q", ...user, config], { stdio: ["ignore", "ignore", "inherit"] });
    this.#child = child;
    await eventually("PgBouncer answers", async () => {
      if (child.exitCode !== null) throw new Error("PgBouncer did not start");
      return withClient(this.url("postgres"), (client) => client.query("SELECT 1")).then(
        () => true,
        () => false,
      );
    });
  }
}
