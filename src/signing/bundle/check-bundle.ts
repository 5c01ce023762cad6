import type { JsonObject, JsonValue } from "../../core/text/json-value.ts";
import { canonicalize } from "../canonical.ts";
import { parseJson } from "../parse-json.ts";
import { parseReceipt, type Receipt } from "../receipt-text.ts";
import { attempt, nullIfRefused } from "./attempt-to-read.ts";
import {
  type BundleStep,
  checkArtifact,
  checkFiles,
  checkJob,
  checkOutput,
  type ListedFile,
  type ShownJob,
} from "./check-shown.ts";

/**
 * Everything that is needed to check, without the hub, what was ordered, who could run it, and what the outcome was.
 */
export type ReceiptBundle = {
  job_id: string;
  attempt: number;
  /** The document, its grant to a worker, and the hub's signatures over both, made by one key. */
  document: string | null;
  signature: string | null;
  grant: string;
  grant_signature: string;
  key_id: string;
  worker: { worker_id: string; public_key: string | null };
  /** The receipt, the text that the worker signed for it, and that signature. */
  receipt: string;
  signed: string;
  receipt_signature: string;
  /** Canonical text; null if there is none. */
  result: string | null;
  /** False if there may have been a result, but it was deleted with its job. */
  result_kept?: boolean | undefined;
};

/** What the hub attests: this worker, with this key, held the lease of this attempt of this document. */
export function grantText(grant: {
  job_id: string;
  attempt: number;
  worker_id: string;
  worker_public_key: string | null;
  document_sha256: string;
}): string {
  return canonicalize({ ...grant } as JsonValue);
}

export type BundleClaims = {
  bundle: ReceiptBundle;
  /** The hub's keys that the reader trusts. */
  keys: readonly { key_id: string; public_key: string; status: string }[];
  /** The output that the reader has, without what is not available: SHA-256 of the streams, and the list of files. */
  outputs?: {
    stdout?: string | undefined;
    stderr?: string | undefined;
    files?: readonly ListedFile[] | undefined;
  };
  /** The job as its hub shows it. */
  job?: ShownJob | undefined;
  /** SHA-256 of copies of output files, by the key of the file. */
  artifacts?: ReadonlyMap<string, string>;
};

/** How hashes and signatures are computed: by `node:crypto` in programs, by WebCrypto in a browser. */
export type Proof = {
  /** Rejects for what is not a public key, or is a weak one. */
  loadKey: (pem: string) => Promise<ProofKey>;
  sha256Hex: (text: string) => Promise<string>;
};

/** A public key, which answers false for any text and signature that do not belong together. */
type ProofKey = { keyId: string; verify: (text: string, signature: string) => Promise<boolean> };

/**
 * Checks the whole chain and reports each link. A link that cannot be parsed counts as broken. Why: ADR 0013, ADR 0046.
 */
export async function checkBundle(given: BundleClaims, proof: Proof): Promise<BundleStep[]> {
  const { bundle, outputs, artifacts = new Map() } = given;
  const hubKey = await findKey(given, proof);
  const receipt = attempt(() => parseReceipt(bundle.receipt));
  const check = new BundleCheck(bundle, receipt, { proof, hubKey: hubKey.key });
  return [
    hubKey.step,
    await check.document(),
    await check.grant(),
    await check.receipt(),
    await check.result(),
    checkOutput("stdout", receipt?.stdout_sha256, outputs?.stdout),
    checkOutput("stderr", receipt?.stderr_sha256, outputs?.stderr),
    checkFiles(receipt, outputs?.files),
    ...(given.job === undefined ? [] : [checkJob(receipt, given.job)]),
    ...[...artifacts].map(([key, sha256]) => checkArtifact(receipt, key, sha256)),
  ];
}

async function findKey(
  { bundle, keys }: BundleClaims,
  proof: Proof,
): Promise<{ key: ProofKey | null; step: BundleStep }> {
  const step = "hub key";
  const record = keys.find(({ key_id }) => key_id === bundle.key_id);
  if (record === undefined) {
    const says = `${bundle.key_id} is not among the trusted keys; a hub signs with the key that is current when it is asked`;
    return { key: null, step: { step, isFine: false, says } };
  }
  if (record.status === "revoked") {
    return { key: null, step: { step, isFine: false, says: `${bundle.key_id} is revoked` } };
  }
  const key = await proof.loadKey(record.public_key).catch(nullIfRefused);
  const isFine = key !== null && key.keyId === bundle.key_id;
  return {
    key: isFine ? key : null,
    step: {
      step,
      isFine,
      says: isFine ? `${bundle.key_id} is trusted` : `${bundle.key_id} is not the id of the key given for it`,
    },
  };
}

/** The links that need hashes or signatures. */
class BundleCheck {
  readonly #bundle: ReceiptBundle;
  readonly #receipt: Receipt | null;
  readonly #proof: Proof;
  readonly #hubKey: ProofKey | null;

