import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { noPostgres } from "../support/postgres-cluster.ts";
import { removeHome } from "../support/remove-home.ts";
import { buildImages, buildObstacle, buildTarget, targets } from "./build-images.ts";
import { composeFiles } from "./compose-file.ts";
import { ComposeStage } from "./compose-stage.ts";
import { ContainerStore } from "./container-store.ts";

const missing = buildObstacle();
const store = missing === null ? await ContainerStore.open() : null;
const obstacle = missing ?? (store === null ? "buildah has no storage driver here" : null);

type Image = {
  Config: { User?: string; Env: string[]; Entrypoint: string[]; Volumes: object };
  History: object[];
};
/**
 * The images as users build and start them. `npm test` asks the least that shows whether they work; `isWhole` adds what else
 * can happen to containers, and PostgreSQL.
 */
export function describeImages({ isWhole }: { isWhole: boolean }): void {
  const box = (name: string, run: () => Promise<void>): void => {
    if (obstacle === null) test(name, run);
    else test.skip(`${name} (not capable: ${obstacle})`, run);
  };
  const boxInWhole = (name: string, run: () => Promise<void>): void => {
    if (isWhole) box(name, run);
  };

  let dir: string;
  let stage: ComposeStage;
  beforeAll(async () => {
    if (store === null) return;
    dir = mkdtempSync(join(tmpdir(), "writ-images-"));
    await buildImages(store, dir, { withPostgres: isWhole && noPostgres === undefined });
    stage = new ComposeStage(store);
    await stage.open();
  }, 600_000);
  afterAll(async () => {
    await stage?.close();
    store?.remove();
    if (dir !== undefined) removeHome(dir);
  });

  const imageOf = async (target: string): Promise<Image> =>
    JSON.parse(await store!.podman(["image", "inspect", `localhost/writ-${target}`]))[0];

  boxInWhole("several tarballs are refused instead of mixed", async () => {
    const context = join(dir, "several");
    mkdirSync(join(context, "dist"), { recursive: true });
    for (const name of ["writ-1.tgz", "writ-2.tgz"]) writeFileSync(join(context, "dist", name), "");
    const refusal = "PACKAGE fits 2 tarballs (/tarballs/writ-1.tgz /tarballs/writ-2.tgz); name one";
    // On a busy machine buildah sometimes ends before it has copied the last line of what it ran.
    await eventually("the build is refused, and says why", async () => {
      const { stderr, stdout, code } = await buildTarget(store!, context, "hub", join(dir, "context"));
      expect(code).not.toBe(0);
      return (stdout + stderr).includes(refusal);
    });
  });

  box(
    "hub and agent run as a user of their own, keep their data in volumes, and get signals themselves",
    async () => {
      const found = await Promise.all(targets.map(imageOf));
      expect(found.map(({ Config }) => Config.User ?? "root")).toEqual([
        "10001:10001",
        "root",
        "10001:10001",
      ]);
      expect(found.map(({ Config }) => Object.keys(Config.Volumes).sort())).toEqual([
        ["/data"],
        ["/data"],
        ["/var/lib/writ-agent", "/var/log/writ-agent"],
      ]);
      expect(found.map(({ Config }) => Config.Entrypoint)).toEqual([["writ"], ["writ"], ["writ-agent"]]);
    },
  );

  box("an image holds neither a secret nor anything of the checkout but the package", async () => {
    for (const target of targets) {
      const { Config, History } = await imageOf(target);
      expect(JSON.stringify([Config.Env, History])).not.toMatch(/token|secret|password|private/i);
      const words = [
        "run",
        "--rm",
        ...stage.network(),
        "--entrypoint",
        "sh",
        `localhost/writ-${target}`,
        "-c",
      ];
      const look =
        "find / -xdev \\( -name admin.token -o -name '*.ts' -path '*/test/*' -o -name '*.tgz' \\) 2>/dev/null";
      expect(await store!.podman([...words, `${look}; ls /opt`])).toBe("writ\n");
    }
  });

  let first = "";
  box("compose starts hub, broker and worker, which enrols itself, and a job runs in a cage", async () => {
    await stage.up("mosquitto");
    await stage.up("worker-1");
    first = (await stage.exec("hub", "jobctl", "start", "sh", "-c", "echo hello; id -u")).trim();
    expect(await stage.exec("hub", "jobctl", "attach", first)).toBe("hello\n65534\n");
    const job = JSON.parse(await stage.exec("hub", "jobctl", "status", first, "--json"));
    expect(job).toMatchObject({ state: "EXITED", exit_code: 0, worker: "worker-1" });
    expect(job.isolation.applied).toEqual(expect.arrayContaining(["namespaces", "jail", "user", "seccomp"]));
    expect(await stage.exec("hub", "id", "-u")).toBe("10001\n");
  });

  boxInWhole("the events of the job reach the broker, with a password that no file here holds", async () => {
    const health =
      "const {local_url} = JSON.parse(require('fs').readFileSync('/data/home/hub.json')); process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; fetch(local_url + '/healthz').then((answer) => answer.json()).then(({mqtt}) => console.log(mqtt))";
    await eventually("the hub is connected to the broker", async () => {
      const { stdout } = await stage.tryExec("hub", "node", "-e", health);
      return stdout.trim() === "connected";
    });
  });

  box("hub and worker stop cleanly at SIGTERM, within the grace time of the service", async () => {
    expect(await stage.stop("worker-1")).toBe(0);
    expect(await stage.stop("hub")).toBe(0);
  });

  box("new containers find jobs, output, keys and the worker in the volumes alone", async () => {
    await stage.remove("worker-1");
    await stage.remove("hub");
    await stage.up("hub");
    expect(await stage.exec("hub", "jobctl", "stream", first)).toBe("hello\n65534\n");
    expect(await stage.exec("hub", "jobctl", "verify", first)).toContain("ok");
    expect(await stage.exec("hub", "writ", "audit", "verify")).toContain("intact");
    expect(await stage.runOnce("enrol-1")).toBe("worker-1 is enrolled already\n");
    await stage.up("worker-1");
    expect(await stage.exec("hub", "jobctl", "run", "echo", "again")).toBe("again\n");
  });

  boxInWhole("a hub that is killed continues where it was, with the worker that was there", async () => {
    expect(await stage.kill("hub")).toBe(137);
    await store!.podman(["start", "hub"]);
    await stage.healthy("hub");
    expect(await stage.exec("hub", "jobctl", "run", "echo", "back")).toBe("back\n");
    expect(await stage.exec("hub", "jobctl", "stream", first)).toBe("hello\n65534\n");
    expect(await stage.exec("hub", "writ", "audit", "verify")).toContain("intact");
  });

  boxInWhole("the health check fails when the program is not there", async () => {
    expect((await stage.tryExec("worker-1", "writ", "health")).code).toBe(1);
    await stage.kill("worker-1");
    expect(await stage.isHealthy("worker-1")).toBe(false);
  });

  boxInWhole(
    "a worker without the rights for a cage says so, and claims no job that starts a process",
    async () => {
      await stage.up("worker-2", { cap_add: [], security_opt: [] });
      const refusal = "SANDBOX_UNAVAILABLE";
      await eventually("it says so", async () =>
        (await stage.logs("worker-2")).includes(`process jobs are not claimed: ${refusal}`),
      );
      const id = (await stage.exec("hub", "jobctl", "start", "true")).trim();
      await eventually("the hub says why", async () =>
        (await stage.exec("hub", "jobctl", "why", id)).includes(refusal),
      );
    },
  );

  boxInWhole(
    "a volume that belongs to root and a group, as clusters give it, holds a private home",
    async () => {
      const volume = join(dir, "volume");
      mkdirSync(join(volume, "lost+found"), { recursive: true });
      chownSync(volume, 0, 10001);
      chmodSync(volume, 0o2775);
      const words = [...stage.network(), "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"];
      const ports = [
        "--env",
        "PORT=0",
        "--env",
        "WRIT_GRPC_PORT=0",
        "--env",
        "WRIT_PUBLIC_URL=https://hub.example",
      ];
      await stage.start("cluster", [...words, ...ports, "--volume", `${volume}:/data`, "localhost/writ-hub"]);
      await stage.healthy("cluster");
      // Whatever the public address is, the programs beside the hub reach it.
      expect(await stage.exec("cluster", "jobctl", "whoami")).toContain("admin");
      expect(existsSync(join(volume, "home/admin.token"))).toBe(true);
    },
  );

  boxInWhole("an agent runs the job that it is given, as an ordinary user, and ends at SIGTERM", async () => {
    await stage.start("agent", [...stage.network(), "localhost/writ-agent"]);
    await stage.healthy("agent");
    const payload = {
      job_id: "one",
      job_class: "hello",
      worker_command: ["sh", "-c", "id -u"],
      interface: { kind: "exec_per_job" },
    };
    const given = Buffer.from(JSON.stringify({ ...payload, job_input: null })).toString("base64");
    const report = await stage.exec("agent", "writ-agent", "run-job", "--payload-base64", given);
    expect(JSON.parse(report)).toMatchObject({ success: true, result: 10001 });
    expect(await stage.stop("agent")).toBe(0);
  });

  const postgresBox = (name: string, run: () => Promise<void>): void => {
    if (noPostgres === undefined) boxInWhole(name, run);
    else if (isWhole) test.skip(`${name} (not capable: ${noPostgres})`, run);
  };

  postgresBox("with PostgreSQL everything runs the same, and new containers find it there", async () => {
    await stage.close();
    await store!.podman(["volume", "rm", "--all", "--force"]);
    stage = new ComposeStage(store!, composeFiles);
    await stage.open();
    await stage.up("worker-1");
    const id = (await stage.exec("hub", "jobctl", "start", "echo", "hello")).trim();
    expect(await stage.exec("hub", "jobctl", "attach", id)).toBe("hello\n");
    expect((await stage.tryExec("hub", "test", "-e", "/data/home/writ.sqlite")).code).toBe(1);
    for (const name of ["worker-1", "hub", "postgres"]) {
      expect(await stage.stop(name), name).toBe(0);
      await stage.remove(name);
    }
    await stage.up("hub");
    expect(await stage.exec("hub", "jobctl", "stream", id)).toBe("hello\n");
    expect(await stage.exec("hub", "jobctl", "verify", id)).toContain("ok");
    expect(await stage.exec("hub", "env")).not.toMatch(/postgres:\/\/[^@]*:/);
  });
}
