import { type FormEvent, useEffect, useRef, useState } from "react";
import { kindNames, type RunKind } from "../../contract/kinds.ts";
import { pageRoutes } from "../../contract/routes/page-routes.ts";
import type { JobView } from "../../contract/shapes/view-shapes.ts";
import { defaultTenant } from "../../core/identity.ts";
import { executionLocations } from "../../core/jobs/document.ts";
import { networks } from "../../core/limits.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { usePerson } from "../hub/session.ts";
import { durationText } from "../parts/format.ts";
import { useKeys } from "../shell/keys.ts";
import { go } from "../shell/router.ts";
import { showToast } from "../shell/toasts.tsx";
import { CommandWarning } from "./command-warning.tsx";
import { Field, RunControl } from "./controls.tsx";
import { fieldLabels } from "./field-labels.ts";
import { InputsField } from "./inputs-field.tsx";
import { RequestPanel } from "./request-panel.tsx";
import { type Draft, type Problems, readDraft, runFields } from "./submission.ts";
import type { InputFile } from "./upload-input.ts";

type Props = { draft: Draft; setDraft: (draft: Draft) => void; source: JobView | null };
type SectionProps = Props & { problemAt: (path: string) => string | undefined };

export function SubmitForm({ draft, setDraft, source }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const { body, shown, refusal, tries, submit } = useSubmit(draft);
  // After a refusal, the focus goes to the first wrong field.
  useEffect(() => {
    if (tries > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [tries]);
  useKeys({ "ctrl+enter": () => void submit() });
  const problemAt = (path: string) =>
    shown.find((problem) => problem.path === path || problem.path.startsWith(`${path}.`))?.message;
  const section = { draft, setDraft, source, problemAt };
  return (
    <form
      ref={form}
      className="submit-columns"
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div className="stack">
        <What {...section} />
        <How {...section} />
        <Where {...section} />
      </div>
      <RequestPanel body={body} problems={shown} refusal={refusal} />
    </form>
  );
}

/** Problems are shown after the first try to submit, not while the person still types. */
function useSubmit(draft: Draft) {
  const [tries, setTries] = useState(0);
  const [refusal, setRefusal] = useState<string | null>(null);
  const { body, job, problems } = readDraft(draft);
  const shown: Problems = tries > 0 ? problems : [];
  const submit = async () => {
    setRefusal(null);
    if (job === null) {
      setTries(tries + 1);
      return;
    }
    try {
      const { body: accepted } = await callHub(pageRoutes.submitJob, { body: body as { type: string } });
      showToast({ icon: "check", text: "Accepted and durable", note: accepted.id });
      go(`/jobs/${accepted.id}`);
    } catch (error) {
      setRefusal(errorText(error));
    }
  };
  return { body, shown, refusal, tries, submit };
}

function What({ draft, setDraft, problemAt }: SectionProps) {
  const setRun = (name: string, value: string) =>
    setDraft({ ...draft, run: { ...draft.run, [name]: value } });
  const files = (draft.files["inputs"] as InputFile[] | undefined) ?? [];
  const setFiles = ({ inputs: _, ...others }: Draft["files"], next: InputFile[]) =>
    setDraft({ ...draft, files: next.length === 0 ? others : { ...others, inputs: next } });
  return (
    <section className="panel form">
      <h2>What</h2>
      <Field {...fieldProps({ draft, setDraft, problemAt }, "type")} placeholder="image.resize" isRequired />
      <label>
        Kind
        <select
          value={draft.kind}
          onChange={(event) => setDraft({ ...draft, kind: event.target.value as RunKind })}
        >
          {kindNames.map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </select>
      </label>
      {runFields(draft.kind).map((one) => (
        <div className="stack-tight" key={one.name}>
          <RunControl
            field={one}
            value={draft.run[one.name] ?? ""}
            problem={problemAt(`run.${one.name}`)}
            onChange={(value) => setRun(one.name, value)}
          />
          {one.control === "words" ? (
            <CommandWarning line={draft.run[one.name] ?? ""} onChange={(line) => setRun(one.name, line)} />
          ) : null}
        </div>
      ))}
      <InputsField
        files={files}
        problem={problemAt("run.inputs")}
        onChange={(next) => setFiles(draft.files, next)}
      />
    </section>
  );
}

function How({ draft, setDraft, source, problemAt }: SectionProps) {
  const field = (name: keyof Draft["fields"], path?: string) =>
    fieldProps({ draft, setDraft, problemAt }, name, path);
  return (
    <section className="panel form form-grid">
      <h2>How</h2>
      <Field {...field("memory", "limits.memory")} placeholder="512M" hint={memoryHint(source)} />
      <Field {...field("cpu", "limits.cpu")} placeholder="2" />
      <Field {...field("pids", "limits.pids")} placeholder="512" />
      <Field {...field("network", "limits.network")} options={networks} />
      <Field {...field("timeout_sec")} placeholder="300" />
      <Field {...field("max_attempts")} placeholder="3" />
      <Field {...field("priority")} placeholder="5" />
      <Field {...field("run_at")} isMoment hint={startHint(draft.fields.run_at)} />
    </section>
  );
}

function Where({ draft, setDraft, problemAt }: SectionProps) {
  const { tenant_id } = usePerson();
  const field = (name: keyof Draft["fields"], path?: string) =>
    fieldProps({ draft, setDraft, problemAt }, name, path);
  return (
    <section className="panel form form-grid">
      <h2>Where</h2>
      <Field {...field("tags", "requires.tags")} placeholder="gpu, ssd" />
      <Field {...field("execution_location")} options={executionLocations} />
      <p className="form-fact">
        <span className="form-label">Tenant</span>
        <span className="mono">{tenant_id ?? defaultTenant}</span>
        <small className="dimmer">
          {tenant_id === null
            ? "Your token decides this, not the form, and it has no tenant: for another one, sign in with a token of it."
            : "Your token decides this, not the form."}
        </small>
      </p>
    </section>
  );
}

function fieldProps(
  { draft, setDraft, problemAt }: Pick<SectionProps, "draft" | "setDraft" | "problemAt">,
  name: keyof Draft["fields"],
  path: string = name,
) {
  return {
    label: fieldLabels[name] ?? name,
    value: draft.fields[name],
    problem: problemAt(path),
    onChange: (value: string) => setDraft({ ...draft, fields: { ...draft.fields, [name]: value } }),
  };
}

function memoryHint(source: JobView | null): string | undefined {
  if (source?.fail_detail !== "OOM_KILLED" || source.limits?.memory === undefined) return undefined;
  return `${source.limits.memory} was not enough; twice as much is proposed`;
}

function startHint(text: string): string | undefined {
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  const waitMs = at - Date.now();
  return waitMs <= 0
    ? "is past: it starts at once"
    : `in ${durationText(waitMs)}, by the clock of this browser`;
}
