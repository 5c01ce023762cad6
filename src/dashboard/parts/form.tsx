import { type ReactNode, useId } from "react";
import type { z } from "zod";
import { Store, useStore } from "../hub/store.ts";

type Texts = Record<string, string>;

/** What a person has typed so far, and what is wrong with each field of it. */
export type Draft = { values: Store<Texts>; problems: Store<Texts> };

export function newDraft(values: Texts): Draft {
  return { values: new Store(values), problems: new Store<Texts>({}) };
}

/** Whether the value has the contract's shape; if not, each wrong field shows its problem. */
export function isRight(draft: Draft, shape: z.ZodType, value: unknown): boolean {
  const { success, error } = shape.safeParse(value);
  const problems: Texts = {};
  for (const { path, message } of error?.issues ?? []) problems[String(path[0] ?? "")] ??= message;
  draft.problems.set(problems);
  return success;
}

type FieldProps = { draft: Draft; name: string; label: string };

export function TextField(
  props: FieldProps & {
    hint?: (value: string) => ReactNode;
    placeholder?: string;
    isNumber?: boolean;
    isFirst?: boolean;
    isFixed?: boolean;
  },
) {
  const { draft, name, label, hint, placeholder, isNumber = false, isFirst = false, isFixed = false } = props;
  const value = useStore(draft.values)[name] ?? "";
  const problem = useStore(draft.problems)[name];
  const id = useId();
  const note = problem ?? hint?.(value);
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={value}
        placeholder={placeholder}
        inputMode={isNumber ? "numeric" : undefined}
        disabled={isFixed}
        data-first={isFirst ? "" : undefined}
        aria-invalid={problem !== undefined}
        aria-describedby={note === undefined ? undefined : `${id}-note`}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => change(draft, name, event.target.value)}
      />
      {note === undefined ? null : (
        <small id={`${id}-note`} className={problem === undefined ? undefined : "problem"}>
          {note}
        </small>
      )}
    </div>
  );
}

export function ChoiceField(props: FieldProps & { choices: readonly (readonly [string, string])[] }) {
  const { draft, name, label, choices } = props;
  const id = useId();
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={useStore(draft.values)[name] ?? ""}
        onChange={(event) => change(draft, name, event.target.value)}
      >
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

function change({ values, problems }: Draft, name: string, value: string): void {
  values.set({ ...values.get(), [name]: value });
  const { [name]: _, ...others } = problems.get();
  problems.set(others);
}
