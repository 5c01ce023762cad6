import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { findAuthority } from "../../../client/hub/find-authority.ts";
import { enrollWorker, Writ } from "../../../client/index.ts";
import { hasCode } from "../../../core/errors.ts";
import { isTrustedState } from "../../../core/key-times.ts";
import { loadYamlFile } from "../../../runtime/settings/yaml-file.ts";

type LocalEnrolment = {
  name: string;
  home: string;
  hubUrl: string;
  file: string;
  /** Where the hub was started. */
  cwd: string;
};

/**
 * Makes sure that the local worker's file is up to date. A token that the hub still accepts is kept, so that restarts
 * do not pile up tokens; the address and the keys are updated.
 */
export async function enrollLocalWorker(
  writ: Writ,
  { name, home, hubUrl, file, cwd }: LocalEnrolment,
): Promise<void> {
  const caPem = hubUrl.startsWith("https:") ? await findAuthority({ home }) : undefined;
  const present = existsSync(file) ? await readPresent(file) : undefined;
  const token =
    present === undefined ? undefined : await keptToken({ name, hubUrl, caPem, token: present.token });
  if (present !== undefined && token !== undefined) {
    const keys = (await writ.keys())
      .filter(({ status }) => isTrustedState(status))
      .map((key) => key.public_key);
    if (present.url === hubUrl && isDeepStrictEqual(present.keys, keys)) return;
  }
  const checkout = checkoutOf(cwd);
  const repoRoots = checkout === undefined ? undefined : [checkout];
  await enrollWorker(writ, { name, hubUrls: [hubUrl], caPem, file, token, repoRoots });
}

/** A caller who may submit jobs names the repository, so a new worker begins with the one that its owner works in. */
function checkoutOf(cwd: string): string | undefined {
  for (let dir = cwd; dir !== dirname(dir); dir = dirname(dir)) if (existsSync(join(dir, ".git"))) return dir;
  return undefined;
}

type Present = { url: unknown; token: unknown; keys: unknown };

async function readPresent(file: string): Promise<Present> {
  const { data } = await loadYamlFile(file, { mustBePrivate: true });
  const server = (data["server"] ?? {}) as Record<string, unknown>;
  const security = (data["security"] ?? {}) as Record<string, unknown>;
  return { url: server["url"], token: server["worker_token"], keys: security["job_signing_public_keys"] };
}

async function keptToken(worker: {
  name: string;
  hubUrl: string;
  caPem: string | undefined;
  token: unknown;
}): Promise<string | undefined> {
  const { name, hubUrl, caPem, token } = worker;
  if (typeof token !== "string") return undefined;
  const asWorker = new Writ({ url: hubUrl, token, ca: caPem, allowInsecure: true });
  try {
    return (await asWorker.whoAmI()).worker_id === name ? token : undefined;
  } catch (error) {
    if (hasCode(error, "UNAUTHENTICATED")) return undefined;
    throw error;
  } finally {
    asWorker.close();
  }
}
