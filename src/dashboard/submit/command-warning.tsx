import { Icon } from "../parts/icon.tsx";
import { shellSigns } from "./shell-signs.ts";
import { joinWords } from "./shell-words.ts";

/** Warns of shell syntax in a command, which runs without a shell, and offers to add one. */
export function CommandWarning({ line, onChange }: { line: string; onChange: (line: string) => void }) {
  const signs = shellSigns(line);
  if (signs.length === 0) return null;
  return (
    <div className="warning-note" role="status">
      <Icon name="warning" />
      <span>
        No shell reads this command: the program gets {listed(signs)} as written.{" "}
        <button
          type="button"
          className="link-button"
          onClick={() => onChange(joinWords(["sh", "-c", line.trim()]))}
        >
          Run it with sh -c
        </button>
      </span>
    </div>
  );
}

function listed(signs: readonly string[]): string {
  const shown = signs.slice(0, 3).join("  ");
  return signs.length > 3 ? `${shown} and more` : shown;
}