  constructor(
    bundle: ReceiptBundle,
    receipt: Receipt | null,
    { proof, hubKey }: { proof: Proof; hubKey: ProofKey | null },
  ) {
    this.#bundle = bundle;
    this.#receipt = receipt;
    this.#proof = proof;
    this.#hubKey = hubKey;
  }

  async document(): Promise<BundleStep> {
    const step = "document";
    const { document, signature, job_id } = this.#bundle;
    if (document === null || signature === null) {
      return { step, isFine: null, says: "you may not read it; only its hash is compared" };
    }
    if (this.#hubKey === null) return { step, isFine: null, says: this.#untrusted() };
    if (!(await this.#hubKey.verify(document, signature))) {
      return { step, isFine: false, says: "the hub's signature over it does not verify" };
    }
    const jobId = attempt(() => (parseJson(document) as JsonObject)["job_id"]);
    const sha256 = await this.#proof.sha256Hex(document);
    const isSame = jobId === job_id && sha256 === this.#receipt?.document_sha256;
    return {
      step,
      isFine: isSame,
      says: isSame ? "signed by the hub; the receipt names its hash" : "the receipt names another document",
    };
  }

  async grant(): Promise<BundleStep> {
    const step = "grant";
    const { grant, grant_signature, job_id, worker } = this.#bundle;
    if (this.#hubKey === null) return { step, isFine: null, says: this.#untrusted() };
    if (!(await this.#hubKey.verify(grant, grant_signature))) {
      return { step, isFine: false, says: "the hub's signature over it does not verify" };
    }
    const receipt = this.#receipt;
    const said = receipt && {
      job_id,
      attempt: receipt.attempt,
      worker_id: receipt.worker_id,
      worker_public_key: worker.public_key,
      document_sha256: receipt.document_sha256,
    };
    const isSame = said !== null && receipt?.job_id === job_id && attempt(() => grantText(said)) === grant;
    if (!isSame) return { step, isFine: false, says: "the receipt names another worker, attempt or job" };
    // A reader takes them from the bundle, where no signature covers them.
    const isNamed = this.#bundle.attempt === said.attempt && worker.worker_id === said.worker_id;
    const named = `the bundle names attempt ${this.#bundle.attempt} of worker ${worker.worker_id}, and what is signed names`;
    const signed = `attempt ${said.attempt} of worker ${said.worker_id}`;
    return {
      step,
      isFine: isNamed,
      says: isNamed
        ? `worker ${said.worker_id} held the lease of attempt ${said.attempt}`
        : `${named} ${signed}`,
    };
  }

  /** That the key is not trusted is a broken link of its own; whether the signature is good cannot be told without it. */
  #untrusted(): string {
    return `not checked: signed by ${this.#bundle.key_id}, which is not a trusted key`;
  }

  async receipt(): Promise<BundleStep> {
    const step = "receipt";
    const { public_key: pem } = this.#bundle.worker;
    if (this.#receipt === null) return { step, isFine: false, says: "it is not a valid receipt" };
    if (pem === null) return { step, isFine: false, says: "the worker had registered no key" };
    const key = await this.#proof.loadKey(pem).catch(nullIfRefused);
    const isSigned = key !== null && (await this.#isSignedBy(key, this.#receipt));
    return {
      step,
      isFine: isSigned,
      says: isSigned ? "signed by the worker" : "the worker's signature does not verify",
    };
  }

  /** Whether the signature covers this receipt, alone or in a list of the same worker. */
  async #isSignedBy(key: ProofKey, receipt: Receipt): Promise<boolean> {
    const { receipt: text, signed, receipt_signature: signature } = this.#bundle;
    if (!(await key.verify(signed, signature))) return false;
    if (signed === text) return true;
    const list = attempt(() => parseJson(signed)) as { receipts?: JsonValue; worker_id?: JsonValue } | null;
    return (
      Array.isArray(list?.receipts) &&
      list.receipts.includes(await this.#proof.sha256Hex(text)) &&
      list.worker_id === receipt.worker_id
    );
  }

  async result(): Promise<BundleStep> {
    const { result, result_kept: isKept } = this.#bundle;
    const receipt = this.#receipt;
    if (result === null && isKept === false && receipt !== null && receipt.result_sha256 !== null) {
      const says = `deleted with the job; the receipt names SHA-256 ${receipt.result_sha256}`;
      return { step: "result", isFine: null, says };
    }
    const found = result === null ? null : await this.#proof.sha256Hex(result);
    const isSame = receipt !== null && receipt.result_sha256 === found;
    const fine = found === null ? "none, as the receipt says" : `matches the receipt (SHA-256 ${found})`;
    return { step: "result", isFine: isSame, says: isSame ? fine : "does not match the receipt" };
  }
}
