// The definition of a job that client and worker share. Why: ADR 0037.
import { type FieldIssue, invalidArgument } from "../core/errors.ts";

/**
 * The part of the Standard Schema interface (https://standardschema.dev) that is used here. Schemas of zod, Valibot,
 * ArkType and others have it.
 */
export type StandardSchema<Input = unknown, Output = Input> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
};

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

type SchemaIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

/**
 * A type of job with its TypeScript types: what `submit` takes, what `run` gives back, and, where a schema changes values
 * on the way, what the handler is given and what it returns.
 */
export type JobDefinition<In, Out, Params = In, Returned = Out> = {
  readonly type: string;
  readonly params: StandardSchema<In, Params> | undefined;
  readonly result: StandardSchema<Returned, Out> | undefined;
  /** Never set: it only carries the types. */
  readonly "~types"?: { in: In; out: Out; params: Params; returned: Returned };
};

/**
 * Describes a type of job once, for the program that submits it and the worker that handles it. Without schemas, name the
 * types: `defineJob<{ a: number }, { sum: number }>("add")`. With schemas they are inferred, and both sides check the
 * values: the sender's are sent as they were given, and the receiver gets the output of the schema.
 */
export function defineJob<In = unknown, Out = unknown, Params = In, Returned = Out>(
  type: string,
  params?: StandardSchema<In, Params>,
  result?: StandardSchema<Returned, Out>,
): JobDefinition<In, Out, Params, Returned> {
  return { type, params, result };
}

/** The schema's output for the value. A value that does not fit is refused with its path below `name`. */
export async function checkValue<Output>(
  schema: StandardSchema<unknown, Output> | undefined,
  value: unknown,
  name: string,
): Promise<Output> {
  if (schema === undefined) return value as Output;
  const outcome = await schema["~standard"].validate(value);
  if (outcome.issues === undefined) return outcome.value;
  const [first = { message: "is refused by the schema" }, ...others] = outcome.issues;
  throw invalidArgument(issueOf(first, name), ...others.map((issue) => issueOf(issue, name)));
}

function issueOf({ message, path = [] }: SchemaIssue, name: string): FieldIssue {
  const keys = path.map((part) => (typeof part === "object" ? part.key : part));
  return { path: [name, ...keys.map(String)].join("."), message };
}
