import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chownSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { freePort } from "./free-port.ts";

/** Where Debian keeps PostgreSQL's programs; its newest version comes last. */
export function findPostgres(): string | undefined {
  return globSync("/usr/lib/postgresql/*/bin/postgres").sort().at(-1);
}

/** Why tests with PostgreSQL cannot run here; undefined if they can. */
export const noPostgres: string | undefined =
  findPostgres() === undefined
    ? "not capable: PostgreSQL is not installed (apt-get install postgresql)"
    : undefined;

const startsWithinMs = 30_000;

type ClusterOptions = {
  /** Where its folder is made; its name begins so. */
  prefix?: string;
  /** Beyond the defaults of PostgreSQL, such as `fsync=off`. */
  settings?: string[];
  /** Lines of pg_hba.conf that come before the one by which everybody is let in. */
  rules?: string[];
  /** A network namespace to run in, and the address by which it is reached. */
  network?: { name: string; host: string };
};

/** How the server is started, as which user of the system if not as ours, and where it is reached. */
type Server = { command: string[]; user: SystemUser; host: string };
type SystemUser = { uid?: number; gid?: number };

/** A PostgreSQL server of our own, in a folder of its own. It refuses to run as root, so root becomes an ordinary user. */
export class PostgresCluster {
  readonly port: number;
  readonly #dir: string;
  readonly #server: Server;
  #child: ChildProcess | undefined;

  private constructor(dir: string, port: number, server: Server) {
    this.port = port;
    this.#dir = dir;
    this.#server = server;
  }

  static async start({
    prefix = "writ-postgres-",
    settings = [],
    rules = [],
    network,
  }: ClusterOptions = {}): Promise<PostgresCluster> {
    const program = findPostgres();
    if (program === undefined) throw new Error("PostgreSQL is not installed: apt-get install postgresql");
    const dir = mkdtempSync(join(tmpdir(), prefix));
    const user: SystemUser = process.getuid?.() === 0 ? ordinaryUser() : {};
    if (user.uid !== undefined) chownSync(dir, user.uid, user.gid!);
    const data = join(dir, "data");
    const init = ["-D", data, "-U", "bench", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync"];
    const made = spawnSync(join(dirname(program), "initdb"), init, { ...user, cwd: dir, encoding: "utf8" });
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr || made.error?.message}`);
    const access = join(data, "pg_hba.conf");
    const everybody = network === undefined ? [] : ["host all all 0.0.0.0/0 trust"];
    writeFileSync(access, [...rules, ...everybody, readFileSync(access, "utf8")].join("\n"));
    const port = await freePort();
    const all = [
      `listen_addresses=${network === undefined ? "127.0.0.1" : "*"}`,
      `unix_socket_directories=${dir}`,
      "log_min_messages=panic",
      ...settings,
    ];
    const server = [program, "-D", data, "-p", String(port), ...all.flatMap((setting) => ["-c", setting])];
    // The server ends with the program of the tests, however that ends.
    const command = ["setpriv", "--pdeathsig", "QUIT", ...server];
    const cluster = new PostgresCluster(
      dir,
      port,
      network === undefined
        ? { command, user, host: "127.0.0.1" }
        : { command: [...enterNetwork(network.name, user), ...command], user: {}, host: network.host },
    );
    try {
      await cluster.restart();
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  url(database: string, host = this.#server.host): string {
    return `postgres://bench@${host}:${this.port}/${database}`;
  }

  /** Processes of a server that was killed live on for a moment, and keep the next one from its memory: it tries again. */
  async restart(): Promise<void> {
    const giveUpAt = Date.now() + startsWithinMs;
    let child = this.#spawn();
    while (!(await answers(this.url("postgres")))) {
      if (Date.now() > giveUpAt) throw new Error(`PostgreSQL did not start on port ${this.port}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (child.exitCode !== null) child = this.#spawn();
    }
  }

  #spawn(): ChildProcess {
    const { command, user } = this.#server;
    const [program, ...args] = command as [string, ...string[]];
    this.#child = spawn(program, args, {
      ...user,
      cwd: this.#dir,
      stdio: ["ignore", "ignore", "inherit"],
    });
    return this.#child;
  }

  /** SIGINT is PostgreSQL's fast shutdown; SIGTERM would wait for every client to leave. */
  async end(signal: "SIGINT" | "SIGQUIT" | "SIGKILL" = "SIGINT"): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.kill(signal);
    await exited;
  }

  /** The server and everything that it has started stand still: connections stay open, and nothing answers. */
  freeze(): void {
    this.#signalAll("SIGSTOP");
  }

  thaw(): void {
    this.#signalAll("SIGCONT");
  }

  /** The parent first: then it starts nothing that would be missed. */
  #signalAll(signal: "SIGSTOP" | "SIGCONT"): void {
    const { pid } = this;
    process.kill(pid, signal);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    for (const child of children === "" ? [] : children.split(" ")) {
      try {
        process.kill(Number(child), signal);
      } catch (error) {
        // The parent, which runs again at that moment, may have ended it.
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
    }
  }

  async stop(): Promise<void> {
    await this.end();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** A connection of its own, for what a test does behind the back of a store. */
export async function withClient(url: string, use: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}

/** A server that is still starting accepts connections and refuses them in words. */
async function answers(url: string): Promise<boolean> {
  try {
    await withClient(url, (client) => client.query("SELECT 1"));
    return true;
  } catch {
    return false;
  }
}

/** Only root can enter a network, so a program that runs there changes its user afterwards. */
function enterNetwork(name: string, { uid, gid }: SystemUser): string[] {
  const user = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups"];
  return ["nsenter", `--net=/run/netns/${name}`, "setpriv", ...user];
}

function ordinaryUser(): SystemUser {
  const id = (flag: string) => Number(spawnSync("id", [flag, "nobody"], { encoding: "utf8" }).stdout);
  return { uid: id("-u"), gid: id("-g") };
}
