import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { type KeyPair, makeAuthority, makeServerCertificate } from "./make-certificate.ts";
import { readTlsPair } from "./tls-pair.ts";

let pair: KeyPair;
let other: KeyPair;

beforeAll(async () => {
  const nowMs = Date.now();
  const authority = await makeAuthority(nowMs);
  pair = await makeServerCertificate(authority, { hosts: ["localhost"], nowMs });
  other = await makeServerCertificate(authority, { hosts: ["localhost"], nowMs });
});

function place({ certPem, keyPem }: { certPem?: string; keyPem?: string }) {
  const folder = mkdtempSync(join(tmpdir(), "writ-pair-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const paths = { certPath: join(folder, "a.crt"), keyPath: join(folder, "a.key") };
  if (certPem !== undefined) writeFileSync(paths.certPath, certPem, { mode: 0o600 });
  if (keyPem !== undefined) writeFileSync(paths.keyPath, keyPem, { mode: 0o600 });
  return paths;
}

const read = (paths: ReturnType<typeof place>) => readTlsPair(paths, { mustBePrivate: true });

const refusals: [string, () => { certPem?: string; keyPem?: string }, RegExp][] = [
  ["a missing certificate", () => ({ keyPem: pair.keyPem }), /a\.crt cannot be read: ENOENT/],
  ["a missing key", () => ({ certPem: pair.certPem }), /a\.key cannot be read: ENOENT/],
  ["no certificate", () => ({ ...pair, certPem: "nothing" }), /a\.crt contains no certificate/],
  [
    "half a certificate",
    () => ({ ...pair, certPem: pair.certPem.slice(0, 300) }),
    /a\.crt contains no certificate/,
  ],
  ["no key", () => ({ ...pair, keyPem: "nothing" }), /a\.key contains no readable private key/],
  ["a key with a passphrase", () => ({ ...pair, keyPem: lockedKey() }), /a\.key .*without a passphrase/],
  ["another's key", () => ({ ...pair, keyPem: other.keyPem }), /a\.key is not the key of .*a\.crt/],
  [
    "a chain that breaks off",
    () => ({ ...pair, certPem: pair.certPem + other.certPem.slice(0, 300) }),
    /a\.crt cannot be used for TLS: ERR_/,
  ],
];

test.each(refusals)(
  "%s is refused with the name of its file and without any part of the key",
  async (_name, make, says) => {
    const made = make();
    const error = (await read(place(made)).catch((reason: unknown) => reason)) as Error;
    expect(error.message).toMatch(says);
    const secret = made.keyPem?.split("\n")[1];
    if (secret) expect(`${error.message}${error.stack}`).not.toContain(secret);
  },
);

test("a key that others can read is refused only where it has to be private", async () => {
  const paths = place(pair);
  chmodSync(paths.keyPath, 0o640);
  await expect(read(paths)).rejects.toThrow("chmod 600");
  expect(await readTlsPair(paths, { mustBePrivate: false })).toMatchObject({ certPem: pair.certPem });
});

test("a whole chain is read unchanged", async () => {
  const whole = { certPem: pair.certPem + other.certPem, keyPem: pair.keyPem };
  expect(await read(place(whole))).toEqual(whole);
});

function lockedKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const options = { type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "open" } as const;
  return privateKey.export(options) as string;
}
