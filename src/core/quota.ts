/** How much a tenant may use; a limit that is not set does not exist. */
export type Quota = {
  max_pending?: number;
  max_running?: number;
  submits_per_sec?: number;
  max_output_bytes?: number;
  max_artifact_bytes?: number;
};

/** Whether a tenant with this many assigned or running jobs may be given one more. */
export function mayRunMore(active: number, { max_running }: Quota): boolean {
  return max_running === undefined || active < max_running;
}

/** Whether a tenant may have this many more pending jobs. */
export function mayWait({ pending, added }: { pending: number; added: number }, maxPending: number): boolean {
  return pending + added <= maxPending;
}
