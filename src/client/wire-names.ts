/** `max_attempts` as a name of this library's options: `maxAttempts`. */
type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail> & string>}`
  : Name;

/** The same fields with names of this library's style. What a field holds is as the hub reads it. */
export type CamelKeys<T> = { [K in keyof T as CamelCase<K>]: T[K] };

/** The fields under the names that the hub reads. A name that already has that form stays as it is. */
export function wireNames(options: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [wireName(name), value]));
}

function wireName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The other way round: `maxAttempts` for `max_attempts`. */
export function optionName(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
