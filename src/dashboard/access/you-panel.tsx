import type { Role } from "../../core/identity.ts";
import { usePerson } from "../hub/session.ts";

const allowed: Record<Role, string> = {
  admin: "do everything",
  user: "submit jobs, and read, cancel and retry your own",
  viewer: "see jobs, workers and statistics",
  worker: "register, claim and report",
};

const allowedInTenant =
  "do everything in this tenant; quotas, pauses, keys and settings belong to the hub's administrators";

/** The person who is signed in, and what the role allows. */
export function YouPanel() {
  const { user_id, role, tenant_id, worker_id } = usePerson();
  return (
    <section className="panel">
      <header>
        <h2>You</h2>
      </header>
      <dl className="facts">
        <dt>Name</dt>
        <dd className="strong">
          <bdi>{user_id}</bdi>
        </dd>
        <dt>Role</dt>
        <dd>
          {role}: may {role === "admin" && tenant_id !== null ? allowedInTenant : allowed[role]}
        </dd>
        <dt>Tenant</dt>
        <dd>{tenant_id ?? "all tenants"}</dd>
        {worker_id === null ? null : (
          <>
            <dt>Worker</dt>
            <dd>{worker_id}</dd>
          </>
        )}
      </dl>
    </section>
  );
}
