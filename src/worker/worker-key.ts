import { join } from "node:path";
import { readPrivateFile, writePrivateFile } from "../runtime/files/private-file.ts";
import { generateSigningKey, loadSigningKey, type SigningKey } from "../signing/ed25519.ts";

/** The worker's own key, created at its first start. The worker signs receipts with it. */
export async function openWorkerKey(dir: string): Promise<SigningKey> {
  const path = join(dir, "worker.key");
  const pem = await readPrivateFile(path);
  if (pem !== null) return loadSigningKey(pem);
  const { signingKey, privateKeyPem } = generateSigningKey();
  await writePrivateFile(path, privateKeyPem);
  return signingKey;
}
