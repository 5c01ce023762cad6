import { createHmac, createPublicKey, generateKeyPairSync, sign, verify } from "node:crypto";
import { describe, expect, test } from "vitest";
import { WritError } from "../core/errors.ts";
import { storagePolicyCharsMax, storageRightsMax } from "../core/storage-policy.ts";
import type { JsonObject } from "../core/text/json-value.ts";
import { canonicalize } from "./canonical.ts";
import { generateSigningKey, loadVerifyingKey, type SigningKey, signText, verifyText } from "./ed25519.ts";
import {
  isWritToken,
  type JobToken,
  jobTokenCharsMax,
  jobTokenLifeMs,
  makeJobToken,
  verifyJobToken,
} from "./job-token.ts";

const nowTs = 1_763_200_000;
const nowMs = nowTs * 1000;
const hub = generateSigningKey().signingKey;
const stranger = generateSigningKey().signingKey;

/** A ring that knows one key. */
const keys = {
  verifierFor: (keyId: string) => (keyId === hub.keyId ? loadVerifyingKey(hub.publicKeyPem) : null),
};

const said: JobToken = {
  jobId: "01890000-0000-7000-8000-000000000001",
  attempt: 2,
  tenantId: "acme",
  workerId: "worker-1",
  policy: [{ folderId: "results", prefix: "a/b", method: "PUT" }],
  issuedAtTs: nowTs - 10,
  expiresAtTs: nowTs + 50,
};

const header = { alg: "EdDSA", kid: hub.keyId, typ: "writ-job+jwt" };
const payload = {
  attempt: said.attempt,
  aud: "writ-hub",
  exp: said.expiresAtTs,
  iat: said.issuedAtTs,
  iss: "writ-hub",
  job_id: said.jobId,
  storage_access_policy: said.policy,
  tenant_id: said.tenantId,
  worker_id: said.workerId,
};

const encode = (text: string) => Buffer.from(text).toString("base64url");

/** A token as somebody with the hub's own key would make it, so that only what it says can be wrong. */
function forge(head: JsonObject, body: JsonObject | string, key: SigningKey = hub): string {
  const text = typeof body === "string" ? body : canonicalize(body);
  const signed = `${encode(canonicalize(head))}.${encode(text)}`;
  return `${signed}.${sign(null, Buffer.from(signed), key.privateKey).toString("base64url")}`;
}

