/** What a tenant may use; a limit that is not named does not exist. */
export type Quota = {
  max_pending?: number;
  max_running?: number;
  submits_per_sec?: number;
  max_output_bytes?: number;
  max_artifact_bytes?: number;
};

/** May a tenant that has this many jobs assigned or running be given one more? */
export function mayRunMore(active: number, { max_running }: Quota): boolean {
  return max_running === undefined || active < max_running;
}

/** May a tenant have this many more jobs waiting? */
export function mayWait({ pending, added }: { pending: number; added: number }, maxPending: number): boolean {
  return pending + added <= maxPending;
}
