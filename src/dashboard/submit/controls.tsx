import type { RunField } from "./submission.ts";

export const fieldLabels: Record<string, string> = {
  type: "Type",
  priority: "Priority, 1 to 10",
  max_attempts: "Attempts",
  timeout_sec: "Seconds for each attempt",
  cpu: "Cores",
  memory: "Memory",
  pids: "Processes",
  network: "Network",
  tags: "Tags that the worker must have",
  execution_location: "Location",
  argv: "Command",
  worker_command: "Command that starts the worker",
  env: "Environment",
  cwd: "Folder",
  stdin: "Standard input",
  secrets: "Secrets, by name",
  params: "Parameters",
  job_input: "Input",
  url: "Address of the program",
  checksum: "SHA-256 of the program",
  port: "Port",
  container: "Container",
  agent: "Agent",
  prompt: "Prompt",
  expected_artifacts: "Files that the agent must leave",
  idle_timeout_sec: "Seconds without output until it is stopped",
  mode: "Mode",
  collect: "Files to keep, as patterns",
};

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
  isRequired,
  onChange,
}: FieldProps) {
  const common = {
    value,
    "aria-invalid": problem !== undefined,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  return (
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
        <textarea {...common} rows={2} placeholder={placeholder} spellCheck={false} className="mono" />
      ) : (
        <input {...common} placeholder={placeholder} spellCheck={false} autoComplete="off" />
      )}
      {problem === undefined ? (
        hint === undefined ? null : (
          <small className="dimmer">{hint}</small>
        )
      ) : (
        <small className="problem">{problem}</small>
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
