import { useTenants } from "../hub/tenants.ts";
import { countText } from "../parts/format.ts";

const shownMax = 8;

/** What each tenant uses of its quota. A click shows the figures of that tenant alone. */
export function TenantsPanel({ mayPick }: { mayPick: boolean }) {
  const { data } = useTenants(true);
  const busiest = [...(data ?? [])]
    .sort((a, b) => b.active + b.pending - (a.active + a.pending))
    .slice(0, shownMax);
  if (busiest.length < 2) return null;
  const most = Math.max(1, ...busiest.map(({ active }) => active));
  return (
    <section className="panel">
      <header>
        <h2>Tenants</h2>
        <span className="grow">take turns; the bar is what runs</span>
        <a className="button quiet small" href="/queues">
          Queues and quotas
        </a>
      </header>
      <div className="tenants">
        {busiest.map(({ tenant_id, quota, pending, scheduled = 0, active }) => {
          const max = quota.max_running ?? null;
          return (
            <a href={mayPick ? `/?tenant=${encodeURIComponent(tenant_id)}` : "/queues"} key={tenant_id}>
              <div className="row">
                <b className="strong">{tenant_id}</b>
                <span className="dim">
                  {countText(active)} {max === null ? "running" : `of ${countText(max)} running`}
                </span>
              </div>
              <span className="meter">
                <i style={{ width: `${Math.min(100, (active / (max ?? most)) * 100)}%` }} />
              </span>
              <div className="row dim">
                <span>
                  {countText(pending - scheduled)} waiting
                  {scheduled === 0 ? "" : `, ${countText(scheduled)} scheduled`}
                </span>
                <span>{quota.max_pending === undefined ? "" : `of ${countText(quota.max_pending)}`}</span>
              </div>
            </a>
          );
        })}
      </div>
    </section>
  );
}
