import { spawn } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { plainCgroups } from "../kinds/plain-cgroups.ts";

export type Ended = { code: number | null; stdout: string; stderr: string };

const drivers = ["overlay", "vfs"] as const;
/** On a machine that does much else; only what hangs meets it. */
const commandMsMax = 200_000;

/** Images, containers and volumes of one test, apart from those of the machine. */
export class ContainerStore {
  readonly #dir: string;
  readonly #places: readonly string[];
  #count = 0;

  private constructor(dir: string, driver: string) {
    this.#dir = dir;
    this.#places = ["--root", join(dir, driver), "--runroot", join(dir, "run"), "--storage-driver", driver];
  }

  /** With the first driver that works here; null if there is none. */
  static async open(): Promise<ContainerStore | null> {
    for (const driver of drivers) {
      const store = new ContainerStore(mkdtempSync(join(tmpdir(), "writ-containers-")), driver);
      if ((await store.tryBuildah(["images"])).code === 0) return store;
      store.remove();
    }
    return null;
  }

  /** Without a network: a build downloads nothing but its base. */
  tryBuildah(words: readonly string[]): Promise<Ended> {
    return this.#run(["unshare", "--net", "buildah", ...this.#places, ...words]);
  }

  async buildah(words: readonly string[]): Promise<string> {
    return succeeded(["buildah", ...words], await this.tryBuildah(words));
  }

  tryPodman(words: readonly string[]): Promise<Ended> {
    const choices = ["--tmpdir", join(this.#dir, "tmp"), "--cgroup-manager", "cgroupfs", "--events-backend"];
    return this.#run([
      ...plainCgroups,
      ...["podman", ...this.#places, ...choices, "file", "--runtime", "crun"],
      ...words,
    ]);
  }

  async podman(words: readonly string[]): Promise<string> {
    return succeeded(["podman", ...words], await this.tryPodman(words));
  }

  remove(): void {
    rmSync(this.#dir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }

  /** A container that it starts keeps what it was given, so that is files and not pipes whose end would never come. */
  async #run([program = "", ...words]: readonly string[]): Promise<Ended> {
    const path = join(this.#dir, "commands", String(this.#count++));
    mkdirSync(join(this.#dir, "commands"), { recursive: true });
    const files = ["out", "err"].map((end) => openSync(`${path}.${end}`, "w"));
    const child = spawn(program, words, { stdio: ["ignore", ...files], timeout: commandMsMax });
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", resolve);
    }).finally(() => files.forEach(closeSync));
    const [stdout = "", stderr = ""] = ["out", "err"].map((end) => readFileSync(`${path}.${end}`, "utf8"));
    return { code, stdout, stderr };
  }
}

function succeeded(words: readonly string[], { code, stdout, stderr }: Ended): string {
  if (code !== 0) throw new Error(`${words.join(" ")}: ${code}: ${stderr}${stdout}`);
  return stdout;
}
