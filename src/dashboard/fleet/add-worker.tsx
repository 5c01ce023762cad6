import { useState } from "react";
import { workerId } from "../../contract/shapes/fields.ts";
import { errorText } from "../hub/call-hub.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { useWorkers } from "../hub/workers.ts";
import { Icon } from "../parts/icon.tsx";
import { Command } from "../parts/notices.tsx";
import { programName } from "../parts/program-name.ts";
import { StateIcon } from "../parts/state.tsx";
import { askFirst } from "../shell/confirm.tsx";
import { downloadText, makeWorkerFile } from "./worker-file.ts";

/** Makes the file of a new worker, shows how to start it, and waits for its first heartbeat. */
export function showAddWorker(): void {
  askFirst({ title: "Add a worker", body: <AddWorker />, acts: [], keep: "Done" });
}

function AddWorker() {
  const [name, setName] = useState("worker-1");
  const [url, setUrl] = useState(location.origin);
  const may = mayOf(usePerson());
  const workers = useWorkers(true).data ?? [];
  const [before] = useState(() => new Set(workers.map(({ id }) => id)));
  const isTaken = before.has(name);
  const nameProblem = isTaken
    ? "there is already a worker of this name"
    : workerId.safeParse(name).error?.issues[0]?.message;
  const urlProblem = /^https?:\/\/[^/\s]+$/.test(url) ? undefined : "must be https://host:port";
  const isFine = nameProblem === undefined && urlProblem === undefined;
  return (
    <div className="add-worker">
      <p>A worker connects to the hub; its machine needs no open port.</p>
      <div className="two-fields">
        <Field label="Name" value={name} problem={nameProblem} onChange={setName} />
        <Field label="The hub, as that machine sees it" value={url} problem={urlProblem} onChange={setUrl} />
      </div>
      <p>
        <b>1</b> Make its file. It contains a token that is shown nowhere else.
      </p>
      {may.administerHub ? <MakeFile name={name} url={url} isFine={isFine} /> : null}
      <p className="dim small-text">
        {may.administerHub ? "Or on the hub’s machine:" : "On the hub’s machine:"}
      </p>
      <Command text={`${programName("writ")} workers add ${name} --url ${url} --out ${name}.yaml`} />
      <p>
        <b>2</b> Copy it to the worker’s machine over a secure channel, keep it at mode 0600, and start the
        worker there.
      </p>
      <Command text={`chmod 600 ${name}.yaml && ${programName("writ")} worker --config ${name}.yaml`} />
      <Arrival name={name} isTaken={isTaken} slots={workers.find(({ id }) => id === name)?.slots} />
    </div>
  );
}

type FieldProps = {
  label: string;
  value: string;
  problem: string | undefined;
  onChange: (value: string) => void;
};

function Field({ label, value, problem, onChange }: FieldProps) {
  return (
    <label className="typed">
      {label}
      <span className={problem === undefined ? "field" : "field wrong"}>
        <input
          value={value}
          spellCheck={false}
          autoComplete="off"
          aria-invalid={problem !== undefined}
          onChange={(event) => onChange(event.target.value.trim())}
        />
      </span>
      {problem === undefined ? null : <span className="problem">{problem}</span>}
    </label>
  );
}

function MakeFile({ name, url, isFine }: { name: string; url: string; isFine: boolean }) {
  const [made, setMade] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    try {
      downloadText(`${name}.yaml`, await makeWorkerFile({ name, url }));
      setMade(name);
      setProblem(null);
    } catch (error) {
      setProblem(errorText(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="row">
      <button
        type="button"
        className="button main"
        disabled={!isFine || isBusy || made === name}
        onClick={() => void make()}
      >
        <Icon name="download" />
        Make {name}.yaml
      </button>
      <span className="dim small-text" role="status">
        {problem ?? (made === name ? "Downloaded. Making it again would need another name." : "")}
      </span>
    </div>
  );
}

function Arrival({ name, isTaken, slots }: { name: string; isTaken: boolean; slots: number | undefined }) {
  const isHere = slots !== undefined && !isTaken;
  return (
    <div className="say" data-state={isHere ? "completed" : "pending"} role="status">
      <StateIcon state={isHere ? "completed" : "running"} />
      <span>
        {isHere ? (
          <>
            <b>{name}</b> is here with {slots} slots.
          </>
        ) : isTaken ? (
          <>
            There is already a worker <b>{name}</b>; choose another name.
          </>
        ) : (
          <>
            Waiting for the first heartbeat of <b>{name}</b> … You may close this.
          </>
        )}
      </span>
    </div>
  );
}
