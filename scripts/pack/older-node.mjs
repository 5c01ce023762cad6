import { createRequire } from "node:module";

// What Node 20 does not have and the client uses. The bundler puts these in the place of the names that they stand for, so
// no source may have a function of the same name.
export const standIns = {
  "Promise.withResolvers": "standInForWithResolvers",
  "URL.parse": "standInForParse",
  "process.getBuiltinModule": "standInForGetBuiltinModule",
};

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
