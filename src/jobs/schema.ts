/**
 * The part of the Standard Schema interface (https://standardschema.dev) that is used here. Schemas of zod, Valibot,
 * ArkType and others have it. It is declared again in this room, which imports nothing, so that it can be copied alone.
 */
export type StandardSchema<Output = unknown> = {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
  };
};

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

type SchemaIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

/** The schema's output for a value, or a sentence about the first thing that does not fit. */
export async function checkInput(
  schema: StandardSchema,
  value: unknown,
): Promise<{ value: unknown } | { problem: string }> {
  const outcome = await schema["~standard"].validate(value);
  if (outcome.issues === undefined) return { value: outcome.value };
  const { message = "is refused by the schema", path = [] } = outcome.issues[0] ?? {};
  const keys = path.map((part) => String(typeof part === "object" ? part.key : part));
  return { problem: `${["job_input", ...keys].join(".")}: ${message}` };
}
