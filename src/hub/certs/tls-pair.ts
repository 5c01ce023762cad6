import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { WritError } from "../../core/errors.ts";
import { readSmallFile } from "../../runtime/files/private-file.ts";
import { strictTls } from "../../runtime/http/tls.ts";
import type { KeyPair } from "./make-certificate.ts";

export type PairPaths = { certPath: string; keyPath: string };

/** Reads a certificate and its key for a port. Every refusal names the file, and never its content. */
export async function readTlsPair(paths: PairPaths, rules: { mustBePrivate: boolean }): Promise<KeyPair> {
  const [certPem, keyPem] = [await readText(paths.certPath, rules), await readText(paths.keyPath, rules)];
  const certificate = parseCertificate(paths.certPath, certPem);
  if (!certificate.checkPrivateKey(parseKey(paths.keyPath, keyPem))) {
    throw refused(`${paths.keyPath} is not the key of ${paths.certPath}; put a matching pair there`);
  }
  const pair = { certPem, keyPem };
  tryOut(paths, pair);
  return pair;
}

export function parseCertificate(path: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    // OpenSSL's reason would not help: the file is no certificate.
    throw refused(`${path} contains no certificate; put one there as PEM`);
  }
}

export function parseKey(path: string, pem: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // OpenSSL's reason is left out, because nothing about a key may be shown.
    throw refused(`${path} contains no readable private key; put one there as PEM, without a passphrase`);
  }
}

async function readText(path: string, rules: { mustBePrivate: boolean }): Promise<string> {
  const text = await readSmallFile(path, rules);
  if (text === null) throw refused(`${path} cannot be read: ENOENT`);
  return text;
}

/** Lets TLS load the pair, which checks that the rest of the chain is readable and the key long enough. */
function tryOut({ certPath }: PairPaths, { certPem, keyPem }: KeyPair): void {
  try {
    createSecureContext({ ...strictTls, cert: certPem, key: keyPem });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refused(`${certPath} cannot be used for TLS: ${code ?? "it is refused"}`);
  }
}

function refused(why: string): WritError {
  return new WritError("CONFIG_INVALID", why);
}
