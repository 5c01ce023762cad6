import { z } from "zod";
import { claimedBatch } from "../../contract/shapes/worker-shapes.ts";

/**
 * A signature that is missing, or not even a string, is passed on as an empty one, so that it is refused and reported
 * like any other that does not verify.
 */
export const receivedSignature = z
  .object({
    key_id: z.string().catch(""),
    signature: z.string().catch(""),
    signatures: claimedBatch.shape.batch.shape.signatures.catch(undefined),
  })
  .catch({ key_id: "", signature: "" });
