import { useTenants } from "../hub/tenants.ts";
import { go, usePageAddress, withQuery } from "../shell/router.ts";

/** Chooses the tenant of the figures, for a person who sees all tenants. */
export function TenantPicker({ tenant }: { tenant: string | undefined }) {
  const address = usePageAddress();
  const tenants = (useTenants(true).data ?? []).map(({ tenant_id }) => tenant_id).sort();
  const known = tenant === undefined || tenants.includes(tenant) ? tenants : [tenant, ...tenants];
  if (known.length < 2 && tenant === undefined) return null;
  return (
    <select
      className="button tenant-picker"
      aria-label="Tenant"
      value={tenant ?? ""}
      onChange={({ target }) => go(withQuery(address, { tenant: target.value || null }), { replace: true })}
    >
      <option value="">All tenants</option>
      {known.map((one) => (
        <option key={one} value={one}>
          {one}
        </option>
      ))}
    </select>
  );
}
