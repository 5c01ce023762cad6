import type { Writ } from "../../client/index.ts";

/** A link that logs a browser in as the caller, once. The code is in the fragment, which browsers send to nobody. */
export async function loginLink(
  writ: Pick<Writ, "createLoginCode" | "hubUrls">,
): Promise<{ url: string; expires_in_sec: number }> {
  const { code, expires_in_sec } = await writ.createLoginCode();
  const [hub] = await writ.hubUrls();
  return { url: new URL(`/#login=${code}`, hub).href, expires_in_sec };
}
