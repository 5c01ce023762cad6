import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { tools } from "../kinds/containers.ts";
import { rootFileSystem } from "../kinds/root-file-system.ts";
import { packInto } from "../package/installed-package.ts";
import { checkout, hasTool } from "../support/make-debian.ts";
import { findPostgres } from "../support/postgres-cluster.ts";
import type { ContainerStore, Ended } from "./container-store.ts";

export const targets = ["hub", "worker", "agent"] as const;
const base = "localhost/base";
const dockerfile = "deploy/docker/Dockerfile";

/** Why no image can be built and run on this machine, or null. */
export function buildObstacle(): string | null {
  const missing = ["buildah", "ip"].find((name) => !hasTool(name));
  // Whether the machine lets podman run anything was tried there.
  return missing === undefined ? tools.find(({ name }) => name === "podman")!.obstacle : `no ${missing}`;
}

/** Packs the checkout, and builds every target of the Dockerfile upon a Debian with our Node, without a network. */
export async function buildImages(
  store: ContainerStore,
  dir: string,
  { withPostgres }: { withPostgres: boolean },
): Promise<void> {
  const context = join(dir, "context");
  mkdirSync(join(context, "deploy"), { recursive: true });
  cpSync(join(checkout, "deploy/docker"), join(context, "deploy/docker"), { recursive: true });
  copyFileSync(join(checkout, ".dockerignore"), join(context, ".dockerignore"));
  packInto(join(context, "dist"));
  // What must not get into an image, as a checkout has it.
  mkdirSync(join(context, ".writ"));
  writeFileSync(join(context, ".writ/admin.token"), "sk_admin_of_the_checkout");
  await makeBase(store);
  for (const target of targets) {
    const { code, stderr } = await buildTarget(store, context, target);
    if (code !== 0) throw new Error(`building ${target}: ${stderr}`);
  }
  await makeBroker(store, dir);
  if (withPostgres) await makePostgres(store, dir);
}

/** With another `context`, other tarballs go into the same Dockerfile. */
export function buildTarget(
  store: ContainerStore,
  context: string,
  target: string,
  recipe = context,
): Promise<Ended> {
  return store.tryBuildah([
    ...["build", "--isolation", "chroot", "--network", "host", "--pull-never", "--format", "docker"],
    ...["--build-arg", `BASE=${base}`, "--file", join(recipe, dockerfile), "--target", target],
    ...["--tag", `localhost/writ-${target}`, context],
  ]);
}

/** In the place of the Node image that the Dockerfile names by default. */
async function makeBase(store: ContainerStore): Promise<void> {
  await store.buildah(["from", "--name", "base", "scratch"]);
  const root = (await store.buildah(["mount", "base"])).trim();
  execFileSync("cp", ["-a", `${rootFileSystem().path}/.`, root]);
  // It leads to the checkout.
  rmSync(join(root, "usr/local/bin/writ-agent"));
  copyFileSync(realpathSync(process.execPath), join(root, "usr/local/bin/node"));
  await store.buildah(["umount", "base"]);
  await store.buildah(["commit", "--quiet", "--rm", "base", base]);
}

/** In the place of the broker's image that compose.yaml names. */
async function makeBroker(store: ContainerStore, dir: string): Promise<void> {
  const context = join(dir, "broker");
  mkdirSync(context);
  const lines = [
    `FROM ${base}`,
    "RUN install -d -o mosquitto /mosquitto /mosquitto/data && ln -s /usr/sbin/mosquitto /usr/local/bin/mosquitto",
    'CMD ["mosquitto", "-c", "/mosquitto/config/mosquitto.conf"]',
  ];
  writeFileSync(join(context, "Dockerfile"), lines.join("\n"));
  await store.buildah([
    ...["build", "--isolation", "chroot", "--network", "host", "--pull-never"],
    ...["--tag", "localhost/eclipse-mosquitto:2", context],
  ]);
}

/** What the image of PostgreSQL does at its start, as far as compose.postgres.yaml needs it. */
const postgresEntry = `set -eu
as_postgres() { chroot --userspec=postgres / "$@"; }
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  install -d -o postgres -m 0700 "$PGDATA"
  as_postgres "$BIN/initdb" -D "$PGDATA" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth=scram-sha-256 --encoding=UTF8 --no-locale
  echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
  echo "CREATE DATABASE $POSTGRES_DB" | as_postgres "$BIN/postgres" --single -D "$PGDATA" postgres
fi
exec chroot --userspec=postgres / "$BIN/postgres" -D "$PGDATA" -c listen_addresses=* -c unix_socket_directories=/tmp
`;

/** In the place of the image that compose.postgres.yaml names: the programs of this machine, which is a Debian too. */
async function makePostgres(store: ContainerStore, dir: string): Promise<void> {
  const context = join(dir, "postgres");
  const bin = dirname(findPostgres()!);
  const programs = ["postgres", "initdb", "pg_isready"].map((name) => join(bin, name));
  const linked = programs.map((file) => execFileSync("ldd", [file], { encoding: "utf8" })).join("");
  const libraries = new Set([...linked.matchAll(/=> (\/\S+)/g)].map(([, file]) => file!));
  const share = bin.replace("/usr/lib/", "/usr/share/").replace(/\/bin$/, "");
  mkdirSync(context);
  const copied = [bin, bin.replace(/bin$/, "lib"), share, "/usr/share/zoneinfo", ...libraries];
  const copy =
    'tar --create --dereference --hard-dereference --file "$0" --exclude "*llvmjit*" --exclude "*bitcode*" "$@"';
  execFileSync("sh", ["-c", copy, join(context, "files.tar"), ...copied], { stdio: "pipe" });
  writeFileSync(join(context, "entry.sh"), postgresEntry);
  const lines = [
    `FROM ${base}`,
    "ADD files.tar /",
    "COPY entry.sh /entry.sh",
    `RUN echo postgres:x:999:999::/:/bin/sh >> /etc/passwd; echo postgres:x:999: >> /etc/group; ln -s ${bin}/pg_isready /usr/local/bin/`,
    `ENV BIN=${bin} PGDATA=/var/lib/postgresql/data`,
    'ENTRYPOINT ["sh", "/entry.sh"]',
  ];
  writeFileSync(join(context, "Dockerfile"), lines.join("\n"));
  await store.buildah([
    ...["build", "--isolation", "chroot", "--network", "host", "--pull-never"],
    ...["--tag", "localhost/postgres:17", context],
  ]);
}
