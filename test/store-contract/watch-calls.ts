import type { StoreUnderTest } from "./under-test.ts";

/** The same driver under test; `hear` is told the name of each method and each verb that is called. */
export function watchCalls(under: StoreUnderTest, hear: (name: string) => void): StoreUnderTest {
  return watched(
    { ...under, open: async () => watched(await under.open(), hear), tamper: watched(under.tamper, hear) },
    hear,
  );
}

function watched<T extends object>(target: T, hear: (name: string) => void): T {
  const get = (_: T, name: string) => {
    const value = target[name as keyof T];
    if (typeof value !== "function") return value;
    return (...args: unknown[]) => {
      hear(name);
      return value.apply(target, args);
    };
  };
  return new Proxy(target, { get } as ProxyHandler<T>);
}
