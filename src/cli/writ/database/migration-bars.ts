import type { MigrationProgress } from "../../../hub/admin.ts";
import type { CliContext } from "../../context.ts";
import { ProgressBar } from "../../terminal/progress-bar.ts";

const phases: Record<MigrationProgress["phase"], { what: string; unit: "rows" | "jobs" }> = {
  copy: { what: "copying", unit: "rows" },
  outputs: { what: "copying output", unit: "rows" },
  verify: { what: "comparing", unit: "rows" },
  answers: { what: "comparing jobs", unit: "jobs" },
};

/** Shows how far a database that is copied and compared has come: a bar for each phase. */
export class MigrationBars {
  readonly #context: CliContext;
  #bar: { phase: string; line: ProgressBar } | null = null;

  constructor(context: CliContext) {
    this.#context = context;
  }

  show({ phase, total, done }: MigrationProgress): void {
    if (this.#bar?.phase !== phase) {
      this.end();
      this.#bar = { phase, line: new ProgressBar(this.#context, { ...phases[phase], total }) };
    }
    this.#bar.line.show(done);
  }

  /** Removes the bar. */
  end(): void {
    this.#bar?.line.end();
    this.#bar = null;
  }
}
