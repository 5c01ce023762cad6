import { actNames } from "../../src/store/act-names.ts";
import type { Store } from "../../src/store/store.ts";
import { type StoreUnderTest, type Tamper, tamperVerbs } from "./under-test.ts";

type Parts = Partial<Omit<StoreUnderTest, "open" | "tamper">> & {
  open(): Promise<Partial<Store>>;
  tamper?: Partial<Tamper>;
};

/** A driver that is still being written. What it does not implement rejects by name, so that its tests fail by name. */
export function partialUnderTest({ open, tamper = {}, ...rest }: Parts): StoreUnderTest {
  return {
    open: async () => partialStore(await open()),
    openAuditReader: () => Promise.reject(missing("openAuditReader")),
    remove: async () => {},
    ...rest,
    tamper: { ...rejections(tamperVerbs), ...tamper },
  };
}

function partialStore(acts: Partial<Store>): Store {
  const life = { onCommit: () => () => {}, close: async () => {} };
  return { ...rejections(actNames), ...life, ...acts };
}

function rejections<Name extends string>(names: readonly Name[]): Record<Name, () => Promise<never>> {
  const reject = (name: Name) => [name, () => Promise.reject(missing(name))] as const;
  return Object.fromEntries(names.map(reject)) as Record<Name, () => Promise<never>>;
}

/** Without a code, so that no test takes it for a refusal that it expects. */
function missing(name: string): Error {
  return new Error(`the driver does not implement ${name}`);
}
