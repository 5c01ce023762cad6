import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { AuditView } from "../../src/contract/shapes/audit-shapes.ts";
import { readEvents } from "../support/database.ts";
import { eventually } from "../support/eventually.ts";
import { folderOf, openScene } from "./cert-scene.ts";
import type { RpcHub } from "./rpc-hub.ts";

const root = join(import.meta.dirname, "../..");
const osUser = userInfo().username;

async function certs(home: string, ...args: string[]): Promise<Record<string, string>> {
  const all = [join(root, "src/cli/writ.ts"), "certs", ...args, "--json", "--home", home];
  const options = { env: { PATH: process.env["PATH"], USER: osUser } };
  return JSON.parse((await promisify(execFile)(process.execPath, all, options)).stdout);
}

const recorded = ({ home }: RpcHub) => readEvents(home).filter(({ event }) => event.startsWith("CERT_"));
const unrecorded = ({ home }: RpcHub) => readdirSync(join(home, "certs/unrecorded"));

function recordedTimes(hub: RpcHub, count: number) {
  return eventually(`${count} records`, () => {
    const isDone = recorded(hub).length >= count && unrecorded(hub).length === 0;
    return isDone && recorded(hub);
  });
}

test("certificates that commands issue, renew and revoke are in the audit trail, once each", async () => {
  const { hub, clock } = await openScene();
  const out = join(folderOf("audit"), "alice");
  const { serial } = await certs(hub.home, "issue", "--user", "alice", "--tenant", "acme", "--out", out);
  await recordedTimes(hub, 1);
  for (let time = 0; time < 2; time++) await certs(hub.home, "revoke", serial!);
  await recordedTimes(hub, 2);
  await certs(hub.home, "renew");
  const events = await recordedTimes(hub, 3);
  const alice = { serial, user_id: "alice", role: "user", done_at: expect.any(Number) };
  expect(events.map(({ event, tenant_id, details }) => ({ event, tenant_id, details }))).toEqual([
    { event: "CERT_ISSUED", tenant_id: "acme", details: alice },
    { event: "CERT_REVOKED", tenant_id: "acme", details: alice },
    { event: "CERT_ISSUED", tenant_id: null, details: expect.objectContaining({ role: "admin" }) },
  ]);
  await clock.looks(3);
  expect(recorded(hub)).toHaveLength(3);
  const people = (await hub.must("GET", "/audit?view=people&limit=50", { token: hub.admin })).json<
    AuditView[]
  >();
  const acts = people.filter(({ event }) => event.startsWith("CERT_"));
  expect(acts.map(({ user_id }) => user_id)).toEqual([osUser, osUser, osUser]);
});

test("a note that is damaged is reported, and does not keep others from being recorded", async () => {
  const { hub } = await openScene();
  const folder = join(hub.home, "certs/unrecorded");
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, "1-issue-AB.json"), '{"act":"issue"}', { mode: 0o600 });
  await certs(hub.home, "revoke", "abc");
  const [event] = await eventually("a record", () => recorded(hub).length > 0 && recorded(hub));
  expect(event).toMatchObject({ event: "CERT_REVOKED", details: { serial: "ABC", user_id: null } });
  expect(existsSync(join(folder, "1-issue-AB.json"))).toBe(true);
  const log = () => readFileSync(join(hub.home, "logs/hub.log"), "utf8");
  await eventually("the report", () => log().includes("1-issue-AB.json is not a note of `writ certs`"));
});
