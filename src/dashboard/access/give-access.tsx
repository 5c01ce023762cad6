import { type FormEvent, useState } from "react";
import { tokenRequest } from "../../contract/admin-shapes.ts";
import { routes } from "../../contract/routes.ts";
import { type Role, roles } from "../../core/identity.ts";
import { callHub, errorText } from "../hub/call-hub.ts";
import type { Person } from "../hub/session.ts";
import { Command } from "../parts/notices.tsx";
import { askFirst } from "../shell/confirm.tsx";

const lifetimes = [
  { label: "30 days", sec: 30 * 86_400 },
  { label: "1 year", sec: 365 * 86_400 },
  { label: "until it is revoked", sec: null },
];

/** Makes a token. The secret is shown once, here. */
export function showGiveAccess(person: Person, onDone: () => void): void {
  askFirst({
    title: "Give access",
    body: <GiveAccess person={person} onDone={onDone} />,
    acts: [],
    keep: "Done",
  });
}

function GiveAccess({ person, onDone }: { person: Person; onDone: () => void }) {
  const [role, setRole] = useState<Role>("user");
  const [user, setUser] = useState("");
  const [tenant, setTenant] = useState(person.tenant_id ?? "");
  const [life, setLife] = useState(0);
  const [problem, setProblem] = useState<string | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const sec = lifetimes[life]?.sec ?? null;
    const asked = {
      role,
      ...(user === "" ? {} : role === "worker" ? { worker_id: user } : { user_id: user }),
      ...(tenant === "" ? {} : { tenant_id: tenant }),
      ...(sec === null ? {} : { expires_in_sec: sec }),
    };
    const { success, error } = tokenRequest.safeParse(asked);
    if (!success) {
      const [issue] = error.issues;
      setProblem(`${issue?.path.join(".")}: ${issue?.message}`);
      return;
    }
    try {
      const { body } = await callHub(routes.createToken, { body: asked });
      setSecret(body.token);
      setProblem(null);
      onDone();
    } catch (refusal) {
      setProblem(errorText(refusal));
    }
  };
  if (secret !== null) {
    return (
      <div className="add-worker">
        <p>This is the token of {user || role}. It is shown only now; keep it like a password.</p>
        <Command text={secret} />
      </div>
    );
  }
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <label>
        Role
        <select value={role} onChange={(event) => setRole(event.target.value as Role)}>
          {roles.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <label>
        {role === "worker" ? "Worker" : "Name"}
        <input
          value={user}
          onChange={(event) => setUser(event.target.value)}
          required
          spellCheck={false}
          autoComplete="off"
        />
      </label>
      <label>
        Tenant
        <input
          value={tenant}
          onChange={(event) => setTenant(event.target.value)}
          placeholder={role === "admin" || role === "viewer" ? "all tenants" : "default"}
          disabled={person.tenant_id !== null}
          spellCheck={false}
        />
      </label>
      <label>
        Valid
        <select value={life} onChange={(event) => setLife(Number(event.target.value))}>
          {lifetimes.map(({ label }, index) => (
            <option key={label} value={index}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {problem === null ? null : (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" className="button main">
        Make a token
      </button>
    </form>
  );
}
