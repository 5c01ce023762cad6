import { fieldOf, type S3Calls } from "./s3-calls.ts";

/** Of one upload there are rarely more than two, and never more than calls that completed it and were killed. */
const keysMax = 1000;

/** The keys below a prefix. A store that does not list, or does not allow it, is taken to have none. */
export async function listKeys(calls: S3Calls, prefix: string): Promise<string[]> {
  const query = { "list-type": "2", prefix, "max-keys": String(keysMax) };
  const answer = await calls.call({ method: "GET", key: "", query });
  const text = await answer.text();
  if (!answer.ok) return [];
  const entries = text.matchAll(/<Contents>(.*?)<\/Contents>/gs);
  return Array.from(entries, ([, entry = ""]) => fieldOf(entry, "Key") ?? "").filter((key) =>
    key.startsWith(prefix),
  );
}
