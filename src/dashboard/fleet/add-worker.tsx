import { useState } from "react";
import { useWorkers } from "../hub/workers.ts";
import { Command } from "../parts/notices.tsx";
import { StateIcon } from "../parts/state.tsx";
import { askFirst } from "../shell/confirm.tsx";

/** Shows the two commands that add a worker, and waits for its first heartbeat. */
export function showAddWorker(): void {
  askFirst({ title: "Add a worker", body: <AddWorker />, acts: [], keep: "Done" });
}

function AddWorker() {
  const [name, setName] = useState("worker-1");
  const workers = useWorkers(true).data ?? [];
  const [before] = useState(() => new Set(workers.map(({ id }) => id)));
  const known = workers.find(({ id }) => id === name);
  const isNew = known !== undefined && !before.has(name);
  const isNameFine = /^[A-Za-z0-9._:@-]{1,100}$/.test(name);
  return (
    <div className="add-worker">
      <p>A worker connects to the hub; its machine needs no open port.</p>
      <label className="typed">
        Name
        <span className={isNameFine ? "field" : "field wrong"}>
          <input
            value={name}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => setName(event.target.value)}
          />
        </span>
      </label>
      <p>
        <b>1</b> On the hub’s machine, make its file. It contains a token that is shown nowhere else.
      </p>
      <Command text={`bin/writ workers add ${name} --url ${location.origin} --out ${name}.yaml`} />
      <p>
        <b>2</b> Copy the file to the worker’s machine over a secure channel, keep it at mode 0600, and start
        the worker there.
      </p>
      <Command text={`bin/writ worker --config ${name}.yaml`} />
      <div className="say" data-state={isNew ? "completed" : "pending"} role="status">
        <StateIcon state={isNew ? "completed" : "running"} />
        <span>
          {isNew ? (
            <>
              <b>{name}</b> is here with {known.slots} slots.
            </>
          ) : known === undefined ? (
            <>
              Waiting for the first heartbeat of <b>{name}</b> …
            </>
          ) : (
            <>
              There is already a worker <b>{name}</b>; choose another name.
            </>
          )}
        </span>
      </div>
    </div>
  );
}
