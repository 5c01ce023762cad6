import { existsSync } from "node:fs";
import { join } from "node:path";
import { certificatePlaces } from "../../client/grpc/find-rpc.ts";
import { WritError } from "../../core/errors.ts";

/** What was given as flags, in the environment or in jobctl.yaml. */
export type GivenCredential = {
  token?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
  user?: string | undefined;
};

/** A source of settings, with the name that each setting has there. */
export type CredentialSource = { given: GivenCredential; nameOf(setting: keyof GivenCredential): string };

export type Credential =
  | { kind: "token"; token: string; from: string }
  | { kind: "certificate"; certFile?: string; keyFile?: string; user: string; from: string }
  /** Nothing was given: the certificate of this user and the administrator's token, as far as the home has them. */
  | { kind: "home"; user: string };

/**
 * The identity that a command acts with. The strongest source that names a credential decides, and what the home holds
 * counts only if none does: a credential that somebody has given is used or refused, never replaced. Sources are
 * strongest first. Why: ADR 0036.
 */
export function chooseCredential(sources: readonly CredentialSource[], osUser: string): Credential {
  for (const [index, { given, nameOf }] of sources.entries()) {
    const { token, cert, user } = given;
    const named = (["token", "cert", "user"] as const).filter((name) => given[name] !== undefined);
    if (token !== undefined && named.length > 1) {
      throw new WritError(
        "CONFIG_INVALID",
        `${named.map(nameOf).join(" and ")}: give a token or a certificate, not both`,
      );
    }
    if (token !== undefined) return { kind: "token", token, from: nameOf("token") };
    if (named.length === 0) continue;
    // The key belongs to the certificate, unless a stronger source names another.
    const keyFile = sources.slice(0, index + 1).find((source) => source.given.key !== undefined)?.given.key;
    const from = nameOf(cert === undefined ? "user" : "cert");
    return { kind: "certificate", certFile: cert, keyFile, user: user ?? osUser, from };
  }
  return { kind: "home", user: osUser };
}

type HomeCredential = { home: string; credential: Credential };

/**
 * What the calls that gRPC has are made with. In a home both are of one person; the certificate is faster. Without
 * either, an error is about the address that was given, and not about a certificate that the caller did not ask for.
 */
export function jobsCredential({ home, credential, grpc }: HomeCredential & { grpc?: string | undefined }) {
  if (credential.kind !== "home") return credential.kind;
  const hasCertificate = certificateInHome(home, credential.user) !== undefined;
  return hasCertificate || (grpc !== undefined && tokenInHome(home) === undefined) ? "certificate" : "token";
}

/** What all other calls are made with. A home without a token is one that `writ certs issue` has filled. */
export function httpCredential({ home, credential }: HomeCredential): "token" | "certificate" {
  if (credential.kind !== "home") return credential.kind;
  return tokenInHome(home) === undefined && certificateInHome(home, credential.user) !== undefined
    ? "certificate"
    : "token";
}

/** The certificate in the home that this user would show, if there is one. */
export function certificateInHome(home: string, user: string): string | undefined {
  return certificatePlaces(home, user).find((path) => existsSync(path));
}

export function tokenInHome(home: string): string | undefined {
  const path = join(home, "admin.token");
  return existsSync(path) ? path : undefined;
}
