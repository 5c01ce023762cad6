import { useId } from "react";
import { fieldLabels } from "./field-labels.ts";
import type { RunField } from "./submission.ts";

const placeholders: Record<string, string> = {
  words: "python3 -m tiles build --zoom 0-14",
  list: "NAME, OTHER",
  pairs: "NAME=value",
  json: '{ "src": "catalog/1.png" }',
};

type FieldProps = {
  label: string;
  value: string;
  problem?: string | undefined;
  hint?: string | undefined;
  placeholder?: string;
  options?: readonly string[];
  isLong?: boolean;
  /** A date and a time, by the clock of the browser. */
  isMoment?: boolean;
  isRequired?: boolean;
  onChange: (value: string) => void;
};

export function Field({
  label,
  value,
  problem,
  hint,
  placeholder,
  options,
  isLong,
  isMoment,
  isRequired,
  onChange,
}: FieldProps) {
  const noteId = useId();
  const common = {
    value,
    "aria-invalid": problem !== undefined,
    "aria-describedby": problem === undefined && hint === undefined ? undefined : noteId,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is one of the following, inside the label
    <label>
      <span>
        {label}
        {isRequired ? <span className="dimmer"> required</span> : null}
      </span>
      {options !== undefined ? (
        <select {...common}>
          <option value="">as the hub decides</option>
          {options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      ) : isLong ? (
        <textarea
          {...common}
          rows={Math.min(12, Math.max(2, value.split("\n").length))}
          placeholder={placeholder}
          spellCheck={false}
          className="mono"
        />
      ) : (
        <input
          {...common}
          type={isMoment ? "datetime-local" : "text"}
          placeholder={placeholder}
          spellCheck={false}
          autoComplete="off"
        />
      )}
      {problem === undefined ? (
        hint === undefined ? null : (
          <small className="dimmer" id={noteId}>
            {hint}
          </small>
        )
      ) : (
        <small className="problem" id={noteId}>
          {problem}
        </small>
      )}
    </label>
  );
}

export function RunControl({
  field,
  ...rest
}: {
  field: RunField;
  value: string;
  problem: string | undefined;
  onChange: (value: string) => void;
}) {
  const isLong =
    field.control === "words" ||
    field.control === "json" ||
    field.control === "pairs" ||
    field.control === "base64" ||
    field.name === "prompt";
  return (
    <Field
      {...rest}
      label={fieldLabels[field.name] ?? field.name}
      placeholder={(field.name === "collect" ? "reports/**, *.txt" : placeholders[field.control]) ?? ""}
      isLong={isLong}
      isRequired={field.isRequired}
    />
  );
}
