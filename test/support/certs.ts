import { join } from "node:path";
import { issueCert } from "../../src/hub/certs/manage-certs.ts";
import type { TestHub } from "./hub.ts";
import { freshName } from "./jobs.ts";

/** Issues a certificate as `writ certs issue` does; returns its serial number. */
export async function issuedCert(
  hub: TestHub,
  { user = "carol", tenant = "acme", isAdmin = false } = {},
): Promise<string> {
  const out = join(hub.home, freshName("person"));
  const target = { url: hub.url, grpcPort: 1 };
  const request = { user, tenant, isAdmin, out, hub: target, by: "root", nowMs: Date.now() };
  return (await issueCert(hub.home, request)).serial;
}
