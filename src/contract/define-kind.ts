import { z } from "zod";
import { collect, inputs } from "./shapes/file-shapes.ts";

const timeoutSecMaxDefault = 3_600;
/** One argument of a process may have 128 KiB; base64 and quoting need part of it. */
export const argumentInputBytesMax = 90 * 1024;

/** A row of the table of kinds. Only the fields are required. */
type KindRow<Fields extends z.ZodRawShape> = {
  /**
   * The fields of `run` beside `kind` and the files. Other fields are refused. A kind with a field `params` receives the job's
   * params.
   */
  fields: Fields;
  /** The longest `timeout_sec`. */
  timeoutSecMax?: number;
  /** True when `timeout_sec` may be 0: no limit. */
  canRunForever?: boolean;
  /** The command line of the job: `commands` in writ.yaml is checked against it, and gRPC shows it. */
  command?(run: RunOf<Fields>): readonly string[];
  /** Fields that only the job's user and administrators may read. Of an object, others see the names. */
  hidden?: readonly (keyof Fields)[];
  /** The field that is passed to the process as one argument and therefore has to fit into one. */
  argument?: keyof Fields;
  /** Fields of the document that only such kinds may have. */
  documentFields?: DocumentFields;
  /** False when its process serves many jobs. */
  mayCloseNetwork?: boolean;
};

export const kindFields = ["provider", "model", "repo_root", "allowed_paths"] as const;
type KindField = (typeof kindFields)[number];
/** `local` is required at LOCAL_MACHINE and optional elsewhere. */
type DocumentFields = Partial<Record<KindField, "required" | "local" | "optional">>;

/** One kind, for code that does not know which kind it is. */
export type KindRules = {
  timeoutSecMax: number;
  canRunForever: boolean;
  takesParams: boolean;
  command(run: object): readonly string[] | null;
  hidden: readonly string[];
  argument: string | null;
  documentFields: DocumentFields;
  mayCloseNetwork: boolean;
};

type RunOf<Fields extends z.ZodRawShape> = z.infer<z.ZodObject<Fields>>;

/** Every kind may have files. */
const files = { inputs: inputs.optional(), collect: collect.optional() };

/** Fills in the defaults of a row. Why: ADR 0019. */
export function defineKind<const Kind extends string, Fields extends z.ZodRawShape>(
  kind: Kind,
  row: KindRow<Fields>,
) {
  return {
    shape: z.strictObject({ kind: z.literal(kind), ...row.fields, ...files }),
    timeoutSecMax: row.timeoutSecMax ?? timeoutSecMaxDefault,
    canRunForever: row.canRunForever ?? false,
    takesParams: "params" in row.fields,
    command(run: RunOf<Fields>) {
      return row.command?.(run) ?? null;
    },
    hidden: (row.hidden ?? []) as readonly string[],
    argument: (row.argument ?? null) as string | null,
    documentFields: row.documentFields ?? {},
    mayCloseNetwork: row.mayCloseNetwork ?? true,
  };
}
