import { X509Certificate } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { WritError } from "../../core/errors.ts";
import { readSmallFile } from "../../runtime/private-file.ts";

/** A folder with more is not one of authorities. */
const filesMax = 1000;

/** Whose certificates are believed: those in a file, or in every .crt and .pem of a folder. */
export async function readClientAuthorities(path: string): Promise<string[]> {
  const files = await authorityFiles(path);
  const pems = (await Promise.all(files.map((file) => readAuthorities(file)))).flat();
  if (pems.length === 0)
    throw new WritError("CONFIG_INVALID", `${path} holds no certificate of a client authority`);
  return pems;
}

/** The files that are read for them. */
export async function authorityFiles(path: string): Promise<string[]> {
  const found = await stat(path).catch(() => null);
  if (found === null)
    throw new WritError("CONFIG_INVALID", `${path} does not exist: it is to hold the client authorities`);
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /\.(crt|pem)$/.test(name)).sort();
  if (names.length > filesMax) {
    throw new WritError(
      "CONFIG_INVALID",
      `${path} holds more than ${filesMax} files: it is no folder of client authorities`,
    );
  }
  return names.map((name) => join(path, name));
}

async function readAuthorities(file: string): Promise<string[]> {
  const text = (await readSmallFile(file, { mustBePrivate: false })) ?? "";
  const pems = text.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  for (const pem of pems) {
    // A leaf among the authorities would make its holder one.
    if (!isAuthority(pem))
      throw new WritError(
        "CONFIG_INVALID",
        `${file} holds a certificate that is no authority; remove it from the client authorities`,
      );
  }
  return pems;
}

function isAuthority(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca;
  } catch {
    return false;
  }
}
