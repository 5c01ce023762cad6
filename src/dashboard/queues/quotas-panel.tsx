import type { z } from "zod";
import { quotaLimits, type tenantQuota } from "../../contract/shapes/admin-shapes.ts";
import { useTenants } from "../hub/tenants.ts";
import { bytesText, countText } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand } from "../parts/notices.tsx";
import { askForQuota, limitLabels, type Quota } from "./quota-form.tsx";

type TenantQuota = z.infer<typeof tenantQuota>;

/** What each tenant uses of its quota. */
export function QuotasPanel({ mayChange }: { mayChange: boolean }) {
  const { data, error, at, reload } = useTenants(true);
  return (
    <>
      <ErrorBand error={error} at={at} onRetry={reload} />
      {data === undefined ? null : (
        <section className="panel">
          <header>
            <h2>Quotas</h2>
            <span className="grow">what each tenant uses, of what it may use</span>
            {mayChange ? (
              <button type="button" className="button small" onClick={() => askForQuota(null, reload)}>
                <Icon name="plus" />
                Set a quota
              </button>
            ) : null}
          </header>
          {data.length === 0 ? (
            <p className="nothing dimmer">No tenant has a quota or jobs.</p>
          ) : (
            <QuotaTable quotas={data} mayChange={mayChange} onDone={reload} />
          )}
        </section>
      )}
    </>
  );
}

function QuotaTable(props: { quotas: TenantQuota[]; mayChange: boolean; onDone: () => void }) {
  return (
    <table className="rows quotas">
      <thead>
        <tr>
          <th scope="col">Tenant</th>
          <th scope="col">Waiting or scheduled</th>
          <th scope="col">Running</th>
          <th scope="col" className="not-phone">
            Other limits
          </th>
          <th scope="col">
            <span className="only-read">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {props.quotas.map((tenant) => (
          <tr key={tenant.tenant_id}>
            <td className="strong">{tenant.tenant_id}</td>
            <td>
              <UsedOf name="Waiting or scheduled" used={tenant.pending} max={tenant.quota.max_pending} />
            </td>
            <td>
              <UsedOf name="Running" used={tenant.active} max={tenant.quota.max_running} />
            </td>
            <td className="dim not-phone">{otherText(tenant.quota)}</td>
            <td className="num">
              {props.mayChange ? (
                <button
                  type="button"
                  className="button small"
                  aria-label={`Change the quota of ${tenant.tenant_id}`}
                  onClick={() => askForQuota(tenant, props.onDone)}
                >
                  Change…
                </button>
              ) : null}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function UsedOf({ name, used, max }: { name: string; used: number; max: number | undefined }) {
  if (max === undefined) {
    return (
      <span>
        {countText(used)} <span className="dimmer">no limit</span>
      </span>
    );
  }
  const percent = max === 0 ? 100 : Math.min(100, Math.round((used / max) * 100));
  return (
    <span className={percent === 100 ? "used-of is-full" : "used-of"}>
      <span>
        {countText(used)} of {countText(max)}
        {percent === 100 ? <b className="alarm-text">, full</b> : null}
      </span>
      <span
        className="meter"
        role="meter"
        aria-label={`${name}, of what is allowed`}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <i style={{ width: `${percent}%` }} />
      </span>
    </span>
  );
}

function otherText(quota: Quota): string {
  const others = quotaLimits.filter((name) => name !== "max_pending" && name !== "max_running");
  const parts = others.flatMap((name) => {
    const max = quota[name];
    if (max === undefined) return [];
    return [`${name.endsWith("bytes") ? bytesText(max) : countText(max)} ${limitLabels[name].short}`];
  });
  return parts.length === 0 ? "none" : parts.join(", ");
}
