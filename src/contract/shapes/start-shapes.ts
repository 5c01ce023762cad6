import { z } from "zod";
import { jobDocument } from "../document.ts";
import { kinds } from "../kinds.ts";
import { text } from "./fields.ts";

const { argv, env, cwd, stdin, stdin_from, inputs, collect } = kinds.exec.shape.shape;
const { limits, egress, requires, max_attempts, output_location, traceparent } = jobDocument.shape;

/** A command to start as a job. The hub sets what is left out, the same over HTTP and gRPC. */
export const startRequest = z.strictObject({
  command: argv,
  limits,
  egress,
  env,
  cwd,
  stdin,
  stdin_from,
  inputs,
  collect,
  output_location,
  timeout_sec: jobDocument.shape.timeout_sec.optional(),
  requires,
  idempotency_key: text(1, 200).optional(),
  max_attempts: max_attempts.optional(),
  traceparent,
});
export type StartRequest = z.infer<typeof startRequest>;
