const tenantsMax = 50;
const typesPerTenantMax = 20;
const pairsMax = 200;

/** The label of tenants and types without a label of their own. */
export const sharedLabel = "other";
export type JobLabels = { tenant: string; type: string };

/**
 * A limited number of labels for tenants and types: every new value costs Prometheus memory for ever, and producers
 * choose the names of types. The first ones get their own labels; the rest share `other`, which is then also the label
 * of a tenant or type of that name. A label is never reused, so that a series does not change its meaning.
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
