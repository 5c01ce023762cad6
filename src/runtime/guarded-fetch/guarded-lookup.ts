import { promises as dns, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { networkInterfaces } from "node:os";
import { addressProblem } from "./address-problem.ts";
import { FetchError } from "./fetch-error.ts";

/** What the guard asks of the machine it runs on. */
export type Network = {
  /** All addresses of a host, as the machine would resolve it. */
  resolve(host: string): Promise<readonly LookupAddress[]>;
  /** The addresses of this machine. */
  ownAddresses(): readonly string[];
};

export const systemNetwork: Network = {
  resolve: (host) => dns.lookup(host, { all: true }),
  ownAddresses: () =>
    Object.values(networkInterfaces()).flatMap((list = []) => list.map(({ address }) => address)),
};

/**
 * Resolves a host for one connection. The connection is made to one of exactly these addresses: the host is not resolved
 * a second time, so a name server that changes its mind gains nothing. One bad address among good ones is enough to
 * refuse the host, because which one is used would be chance. Why: ADR 0043.
 */
export function guardedLookup(network: Network): LookupFunction {
  return (host, options, callback) => {
    resolveChecked(network, host).then(
      (addresses) => {
        const [first] = addresses;
        if (options.all) callback(null, [...addresses]);
        else callback(null, first!.address, first!.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, []),
    );
  };
}

/**
 * Why this machine does not connect to an address; null if it may. The address itself stays unsaid: the person who chose
 * the name need not learn how it resolves in this machine's network.
 */
export function connectionProblem(network: Network, address: string): string | null {
  const problem = addressProblem(address);
  if (problem !== null) return problem;
  // Such a connection never leaves the machine, so no firewall in front of it would see it.
  return network.ownAddresses().includes(address) ? "this machine's own" : null;
}

async function resolveChecked(network: Network, host: string): Promise<readonly LookupAddress[]> {
  const addresses = await resolveHost(network, host);
  for (const { address } of addresses) {
    const problem = connectionProblem(network, address);
    if (problem !== null) {
      throw new FetchError("forbidden", `${host} has an address that is ${problem}`);
    }
  }
  return addresses;
}

async function resolveHost(network: Network, host: string): Promise<readonly LookupAddress[]> {
  try {
    const addresses = await network.resolve(host);
    if (addresses.length > 0) return addresses;
    throw new Error("it has no address");
  } catch (error) {
    throw new FetchError("failed", `${host} cannot be resolved: ${(error as Error).message}`);
  }
}
