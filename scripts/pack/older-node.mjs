import { createRequire } from "node:module";

// What Node 20 does not have and the client or a function worker uses. The bundler puts these in the place of the names that they stand for, so
// no source may have a function of the same name.
export const standIns = {
  "Map.groupBy": "standInForGroupBy",
  "Promise.withResolvers": "standInForWithResolvers",
  "URL.parse": "standInForParse",
  "process.getBuiltinModule": "standInForGetBuiltinModule",
};

export function standInForGroupBy(items, keyOf) {
  const groups = new Map();
  let index = 0;
  for (const item of items) {
    const key = keyOf(item, index++);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

export function standInForWithResolvers() {
  let resolve;
  let reject;
  const promise = new Promise((whenDone, whenFailed) => {
    resolve = whenDone;
    reject = whenFailed;
  });
  return { promise, resolve, reject };
}

export function standInForParse(text, base) {
  return URL.canParse(text, base) ? new URL(text, base) : null;
}

export function standInForGetBuiltinModule(name) {
  return createRequire(import.meta.url)(name);
}
