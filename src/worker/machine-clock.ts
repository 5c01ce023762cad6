/** Rises alike in every thread of the machine, unlike performance.now(), which begins anew in each of them. */
export function machineMonotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
