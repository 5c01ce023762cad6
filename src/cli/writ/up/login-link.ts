import type { Writ } from "../../../client/index.ts";

/** A link that logs a browser in as the caller, once. The code is in the fragment, which browsers never send. */
export async function loginLink(
  writ: Pick<Writ, "createLoginCode" | "currentHub" | "publicUrls">,
): Promise<{ url: string; expires_in_sec: number }> {
  const { code, expires_in_sec } = await writ.createLoginCode();
  const [publicUrl, ...others] = await writ.publicUrls();
  // Of several hubs, only the one that made the code knows it.
  const hub = others.length === 0 ? publicUrl : await writ.currentHub();
  return { url: new URL(`/#login=${code}`, hub).href, expires_in_sec };
}
