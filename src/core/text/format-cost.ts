/** A sum in dollars: in cents, or with more digits if it is less than ten. */
export function formatCost(usd: number): string {
  return `$${usd === 0 || usd >= 0.1 ? usd.toFixed(2) : usd.toPrecision(2)}`;
}
