import { type FormEvent, useEffect, useState } from "react";
import { kindNames, type RunKind } from "../../contract/kinds.ts";
import { routes } from "../../contract/routes.ts";
import type { JobView } from "../../contract/view-shapes.ts";
import { executionLocations } from "../../core/document.ts";
import { networks } from "../../core/limits.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import { shortId } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { ErrorBand } from "../parts/notices.tsx";
import { useKeys } from "../shell/keys.ts";
import { go, usePlace } from "../shell/router.ts";
import { showToast } from "../shell/toasts.tsx";
import { Field, fieldLabels, RunControl } from "./controls.tsx";
import { type Draft, draftOf, emptyDraft, readDraft, runFields } from "./submission.ts";

/** A form that is made from the shapes of the contract: what it accepts, the hub accepts. */
export function SubmitPage() {
  const from = usePlace().query.get("from");
  const [draft, setDraft] = useState<Draft | null>(from === null ? emptyDraft() : null);
  const [source, setSource] = useState<JobView | null>(null);
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    if (from === null) return;
    callHub(routes.getJob, { params: { id: from } }).then(({ body }) => {
      setSource(body);
      setDraft(withMoreMemory(body));
    }, setError);
  }, [from]);
  return (
    <>
      <div className="top">
        <nav className="crumb" aria-label="Where this is">
          <a href="/jobs">Jobs</a>
          <span>/</span>
          <h1>{source === null ? "Submit a job" : `Submit a copy of ${shortId(source.id)}`}</h1>
        </nav>
      </div>
      <div className="page">
        <ErrorBand error={error} />
        {draft === null ? null : <SubmitForm draft={draft} setDraft={setDraft} source={source} />}
      </div>
    </>
  );
}

/** A job that ran out of memory is proposed with twice as much. */
function withMoreMemory(job: JobView): Draft {
  const draft = draftOf(job);
  const [, number, unit] = /^(\d+)([KMGT])$/.exec(draft.fields.memory) ?? [];
  if (job.fail_detail !== "OOM_KILLED" || number === undefined) return draft;
  return { ...draft, fields: { ...draft.fields, memory: `${Number(number) * 2}${unit}` } };
}

type FormProps = { draft: Draft; setDraft: (draft: Draft) => void; source: JobView | null };

function SubmitForm({ draft, setDraft, source }: FormProps) {
  const [isTried, setTried] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const { body, job, problems } = readDraft(draft);
  const problemAt = (path: string) =>
    isTried
      ? problems.find((problem) => problem.path === path || problem.path.startsWith(`${path}.`))?.message
      : undefined;
  const setField = (name: keyof Draft["fields"], value: string) =>
    setDraft({ ...draft, fields: { ...draft.fields, [name]: value } });
  const field = (name: keyof Draft["fields"], path: string = name) => ({
    label: fieldLabels[name] ?? name,
    value: draft.fields[name],
    problem: problemAt(path),
    onChange: (value: string) => setField(name, value),
  });
  const submit = async (event?: FormEvent) => {
    event?.preventDefault();
    setTried(true);
    if (job === null) return;
    try {
      const { body: accepted } = await callHub(routes.submitJob, { body: body as { type: string } });
      showToast({ icon: "check", text: "Accepted and durable", note: accepted.id });
      go(`/jobs/${accepted.id}`);
    } catch (error) {
      setRefusal(errorText(error));
    }
  };
  useKeys({ "ctrl+enter": () => void submit() });
  return (
    <form className="submit-columns" onSubmit={(event) => void submit(event)}>
      <div className="stack">
        <section className="panel form">
          <h2>What</h2>
          <Field {...field("type")} placeholder="image.resize" />
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
            <RunControl
              key={one.name}
              field={one}
              value={draft.run[one.name] ?? ""}
              problem={problemAt(`run.${one.name}`)}
              onChange={(value) => setDraft({ ...draft, run: { ...draft.run, [one.name]: value } })}
            />
          ))}
        </section>
        <section className="panel form form-grid">
          <h2>How</h2>
          <Field {...field("memory", "limits.memory")} placeholder="512M" hint={memoryHint(source)} />
          <Field {...field("cpu", "limits.cpu")} placeholder="2" />
          <Field {...field("pids", "limits.pids")} placeholder="512" />
          <Field {...field("network", "limits.network")} options={networks} />
          <Field {...field("timeout_sec")} placeholder="300" />
          <Field {...field("max_attempts")} placeholder="3" />
          <Field {...field("priority")} placeholder="5" />
        </section>
        <section className="panel form form-grid">
          <h2>Where</h2>
          <Field {...field("tags", "requires.tags")} placeholder="gpu, ssd" />
          <Field {...field("execution_location")} options={executionLocations} />
        </section>
      </div>
      <div className="stack">
        <section className="panel">
          <header>
            <h2>Request</h2>
            <span className="grow">what is sent to POST /jobs</span>
          </header>
          <pre className="request mono">{JSON.stringify(body, null, 2)}</pre>
        </section>
        {isTried && problems.length > 0 ? (
          <ul className="problems" role="alert">
            {problems.map(({ path, message }) => (
              <li key={path + message}>
                <Icon name="warning" />
                <span>
                  <b className="strong">{path}</b> {message}
                </span>
              </li>
            ))}
          </ul>
        ) : null}
        {refusal === null ? null : (
          <p className="problem" role="alert">
            {refusal}
          </p>
        )}
        <div className="row">
          <button type="submit" className="button main">
            Submit
            <kbd className="not-phone">Ctrl ↵</kbd>
          </button>
          <a className="button" href="/jobs">
            Discard
          </a>
        </div>
      </div>
    </form>
  );
}

function memoryHint(source: JobView | null): string | undefined {
  if (source?.fail_detail !== "OOM_KILLED" || source.limits?.memory === undefined) return undefined;
  return `${source.limits.memory} was not enough; twice as much is proposed`;
}