function refusalOf(token: unknown, atMs = nowMs): WritError {
  try {
    verifyJobToken(keys, token as string, atMs);
  } catch (error) {
    if (error instanceof WritError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

function expectRefused(token: unknown, what: string): void {
  const { code, message } = refusalOf(token);
  expect(code, what).toBe("UNAUTHENTICATED");
  if (String(token).length > 20) expect(message, what).not.toContain(String(token).slice(0, 20));
}

test("what the refusals are made from is itself accepted", () => {
  expect(verifyJobToken(keys, forge(header, payload), nowMs)).toEqual(said);
});

describe("a job token is refused", () => {
  const good = makeJobToken(hub, said);
  const [head, body, signature] = good.split(".") as [string, string, string];

  test("when its header names another algorithm, even with a valid signature", () => {
    for (const alg of ["none", "None", "", "HS256", "RS256", "ES256", "Ed25519", "eddsa"]) {
      expectRefused(forge({ ...header, alg }, payload), alg);
    }
    const unsigned = `${encode(canonicalize({ ...header, alg: "none" }))}.${body}.`;
    expectRefused(unsigned, "unsigned");
    const signed = `${encode(canonicalize({ ...header, alg: "HS256" }))}.${body}`;
    const mac = createHmac("sha256", hub.publicKeyPem).update(signed).digest("base64url");
    expectRefused(`${signed}.${mac}`, "a MAC with the public key as its secret");
    const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
    const es = sign("sha256", Buffer.from(`${head}.${body}`), { key: ec, dsaEncoding: "ieee-p1363" });
    expectRefused(`${head}.${body}.${es.toString("base64url")}`, "64 bytes of another kind of signature");
  });

  test("when it is of another type, or of none", () => {
    for (const typ of ["JWT", "jwt", "at+jwt", "writ-job", "application/writ-job+jwt", ""]) {
      expectRefused(forge({ ...header, typ }, payload), typ);
    }
    const { typ: _, ...untyped } = header;
    expectRefused(forge(untyped, payload), "no type");
  });

  test("when its header brings a key, a place to fetch one from, or an extension", () => {
    const jwk = createPublicKey(stranger.publicKeyPem).export({ format: "jwk" }) as JsonObject;
    const url = "http://127.0.0.1:1/keys";
    const extras: JsonObject[] = [
      { jwk },
      { jku: url },
      { x5u: url },
      { crit: ["exp"] },
      { cty: "JWT" },
      { b64: true },
    ];
    for (const extra of extras) {
      expectRefused(forge({ ...header, ...extra }, payload), JSON.stringify(extra));
      expectRefused(forge({ ...header, ...extra }, payload, stranger), JSON.stringify(extra));
    }
  });

  test("when the key is unknown, revoked or injected", () => {
    // One key in two thousand has an id without a letter, which reads the same in capitals.
    const inCapitals = [hub.keyId.toUpperCase()].filter((kid) => kid !== hub.keyId);
    const kids = [stranger.keyId, "", "../keys/mac.key", "' OR 1=1 --", "__proto__", ...inCapitals];
    for (const kid of kids) expectRefused(forge({ ...header, kid }, payload), kid);
    expectRefused(makeJobToken(stranger, said), "a stranger's own");
    const none = { verifierFor: () => null };
    expect(() => verifyJobToken(none, good, nowMs)).toThrow("may not sign now");
  });

  test("when another key signed it", () => {
    expectRefused(forge(header, payload, stranger), "a stranger in the hub's name");
  });

  test("when a single bit of it was changed", () => {
    for (let index = 0; index < good.length; index++) {
      const flipped = String.fromCharCode(good.charCodeAt(index) ^ 1);
      expectRefused(good.slice(0, index) + flipped + good.slice(index + 1), `at ${index}`);
    }
  });

  test("when its payload was exchanged", () => {
    const other = makeJobToken(hub, { ...said, attempt: 3 }).split(".");
    expectRefused(`${head}.${other[1]}.${signature}`, "another payload");
    expectRefused(`${head}.${body}.${other[2]}`, "another signature");
  });

  test("when it has expired, to the millisecond", () => {
    expect(verifyJobToken(keys, good, said.expiresAtTs * 1000 - 1)).toEqual(said);
    expect(refusalOf(good, said.expiresAtTs * 1000).message).toContain("expired");
  });

  test("when it is spelled in another way", () => {
    const spare = body.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1));
    const spellings = [
      `${good}=`,
      ` ${good}`,
      `${good}\n`,
      `${good}.`,
      `.${good}`,
      `${head}=.${body}.${signature}`,
      `${head}.${body}.${Buffer.from(signature, "base64url").toString("base64")}`,
      `${head}.${spare}.${signature}`,
      `${head}.${body}`,
      `${head}..${signature}`,
      `${head}.${body}.${signature}.${signature}`,
      `Bearer ${good}`,
    ];
    for (const spelling of spellings) expectRefused(spelling, spelling.slice(-20));
    const end = signature.at(-1)!;
    // The last character of 64 bytes holds four bits that mean nothing: all but one spelling must be refused.
    for (const other of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
      if (other !== end) expectRefused(good.slice(0, -1) + other, `ends with ${other}`);
    }
  });

  test("when it is too long, empty or no text at all", () => {
    const rights = Array(500).fill(said.policy[0]);
    expectRefused(makeJobToken(hub, { ...said, policy: rights }), "500 rights");
    expectRefused("a".repeat(jobTokenCharsMax + 1), "a long word");
    for (const nothing of ["", ".", "..", "...", null, undefined, 1, {}, []])
      expectRefused(nothing, "nothing");
  });

  test("when it is for another party, or from one", () => {
    for (const field of ["aud", "iss"]) {
      for (const party of ["", "writ", "https://writ-hub", ["writ-hub"], null]) {
        expectRefused(forge(header, { ...payload, [field]: party }), `${field} = ${party}`);
      }
      const { [field]: _, ...without } = payload as JsonObject;
      expectRefused(forge(header, without), `no ${field}`);
    }
  });

  test("when a field is missing, of another type, or one too many", () => {
    for (const field of Object.keys(payload)) {
      const { [field]: _, ...without } = payload as JsonObject;
      expectRefused(forge(header, without), `no ${field}`);
      expectRefused(forge(header, { ...payload, [field]: null }), `${field} = null`);
    }
    for (const field of ["exp", "iat", "attempt"]) {
      expectRefused(forge(header, { ...payload, [field]: String(nowTs + 50) }), `${field} as text`);
      expectRefused(forge(header, { ...payload, [field]: nowTs + 0.5 }), `${field} as a decimal`);
    }
    expectRefused(forge(header, { ...payload, nbf: 0 }), "nbf");
    expectRefused(forge(header, { ...payload, admin: true }), "admin");
  });

  test("when a right is not one", () => {
    const right = payload.storage_access_policy[0]!;
    for (const wrong of [
      { ...right, method: "POST" },
      { ...right, method: ["PUT"] },
      { ...right, prefix: null },
      { ...right, more: 1 },
      { folderId: "f", method: "PUT" },
      [],
      "PUT",
    ]) {
      const policy = [right, wrong] as JsonObject[];
      expectRefused(forge(header, { ...payload, storage_access_policy: policy }), JSON.stringify(wrong));
    }
  });

  test("when it is signed but not canonical JSON", () => {
    const text = canonicalize(payload as unknown as JsonObject);
    for (const other of [
      ` ${text}`,
      text.replace(",", ", "),
      text.replace('"attempt":2', '"attempt":2,"attempt":2'),
      text.replace('"attempt":2', '"attempt":2.0'),
      text.replace("acme", "\\u0061cme"),
      "null",
      "[]",
      "",
      "\xff",
    ]) {
      expectRefused(forge(header, other), other.slice(0, 30));
    }
  });

  test("when it is another text that the hub has signed", () => {
    const text = canonicalize(payload as unknown as JsonObject);
    const foreign = Buffer.from(signText(hub, text).slice("base64:".length), "base64").toString("base64url");
    expectRefused(`${head}.${body}.${foreign}`, "the payload signed as a document");
    expectRefused(`${head}.${encode(text)}.${foreign}`, "the same");
  });
});

test("a job token says which attempt may do what until when, and any JWT library can check it", () => {
  const token = makeJobToken(hub, said);
  const [head, body, signature] = token.split(".") as [string, string, string];
  expect(JSON.parse(Buffer.from(head, "base64url").toString())).toEqual(header);
  expect(JSON.parse(Buffer.from(body, "base64url").toString())).toEqual(payload);
  const key = createPublicKey(hub.publicKeyPem);
  expect(verify(null, Buffer.from(`${head}.${body}`), key, Buffer.from(signature, "base64url"))).toBe(true);
  expect(verifyJobToken(keys, token, nowMs)).toEqual(said);
});

test("a job token's signature fits none of the texts that workers verify", () => {
  const [head, body, signature] = makeJobToken(hub, said).split(".") as [string, string, string];
  const standard = `base64:${Buffer.from(signature, "base64url").toString("base64")}`;
  const key = loadVerifyingKey(hub.publicKeyPem);
  expect(verifyText(key, `${head}.${body}`, standard)).toBe(true);
  expect(verifyText(key, Buffer.from(body, "base64url").toString(), standard)).toBe(false);
});

test("the longest policy that a submission may have, of the longest names, makes a token that is accepted", () => {
  const chars = Math.floor(storagePolicyCharsMax / storageRightsMax) - 1;
  const right = { folderId: "f", prefix: "p".repeat(chars), method: "DELETE" as const };
  const policy = Array(storageRightsMax).fill(right);
  const longest = {
    ...said,
    tenantId: "t".repeat(50),
    workerId: "w".repeat(100),
    attempt: 2 ** 53 - 1,
    policy,
  };
  expect(verifyJobToken(keys, makeJobToken(hub, longest), nowMs)).toEqual(longest);
});

describe("O-14: a holder of a token without the key to verify it", () => {
  const token = makeJobToken(hub, said);

  test("sees whether a hub of Writ made it", () => {
    expect(isWritToken(token)).toBe(true);
    const other = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString("base64url");
    for (const text of ["secret", "", "a.b.c", `${other}.e30.x`, token.split(".")[0]!, `${token}.x`])
      expect(isWritToken(text), text).toBe(false);
  });

  test("sees how long it lives", () => {
    expect(jobTokenLifeMs(token)).toBe(60_000);
    for (const text of ["secret", "", "a.b.c", "e30.e30.x"]) expect(jobTokenLifeMs(text), text).toBeNull();
  });
});
