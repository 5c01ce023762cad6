type X509Library = typeof import("@peculiar/x509");

let loaded: Promise<X509Library> | undefined;

/**
 * Loaded only when a certificate has to be made: most starts make none, and loading takes a tenth of a second.
 * Why: ADR 0012.
 */
export function x509Library(): Promise<X509Library> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<X509Library> {
  provideMetadata();
  const library = await import("@peculiar/x509");
  library.cryptoProvider.set(globalThis.crypto);
  return library;
}

type Metadata = Map<unknown, unknown>;
type MetadataReflect = {
  getMetadata?: (key: unknown, target: object) => unknown;
  getOwnMetadata?: (key: unknown, target: object) => unknown;
  defineMetadata?: (key: unknown, value: unknown, target: object) => void;
};

/**
 * The library's dependency container needs the decorator metadata of an old proposal and will not load without it,
 * although it stores nothing there. These three functions are all that it uses.
 */
function provideMetadata(): void {
  const reflect = Reflect as MetadataReflect;
  if (reflect.getMetadata !== undefined) return;
  const known = new WeakMap<object, Metadata>();
  const get = (key: unknown, target: object) => known.get(target)?.get(key);
  reflect.getOwnMetadata = get;
  reflect.getMetadata = get;
  reflect.defineMetadata = (key, value, target) => {
    const own = known.get(target) ?? new Map();
    own.set(key, value);
    known.set(target, own);
  };
}
