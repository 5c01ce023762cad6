const tenantsMax = 50;
const typesPerTenantMax = 20;
const pairsMax = 200;

/** The label of all tenants, and of all types, that have none of their own. */
export const sharedLabel = "other";
export type JobLabels = { tenant: string; type: string };

/**
 * Labels for tenants and types, a limited number of them: every new value costs Prometheus memory for ever, and types are
 * named by producers. The first that come have their own; the others share `other`, which is then also the label of a
 * tenant or type of that name. A name is never taken back, so that a series does not change its meaning.
 */
export class LabelBudget {
  readonly #types = new Map<string, Set<string>>();
  #pairs = 0;

  labels(tenantId: string | null, type: string | null): JobLabels {
    if (tenantId === null) return { tenant: sharedLabel, type: sharedLabel };
    let types = this.#types.get(tenantId);
    if (types === undefined) {
      if (this.#types.size >= tenantsMax) return { tenant: sharedLabel, type: sharedLabel };
      types = new Set();
      this.#types.set(tenantId, types);
    }
    if (type === null || types.has(type)) return { tenant: tenantId, type: type ?? sharedLabel };
    if (types.size >= typesPerTenantMax || this.#pairs >= pairsMax)
      return { tenant: tenantId, type: sharedLabel };
    types.add(type);
    this.#pairs++;
    return { tenant: tenantId, type };
  }
}
