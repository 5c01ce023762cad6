import { X509Certificate } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { readSmallFile } from "../../runtime/files/private-file.ts";

/** A folder with more files does not contain authorities. */
const filesMax = 1000;

/** The authorities whose certificates are accepted: those in a file, or in every .crt and .pem file of a folder. */
export async function readClientAuthorities(path: string): Promise<string[]> {
  const files = await authorityFiles(path);
  const pems = (await Promise.all(files.map((file) => readAuthorities(file)))).flat();
  if (pems.length === 0)
    throw new WritError("CONFIG_INVALID", `${path} contains no certificate of a client authority`);
  return pems;
}

/** The files that contain the client authorities. */
export async function authorityFiles(path: string): Promise<string[]> {
  // Missing or not accessible: both are refused with the same advice.
  const found = await stat(path).catch(() => null);
  if (found === null)
    throw new WritError("CONFIG_INVALID", `${path} does not exist; it should contain the client authorities`);
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /\.(crt|pem)$/.test(name)).sort();
  if (names.length > filesMax) {
    throw new WritError(
      "CONFIG_INVALID",
      `${path} contains more than ${filesMax} files; it is not a folder of client authorities`,
    );
  }
  return names.map((name) => join(path, name));
}

async function readAuthorities(file: string): Promise<string[]> {
  const text = (await readSmallFile(file, { mustBePrivate: false })) ?? "";
  const pems = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  for (const pem of pems) {
    // A leaf certificate among the authorities would make its holder an authority.
    if (!isAuthority(pem))
      throw new WritError(
        "CONFIG_INVALID",
        `${file} contains a certificate that is not an authority; remove it from the client authorities`,
      );
  }
  return pems;
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    // Not a certificate at all.
    return false;
  }
}
