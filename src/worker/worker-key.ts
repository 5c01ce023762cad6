import { join } from "node:path";
import { readPrivateFile, writePrivateFile } from "../runtime/private-file.ts";
import { generateSigningKey, loadSigningKey, type SigningKey } from "../signing/ed25519.ts";

/** The worker's own key, made at its first start. With it the worker signs for what it has done. */
export async function openWorkerKey(dir: string): Promise<SigningKey> {
  const path = join(dir, "worker.key");
  const pem = await readPrivateFile(path);
  if (pem !== null) return loadSigningKey(pem);
  const { signingKey, privateKeyPem } = generateSigningKey();
  await writePrivateFile(path, privateKeyPem);
  return signingKey;
}
