import type { WireAnswer } from "../../../runtime/wire/frame.ts";
import { written } from "../call.ts";
import type { Reply } from "../reply.ts";

/** These are about one connection with one request at a time. */
const omitted = new Set(["connection", "keep-alive"]);

/** A reply as the answer in a frame. JSON is what most have, so it is not named. */
export function framedReply({ status, headers, body }: Reply): WireAnswer {
  if (body === written) throw new Error("a route that writes its own answer was served in a frame");
  const lines: string[] = [];
  for (const name in headers) {
    const value = headers[name]!;
    if (omitted.has(name.toLowerCase()) || (name === "Content-Type" && value === "application/json"))
      continue;
    if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) throw new Error(`the header ${name} cannot be sent`);
    lines.push(`${name}: ${value}`);
  }
  return { status, head: lines.join("\n"), body };
}
