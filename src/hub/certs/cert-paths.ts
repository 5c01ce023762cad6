import { join } from "node:path";

/** The paths of the certificates in a home. */
export function certPaths(home: string) {
  const folder = join(home, "certs");
  return {
    folder,
    caCert: join(folder, "ca.crt"),
    caKey: join(folder, "ca.key"),
    serverCert: join(folder, "server.crt"),
    serverKey: join(folder, "server.key"),
    /** A copy of every certificate that this home has issued, by serial number; `list` shows these. */
    issued: join(folder, "issued"),
    revoked: join(folder, "revoked.json"),
    /** The fingerprints of the certificates of the home's owner. */
    homeAdmins: join(folder, "home-admins.json"),
    lock: join(folder, "certs.lock"),
    /** Acts of commands that no hub has recorded yet, a file for each. */
    unrecorded: join(folder, "unrecorded"),
    unrecordedLock: join(folder, "unrecorded.lock"),
    client: (user: string) => ({
      folder: join(folder, user),
      cert: join(folder, user, "client.crt"),
      key: join(folder, user, "client.key"),
    }),
  };
}

export type CertPaths = ReturnType<typeof certPaths>;
