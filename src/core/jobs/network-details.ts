/** As workers report it; see the shape of `isolation`. */
type Network = {
  allowed: { host: string; requests: number }[];
  denied: { host: string; why: string; requests: number }[];
};

/** An event is kept for years: of the hosts that a job asked for, it names the first. All that is known stands on the job. */
const hostsMax = 16;
const mark = '"network":{';

/** What the event of an attempt's end says of its closed network; null if it had none. Why: ADR 0120. */
export function networkDetails(
  isolation: string | null,
  usage: string | null,
): Record<string, unknown> | null {
  // Of nearly all attempts there is nothing to parse.
  if (isolation?.includes(mark) !== true) return null;
  const { network } = JSON.parse(isolation) as { network?: Network };
  if (network === undefined) return null;
  const used = (JSON.parse(usage ?? "{}") as { network?: object }).network;
  const allowed = network.allowed.slice(0, hostsMax);
  const denied = network.denied.slice(0, hostsMax);
  return { ...used, allowed_hosts: allowed, denied_hosts: denied };
}
