import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { removeHome } from "../support/remove-home.ts";

export type Ended = { code: number | null; stdout: string; stderr: string };

/** Long enough for a machine that does much else; only what hangs meets it. */
const commandMsMax = 200_000;
const user = "ada";
const userId = 1000;

/**
 * Turns into the first process of the machine. `pivot_root` and not `chroot`: in a chroot no process can make a user
 * namespace, and so no cage. A shell that waits also reaps what others leave. It ends with its input, even if we are
 * killed; with it end all processes here and all mounts, because no other process is in these namespaces.
 */
const firstProcess = `
set -e
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs -o mode=0755 tmpfs dev
for name in null zero full random urandom tty; do : > dev/$name; mount --bind /dev/$name dev/$name; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
for link in pts/ptmx /proc/self/fd; do ln -s $link dev/; done
pivot_root . mnt
umount -l /mnt
echo ready
cat
:
`;

/** Why no such machine can run here, or null. */
export function machineObstacle(): string | null {
  const words = ["--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/mnt"];
  return spawnSync("unshare", words).status === 0 ? null : "this host allows no namespaces with mounts";
}

/** A copy of a Debian that runs in namespaces of its own, with the host's network. */
export class BareMachine {
  readonly #dir: string;
  readonly #first: ChildProcess;
  /** What a person here has set up for npm and apt on a machine without direct access to the registry. */
  readonly #settings: Record<string, string>;

  private constructor(dir: string, first: ChildProcess, settings: Record<string, string>) {
    this.#dir = dir;
    this.#first = first;
    this.#settings = settings;
  }

  static async start(debian: string): Promise<BareMachine> {
    const settings = networkSettings();
    const dir = mkdtempSync(join(tmpdir(), "writ-bare-"));
    const root = join(dir, "root");
    execFileSync("cp", ["-a", debian, root]);
    copyFileSync("/etc/resolv.conf", join(root, "etc/resolv.conf"));
    const words = ["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"];
    const first = spawn("unshare", [...words, "sh", "-c", firstProcess], {
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", root },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const machine = new BareMachine(dir, first, settings);
    try {
      await machine.#prepare();
      return machine;
    } catch (error) {
      await machine.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    if (this.#first.exitCode === null && this.#first.signalCode === null) {
      const exited = once(this.#first, "exit");
      this.#first.stdin!.end();
      await exited;
    }
    removeHome(this.#dir);
  }

  /** Puts a file where everybody can read it; answers its path in the machine. */
  addFile(file: string): string {
    const place = join("/srv", basename(file));
    copyFileSync(file, join(this.#dir, "root", place));
    return place;
  }

  /** Starts a line of the shell as root or as an ordinary user, in the user's home. */
  start(who: "root" | "user", line: string): ChildProcess {
    const pid = this.#first.pid;
    const enter = [
      `--mount=/proc/${pid}/ns/mnt`,
      `--pid=/proc/${pid}/ns/pid_for_children`,
      `--root=/proc/${pid}/root`,
    ];
    const ids = [`--reuid=${userId}`, `--regid=${userId}`, "--init-groups"];
    const become = who === "root" ? [] : ["setpriv", ...ids];
    const home = who === "root" ? "/root" : `/home/${user}`;
    const shell = ["sh", "-c", `cd ${home} && ${line}`];
    return spawn("nsenter", [...enter, ...become, ...shell], {
      env: {
        ...this.#settings,
        ...{
          HOME: home,
          USER: who === "root" ? who : user,
          PATH: "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        },
        ...{ LANG: "C.UTF-8", DEBIAN_FRONTEND: "noninteractive" },
      },
      stdio: "pipe",
    });
  }

  async run(who: "root" | "user", line: string): Promise<Ended> {
    const child = this.start(who, line);
    child.stdin!.end();
    const [stdout, stderr] = [gather(child, "stdout"), gather(child, "stderr")];
    const timer = setTimeout(() => child.kill("SIGKILL"), commandMsMax);
    const [code] = await once(child, "close");
    clearTimeout(timer);
    return { code, stdout: stdout(), stderr: stderr() };
  }

  async must(who: "root" | "user", line: string): Promise<string> {
    const { code, stdout, stderr } = await this.run(who, line);
    if (code !== 0) throw new Error(`\`${line}\` ended with ${code}: ${stdout}${stderr}`);
    return stdout;
  }

  async #prepare(): Promise<void> {
    const [word] = await Promise.race([once(this.#first.stdout!, "data"), once(this.#first, "exit")]);
    if (String(word) !== "ready\n") throw new Error("the machine did not start");
    const { npm_config_cafile: authorities } = this.#settings;
    if (authorities !== undefined) this.#settings["npm_config_cafile"] = this.addFile(authorities);
    await this.must("root", `useradd --create-home --uid ${userId} ${user}`);
  }
}

/** All that it has written so far. */
function gather(child: ChildProcess, name: "stdout" | "stderr"): () => string {
  const pieces: Buffer[] = [];
  child[name]!.on("data", (piece: Buffer) => pieces.push(piece));
  return () => Buffer.concat(pieces).toString();
}

/** How npm and apt reach the world from here. */
function networkSettings(): Record<string, string> {
  const listed = execFileSync("npm", ["config", "list", "--json"], { stdio: ["ignore", "pipe", "ignore"] });
  const set = JSON.parse(String(listed)) as Record<string, unknown>;
  const ofNpm = ["registry", "cafile", "proxy", "https-proxy"].filter(
    (name) => typeof set[name] === "string",
  );
  const ofAll = ["http_proxy", "https_proxy", "no_proxy"].filter((name) => process.env[name]);
  return {
    ...Object.fromEntries(
      ofNpm.map((name) => [`npm_config_${name.replaceAll("-", "_")}`, String(set[name])]),
    ),
    ...Object.fromEntries(ofAll.map((name) => [name, process.env[name]!])),
  };
}
