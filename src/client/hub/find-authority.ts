import { join } from "node:path";
import { readSmallFile } from "../../runtime/files/private-file.ts";

/** Where the PEM of the authority that signed the hub's certificate may be. */
export function authorityPlaces({ caFile, home }: AuthorityFiles): string[] {
  if (caFile !== undefined) return [caFile];
  // In a hub's own home, and in one that `writ certs issue` has filled.
  return home === undefined ? [] : [join(home, "certs", "ca.crt"), join(home, "ca.crt")];
}

type AuthorityFiles = { caFile?: string | undefined; home?: string | undefined };

/** The PEM in the first of these places that has one. */
export async function findAuthority(where: AuthorityFiles): Promise<string | undefined> {
  for (const path of authorityPlaces(where)) {
    const pem = await readSmallFile(path, { mustBePrivate: false });
    if (pem !== null) return pem;
  }
  return undefined;
}
