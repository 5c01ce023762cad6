import type { auditRoutes } from "../../../contract/routes/audit-routes.ts";
import { openChannels } from "../../alerts/channels.ts";
import {
  liftLockdown,
  listLockedTenants,
  lockDown,
  readLockdown,
  requireHubAdmin,
} from "../../use-cases/access/lockdown.ts";
import { readAudit } from "../../use-cases/audit/read-audit.ts";
import { auditCheckView } from "../../views/audit-check-view.ts";
import { done, type Handlers, nextPage } from "../call.ts";

export const auditHandlers: Handlers<keyof typeof auditRoutes> = {
  async searchAudit({ deps, identity, query, signal }) {
    const {
      user_id: userId,
      tenant_id: tenantId,
      job_id: jobId,
      cursor: before,
      limit = 100,
      view,
      ...rest
    } = query;
    const search = { ...rest, isOfPeople: view === "people", userId, tenantId, jobId, before, limit };
    const { records, next } = await readAudit(deps, { identity, search, signal });
    return { status: 200, body: records, headers: nextPage(next) };
  },

  async verifyAudit({ deps, identity }) {
    requireHubAdmin(identity, "check the whole audit trail");
    return { status: 202, body: auditCheckView(await deps.auditCheck.start()) };
  },

  async getAuditCheck({ deps, identity }) {
    requireHubAdmin(identity, "check the whole audit trail");
    return { status: 200, body: auditCheckView(deps.auditCheck.state) };
  },

  async getLockdown({ deps, identity }) {
    const lockdown = await readLockdown(deps);
    const { reason = null, userId = null, since = null } = lockdown ?? {};
    const channels = openChannels(deps.settings, deps.clock).map(({ name }) => name);
    const state = { locked: lockdown !== null, reason, user_id: userId, since };
    const tenants = (await listLockedTenants(deps, identity)).map((one) => ({
      tenant_id: one.tenantId,
      reason: one.reason,
      since: one.since,
    }));
    return { status: 200, body: { ...state, tenants, alert_channels: channels } };
  },

  async lockDown({ deps, identity, origin, body }) {
    requireHubAdmin(identity, "change a lockdown");
    await lockDown(deps, { reason: body.reason, userId: identity.userId, origin, rotate: false });
    return done;
  },

  async liftLockdown({ deps, identity, origin, query }) {
    await liftLockdown(deps, { identity, origin, tenantId: query.tenant_id });
    return done;
  },
};
