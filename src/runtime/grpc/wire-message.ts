/**
 * Messages of protobuf, read and written by the tables that buf makes of the proto files (`src/contract/gen`). The usual
 * library builds descriptors in every process, which takes a short command half as long as starting Node.
 * Why: ADR 0115.
 */
type ScalarTypes = {
  string: string;
  bytes: Uint8Array;
  bool: boolean;
  int32: number;
  uint32: number;
  /** A number of 64 bits is exact up to 2^53, as everywhere else in Writ. */
  int64: number;
  uint64: number;
  double: number;
};
type ScalarKind = keyof ScalarTypes;
type Presence = {
  number: number;
  /** By default a single value, which is not sent if it is empty. */
  count?: "optional" | "repeated";
};
export type EnumTable = { readonly [name: string]: number };
export type WireField =
  | (Presence & { kind: ScalarKind })
  // From texts to texts.
  | (Presence & { kind: "map" })
  | (Presence & { kind: "enum"; of: EnumTable })
  | (Presence & { kind: "message"; of: WireMessage });

/** The fields of a message by their names in the proto file. */
export type WireMessage = { readonly [name: string]: WireField };

type ValueOf<F> = F extends { kind: infer K extends ScalarKind }
  ? ScalarTypes[K]
  : F extends { kind: "enum"; of: infer E }
    ? Extract<keyof E, string> | number
    : F extends { kind: "message"; of: infer M }
      ? MessageOf<M>
      : Record<string, string>;

/** A message as it is read. What was not sent has its empty value; an unknown value of an enumeration is its number. */
export type MessageOf<M> = {
  -readonly [N in keyof M]: M[N] extends { count: "repeated" }
    ? ValueOf<M[N]>[]
    : M[N] extends { count: "optional" } | { kind: "message" }
      ? ValueOf<M[N]> | undefined
      : ValueOf<M[N]>;
};

/** A message to be written: what is undefined or null is left out. */
export type MessageInit<M> = {
  readonly [N in keyof M]?:
    | (M[N] extends { kind: "message"; of: infer S; count: "repeated" }
        ? readonly MessageInit<S>[]
        : M[N] extends { kind: "message"; of: infer S }
          ? MessageInit<S>
          : M[N] extends { count: "repeated" }
            ? readonly ValueOf<M[N]>[]
            : ValueOf<M[N]>)
    | null
    | undefined;
};

/** How a value is sent. */
export const wireTypes = { varint: 0, eightBytes: 1, withLength: 2, fourBytes: 5 } as const;
export const doubleBytes = 8;
/** Seven bits in each byte. */
export const varintBytesMax = 10;

/** One entry of a map. Both are sent even if they are empty. */
export const mapEntry = {
  key: { number: 1, kind: "string", count: "optional" },
  value: { number: 2, kind: "string", count: "optional" },
} as const satisfies WireMessage;
