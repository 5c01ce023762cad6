import { parseArgs } from "node:util";

const stores = ["sqlite", "postgres"] as const;
export type StoreName = (typeof stores)[number];

export type BenchOptions = {
  peers: boolean;
  /** JSON lines on stdout instead of the table. */
  json: boolean;
  /** Keeps the results in bench/results, from where `npm run bench -- report` reads them. */
  save: boolean;
  rounds: number;
  jobs: number | undefined;
  /** What the hub keeps its jobs in. */
  store: StoreName;
  /** Only these, by the beginning of their names; everything if it is empty. */
  figures: string[];
  rivals: string[];
  positionals: string[];
};

const roundsMax = 100;
const jobsMax = 10_000_000;

/** The options that all benchmarks share. A wrong one ends the program with one line. */
export function readOptions(): BenchOptions {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        peers: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        save: { type: "boolean", default: false },
        rounds: { type: "string", default: "3" },
        jobs: { type: "string" },
        store: { type: "string", default: "sqlite" },
        figures: { type: "string", default: "" },
        rivals: { type: "string", default: "" },
      },
    });
    return {
      peers: values.peers,
      json: values.json,
      save: values.save,
      rounds: integer("--rounds", values.rounds, roundsMax),
      jobs: values.jobs === undefined ? undefined : integer("--jobs", values.jobs, jobsMax),
      store: storeOf(values.store),
      figures: values.figures.split(",").filter(Boolean),
      rivals: values.rivals.split(",").filter(Boolean),
      positionals,
    };
  } catch (error) {
    console.error(`bench: ${(error as Error).message}`);
    process.exit(2);
  }
}

function storeOf(text: string): StoreName {
  const found = stores.find((name) => name === text);
  if (found === undefined)
    throw new Error(`--store: ${JSON.stringify(text)} is not a store; use ${stores.join(", ")}`);
  return found;
}

function integer(flag: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw new Error(`${flag}: ${JSON.stringify(text)} is not a whole number from 1 to ${max}`);
}
