import { readFileSync } from "node:fs";
import { join } from "node:path";

export type ImportGraph = { files: string[]; modules: string[]; bytes: number; text: string };

/** Everything that is loaded with an entry point of the package; with `onDemand`, also what it may load later. */
export function readImports(lib: string, entry: string, { onDemand }: { onDemand: boolean }): ImportGraph {
  const waiting = [entry];
  const files = new Set(waiting);
  const modules = new Set<string>();
  let text = "";
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    const source = readFileSync(join(lib, file), "utf8");
    text += source;
    for (const name of namesIn(source, onDemand)) {
      if (!name.startsWith("./")) modules.add(name);
      else if (!files.has(name.slice(2))) {
        files.add(name.slice(2));
        waiting.push(name.slice(2));
      }
    }
  }
  return { files: [...files], modules: [...modules].sort(), bytes: Buffer.byteLength(text), text };
}

function namesIn(source: string, onDemand: boolean): string[] {
  const statements = /^(?:import|export)\b[^"'()]*?(?:\bfrom\s*)?"([^"\n]+)";/gm;
  const calls = /\bimport\("([^"\n]+)"\)/g;
  const names = [...source.matchAll(statements)].map(([, name]) => name!);
  return onDemand ? [...names, ...[...source.matchAll(calls)].map(([, name]) => name!)] : names;
}
