/** The same in every thread of the machine, unlike performance.now(), which starts again in each of them. */
export function machineMonotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
