import { pageRoutes } from "../../contract/routes/page-routes.ts";
import { tokenRequest } from "../../contract/shapes/admin-shapes.ts";
import { type Role, roles } from "../../core/identity.ts";
import { callHub } from "../hub/call-hub.ts";
import type { Person } from "../hub/session.ts";
import { useStore } from "../hub/store.ts";
import { ChoiceField, type Draft, isRight, newDraft, TextField } from "../parts/form.tsx";
import { Command } from "../parts/notices.tsx";
import { askFirst } from "../shell/confirm.tsx";

const dayS = 86_400;
const lifetimes = [
  [String(30 * dayS), "30 days"],
  [String(365 * dayS), "1 year"],
  ["", "until it is revoked"],
] as const;

/** Asks who the token is for, and creates it. */
export function showGiveAccess(person: Person, onDone: () => void): void {
  const draft = newDraft({ role: "user", tenant_id: person.tenant_id ?? "", expires: lifetimes[0][0] });
  askFirst({
    title: "Give access",
    body: <AccessFields draft={draft} isBound={person.tenant_id !== null} />,
    acts: [
      {
        label: "Make a token",
        tone: "main",
        run: async () => {
          const body = wanted(draft.values.get());
          if (!isRight(draft, tokenRequest, body)) return "again";
          const { token } = (await callHub(pageRoutes.createToken, { body })).body;
          onDone();
          showSecret(token, body.worker_id ?? body.user_id ?? body.role);
          return undefined;
        },
      },
    ],
  });
}

function AccessFields({ draft, isBound }: { draft: Draft; isBound: boolean }) {
  const role = useStore(draft.values)["role"];
  const isForAll = role !== "user" && !isBound;
  return (
    <div className="form-fields">
      <ChoiceField draft={draft} name="role" label="Role" choices={roles.map((one) => [one, one])} />
      {role === "worker" ? (
        <TextField
          draft={draft}
          name="worker_id"
          label="Worker"
          placeholder="any worker"
          hint={() => "With a name, the token acts as that worker only."}
        />
      ) : (
        <TextField draft={draft} name="user_id" label="Name" placeholder="who holds it, such as ci" isFirst />
      )}
      <TextField
        draft={draft}
        name="tenant_id"
        label="Tenant"
        placeholder={isForAll ? "all tenants" : "default"}
        isFixed={isBound}
      />
      <ChoiceField draft={draft} name="expires" label="Valid" choices={lifetimes} />
      {role === "user" || role === "admin" ? (
        <p className="dim small-text">
          For jobctl on another machine, issue a certificate instead, on the hub’s machine:{" "}
          <code>writ certs issue --user NAME --out FOLDER</code>
        </p>
      ) : null}
    </div>
  );
}

type Wanted = Parameters<typeof tokenRequest.parse>[0] & {
  role: Role;
  user_id?: string;
  worker_id?: string;
  tenant_id?: string;
  expires_in_sec?: number;
};

/** Without a name the hub would give the token the administrator's, so a person's token requires one. */
function wanted(typed: Record<string, string>): Wanted {
  const text = (name: string) => (typed[name] ?? "").trim();
  const role = text("role") as Role;
  const worker = text("worker_id");
  const tenant = text("tenant_id");
  const expires = text("expires");
  return {
    role,
    ...(role === "worker" ? (worker === "" ? {} : { worker_id: worker }) : { user_id: text("user_id") }),
    ...(tenant === "" ? {} : { tenant_id: tenant }),
    ...(expires === "" ? {} : { expires_in_sec: Number(expires) }),
  };
}

/** Shows the secret, which cannot be read again. */
function showSecret(token: string, name: string): void {
  askFirst({
    title: `The token of ${name}`,
    body: (
      <>
        <p>
          It is shown <b>only now</b>: the hub keeps only its hash. Pass it on over a secure channel, and keep
          it like a password.
        </p>
        <Command text={token} />
      </>
    ),
    acts: [],
    keep: "Done",
  });
}
