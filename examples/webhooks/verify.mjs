import { createHmac, timingSafeEqual } from "node:crypto";

const toleranceSec = 300;

/**
 * The message, if it was signed with the secret; else it throws. `body` is what arrived, before anything has parsed it.
 *
 * @param {string} secret begins with whsec_
 * @param {import("node:http").IncomingHttpHeaders} headers
 * @param {Buffer} body
 */
export function verify(secret, headers, body, nowSec = Date.now() / 1000) {
  const id = headers["webhook-id"];
  const sentAt = headers["webhook-timestamp"];
  if (!(Math.abs(nowSec - Number(sentAt)) <= toleranceSec)) throw new Error("the message is too old");
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${sentAt}.`).update(body).digest();
  // For a day after a rotation there are two.
  for (const one of String(headers["webhook-signature"]).split(" ")) {
    const [version, text = ""] = one.split(",");
    const found = Buffer.from(text, "base64");
    if (version !== "v1" || found.length !== expected.length) continue;
    if (timingSafeEqual(found, expected)) return { id, ...JSON.parse(body.toString()) };
  }
  throw new Error("the signature is wrong");
}
