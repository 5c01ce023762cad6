import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { isTrustedState } from "../../core/key-times.ts";
import { readCerts } from "../access/certs.ts";
import { callHub } from "../hub/call-hub.ts";

/**
 * The file of a worker, as `writ workers add` writes it: the hub's address, the worker's name and token, and the keys
 * to trust.
 */
export async function makeWorkerFile({ name, url }: { name: string; url: string }): Promise<string> {
  // Calls that can be refused come before the token, so that a refusal leaves no unused token.
  const { keys } = (await callHub(pageRoutes.listKeys, {})).body;
  const authority = url.startsWith("https:") ? await findAuthority() : null;
  const { token } = (await callHub(pageRoutes.createToken, { body: { role: "worker", worker_id: name } }))
    .body;
  const trusted = keys.filter(({ status }) => isTrustedState(status));
  // A JSON string is a YAML string too, whatever it contains.
  return [
    "server:",
    `  url: ${JSON.stringify(url)}`,
    `  worker_id: ${JSON.stringify(name)}`,
    `  worker_token: ${JSON.stringify(token)}`,
    ...(authority === null ? [] : ["  ca: |", ...indented(authority, 4)]),
    "security:",
    "  job_signing_public_keys:",
    ...trusted.flatMap(({ public_key }) => ["    - |", ...indented(public_key, 6)]),
    "",
  ].join("\n");
}

/** The hub's own authority; null if the hub presents a certificate of another one. */
async function findAuthority(): Promise<string | null> {
  const certs = await readCerts();
  const settings = (await callHub(pageRoutes.listSettings, {})).body;
  const hasOwn = settings.every(({ name, value }) => name !== "WRIT_TLS_CERT" || value === null);
  return hasOwn ? (certs.find(({ kind }) => kind === "authority")?.certificate ?? null) : null;
}

function indented(text: string, by: number): string[] {
  return text
    .trim()
    .split("\n")
    .map((line) => " ".repeat(by) + line);
}

/** Hands a text to the browser as a file. */
export function downloadText(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the bytes by then; the token must not stay in an address of this page.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
