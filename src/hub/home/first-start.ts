import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { hasCode, WritError } from "../../core/errors.ts";
import { isTokenUsable } from "../../core/identity.ts";
import { writePrivateFile } from "../../runtime/files/private-file.ts";
import { ensureHome } from "../../runtime/settings/home.ts";
import { sha256Hex } from "../../signing/mac.ts";
import { checkHubHome } from "../certs/check-hub-home.ts";
import type { HubDeps } from "../deps.ts";
import type { HubSettings } from "../settings/settings.ts";
import { readHomeToken, writeHomeToken } from "./home-token.ts";

const subfolders = ["outputs", "objects", "work", "logs"] as const;

const settingsTemplate = `# Settings of this hub. Every setting can also be given as an environment variable or, where there is one, a flag:
# flag beats environment beats this file beats the default. Unknown keys and values out of range stop the start.
#
# port: 3000
# lease_ms: 60000
# job_retention_days: 30
# log_level: info
#
# Only here: which commands jobs may run, whose certificates are let in, and quotas by tenant.
#
# commands:
#   deny: [reboot, shutdown]
#   users:
#     alice: { allow: [ls, cat] }
# users: [alice, bob]
# quotas:
#   default: { max_pending: 10000 }
`;

/** Creates the missing parts of a home. Existing ones are never overwritten. */
export async function prepareHome(home: string): Promise<void> {
  checkHubHome(home);
  refuseReadOnly(home);
  await ensureHome(home);
  for (const folder of subfolders) mkdirSync(join(home, folder), { recursive: true, mode: 0o700 });
  const settings = join(home, "writ.yaml");
  if (!existsSync(settings)) await writePrivateFile(settings, settingsTemplate);
}

/** A home that is not there yet is made, or its folder says why not. */
function refuseReadOnly(home: string): void {
  try {
    accessSync(home, constants.W_OK);
  } catch (error) {
    if (!hasCode(error, "EROFS")) return;
    throw new WritError(
      "CONFIG_INVALID",
      `${home} is on a disk that is mounted read-only, and a hub writes there; nothing was changed: mount it for writing, or name another home with --home`,
    );
  }
}

/**
 * The administrator's token: from the environment, else the one in the home if it is still valid, else a new one. The
 * store keeps only its hash; the command line of the same person finds it in the file.
 */
export async function ensureAdminToken(
  deps: Pick<HubDeps, "home" | "store" | "ids" | "clock">,
  given: { secret: string | null; osUser: string },
): Promise<void> {
  if (given.secret !== null && !(await isValid(deps, given.secret))) throw endedToken();
  const kept = await readHomeToken(deps.home);
  const isKeptValid = kept !== null && (await isValid(deps, kept));
  const secret = given.secret ?? (isKeptValid ? kept : `sk_admin_${deps.ids.secret()}`);
  if (secret !== kept) await writeHomeToken(deps.home, secret);

  const secretHash = sha256Hex(secret);
  if ((await deps.store.findToken({ secretHash })) !== null) return;
  await deps.store.createToken({
    token: {
      id: deps.ids.recordId(),
      secretHash,
      role: "admin",
      tenantId: null,
      userId: given.osUser,
      workerId: null,
      createdAt: deps.clock.nowMs(),
      expiresAt: null,
    },
    origin: null,
  });
}

/** Whether the token can be used. A token that the store does not know yet is valid: it becomes the administrator's. */
async function isValid({ store, clock }: Pick<HubDeps, "store" | "clock">, secret: string): Promise<boolean> {
  const token = await store.findToken({ secretHash: sha256Hex(secret) });
  return token === null || isTokenUsable(token, clock.nowMs());
}

function endedToken(): WritError {
  return new WritError(
    "CONFIG_INVALID",
    "WRIT_ADMIN_TOKEN: this token was revoked or exchanged, or has expired; set another one, or none",
    { setting: "WRIT_ADMIN_TOKEN" },
  );
}

/** The quotas in the file apply from the start on; a manual change lasts until the next start. */
export async function applyQuotas(
  { store, clock }: Pick<HubDeps, "store" | "clock">,
  quotas: HubSettings["quotas"],
): Promise<void> {
  for (const [tenantId, quota] of Object.entries(quotas ?? {})) {
    if (isDeepStrictEqual(await store.getQuota({ tenantId }), quota)) continue;
    await store.putQuota({ tenantId, quota, nowMs: clock.nowMs(), origin: null });
  }
}
