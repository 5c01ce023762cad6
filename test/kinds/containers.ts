import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { eventually } from "../support/eventually.ts";
import { checkout, hasTool } from "../support/make-debian.ts";
import { plainCgroups } from "./plain-cgroups.ts";
import { rootFileSystem } from "./root-file-system.ts";

/** A container that runs, as a worker knows it. */
export type Container = {
  /** What leads into it. */
  exec: string[];
  /** Ends it with everything in it. */
  remove(): Promise<void>;
};

export type ContainerTool = {
  name: string;
  /** Why it cannot be had on this machine. */
  obstacle: string | null;
  start(): Promise<Container>;
};

const root = rootFileSystem();

/** Mounted into every container, so that it has our Node, our programs and the workers of the tests. */
const mounts = [checkout];

export const tools: ContainerTool[] = [await crun(), await podman(), await nsenter()];

function crun(): Promise<ContainerTool> {
  const start = async (): Promise<Container> => {
    const dir = mkdtempSync(join(tmpdir(), "writ-crun-"));
    const command = ["crun", "--root", join(dir, "run"), "--cgroup-manager=disabled"];
    must(["crun", "spec"], { cwd: dir });
    const file = join(dir, "config.json");
    writeFileSync(file, JSON.stringify(crunConfig(dir, JSON.parse(readFileSync(file, "utf8")))));
    must([...plainCgroups, ...command, "run", "--detach", "--bundle", dir, "box"]);
    return {
      exec: [...command, "exec", "box"],
      async remove() {
        must([...plainCgroups, ...command, "delete", "--force", "box"]);
        rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
      },
    };
  };
  return tool("crun", ["crun"], start);
}

type CrunConfig = {
  process: object;
  mounts: { destination: string }[];
  linux: { namespaces: { type: string }[] };
};

/** The network is the host's, so that jobs reach a hub on this machine. */
function crunConfig(dir: string, spec: CrunConfig): object {
  const bind = (source: string, destination: string, ...options: string[]) => ({
    source,
    destination,
    type: "bind",
    options: ["bind", ...options],
  });
  const own = ["lib", "log"].map((name) => {
    mkdirSync(join(dir, name));
    return bind(join(dir, name), `/var/${name}/writ-agent`);
  });
  const { namespaces } = spec.linux;
  return {
    ...spec,
    root: { path: root.path, readonly: true },
    process: { ...spec.process, terminal: false, args: ["sleep", "infinity"] },
    mounts: [
      ...spec.mounts.filter(({ destination }) => destination !== "/sys/fs/cgroup"),
      { destination: "/tmp", type: "tmpfs", source: "tmpfs" },
      ...mounts.map((path) => bind(path, path, "ro")),
      ...own,
    ],
    linux: {
      namespaces: namespaces.filter(({ type }) => type !== "network" && type !== "cgroup"),
    },
  };
}

function podman(): Promise<ContainerTool> {
  const start = async (): Promise<Container> => {
    const dir = mkdtempSync(join(tmpdir(), "writ-podman-"));
    const places = [
      "--root",
      join(dir, "store"),
      "--runroot",
      join(dir, "run"),
      "--tmpdir",
      join(dir, "tmp"),
    ];
    const choices = ["--storage-driver", "vfs", "--cgroup-manager", "cgroupfs", "--events-backend", "file"];
    const command = ["podman", ...places, ...choices, "--runtime", "crun"];
    const limits = ["--cgroups", "disabled", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"];
    const files = [
      ...mounts.flatMap((path) => ["--volume", `${path}:${path}:ro`]),
      ...["/tmp", "/var/lib/writ-agent", "/var/log/writ-agent"].flatMap((path) => ["--tmpfs", path]),
    ];
    const words = [
      "run",
      "--detach",
      "--name",
      "box",
      "--network",
      "none",
      ...limits,
      ...files,
      "--read-only",
    ];
    must([...plainCgroups, ...command, ...words, "--rootfs", root.path, "sleep", "infinity"]);
    return {
      exec: [...command, "exec", "--interactive", "box"],
      async remove() {
        must([...plainCgroups, ...command, "rm", "--force", "--time", "0", "box"]);
        rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
      },
    };
  };
  return tool("podman", ["podman", "crun"], start);
}

/** Nothing but namespaces. */
function nsenter(): Promise<ContainerTool> {
  const start = async (): Promise<Container> => {
    const dir = mkdtempSync(join(tmpdir(), "writ-nsenter-"));
    const script = [
      `mount --bind ${root.path} ${dir} && cd ${dir}`,
      "for own in tmp var/lib/writ-agent var/log/writ-agent; do mount -t tmpfs none $own || exit; done",
      // After /tmp, which would hide a checkout below it.
      ...mounts.map((path) => `mkdir -p .${path} && mount -o bind,ro ${path} .${path}`),
      "mount -t proc none proc && exec chroot . sleep infinity",
    ].join(" && ");
    const unshare = spawn("unshare", ["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script], {
      stdio: "ignore",
    });
    const pid = await eventually("the namespaces are there", () => childRunning(unshare, "sleep"));
    return {
      exec: ["nsenter", "--target", String(pid), "--mount", "--pid", "--root", "--wd"],
      async remove() {
        const exited = new Promise((resolve) => unshare.once("exit", resolve));
        process.kill(pid, "SIGKILL");
        await exited;
        rmSync(dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
      },
    };
  };
  return tool("nsenter", ["nsenter", "unshare"], start);
}

async function tool(
  name: string,
  programs: string[],
  start: () => Promise<Container>,
): Promise<ContainerTool> {
  const missing = programs.find((program) => !hasTool(program));
  const obstacle = root.obstacle ?? (missing === undefined ? await trial(start) : `no ${missing}`);
  return { name, obstacle, start };
}

/** Whether this machine lets such a container run at all. */
async function trial(start: () => Promise<Container>): Promise<string | null> {
  try {
    await (await start()).remove();
    return null;
  } catch (error) {
    return (error as Error).message.trim().split("\n").at(-1)!.slice(0, 200);
  }
}

function childRunning(parent: ChildProcess, program: string): number | null {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      if (stat.includes(`(${program}) `) && stat.split(") ")[1]!.split(" ")[1] === String(parent.pid))
        return Number(pid);
    } catch {}
  }
  return null;
}

/** A container that it starts keeps its standard error, so that is a file and not a pipe whose end would never come. */
function must([program = "", ...args]: string[], options: { cwd?: string } = {}): void {
  const path = join(mkdtempSync(join(tmpdir(), "writ-must-")), "stderr");
  const stderr = openSync(path, "a");
  const { status } = spawnSync(program, args, {
    ...options,
    stdio: ["ignore", "ignore", stderr],
    timeout: 60_000,
  });
  closeSync(stderr);
  const text = readFileSync(path, "utf8");
  rmSync(dirname(path), { recursive: true, force: true });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: ${text}`);
}
