import { type FormEvent, useState } from "react";
import { errorText } from "../hub/call-hub.ts";
import { signIn } from "../hub/session.ts";
import { Icon, Seal } from "../parts/icon.tsx";

export function LoginPage({ why }: { why: unknown }) {
  return (
    <main className="login">
      <LoginForm why={why} />
      <div className="login-side">
        <p className="oath">
          An acknowledged job is never lost. Nothing runs that the hub did not sign. What happened can be
          proven.
        </p>
        <div className="panel proof">
          <Assurance title="Ordered" text="signed by the hub" />
          <Assurance title="Allowed" text="leased to one worker" />
          <Assurance title="Proven" text="receipt, signed" />
        </div>
        <svg className="login-mark" viewBox="0 0 24 24" aria-hidden="true">
          <use href="#brand-mark" />
        </svg>
      </div>
    </main>
  );
}

function Assurance({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <Seal kind="seal-ok" />
      <div>
        <b>{title}</b>
        <small>{text}</small>
      </div>
    </div>
  );
}

function LoginForm({ why }: { why: unknown }) {
  const [token, setToken] = useState("");
  const [isShown, setShown] = useState(false);
  const [problem, setProblem] = useState(why === undefined ? null : errorText(why));
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(token.trim());
    } catch (error) {
      setProblem(errorText(error));
    }
    setBusy(false);
  };
  const isSecure = location.protocol === "https:";
  const isHere = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
  return (
    <form className="login-form" onSubmit={(event) => void submit(event)}>
      <div className="login-fields">
        <Seal kind="brand-mark" />
        <h1>Sign in to {location.hostname}</h1>
        <p className="dim">With a token that this hub has given you.</p>
        <label htmlFor="token">Token</label>
        <div className={problem === null ? "field" : "field wrong"}>
          <input
            id="token"
            type={isShown ? "text" : "password"}
            autoComplete="current-password"
            spellCheck={false}
            placeholder="sk_…"
            required
            value={token}
            onChange={(event) => setToken(event.target.value)}
            aria-describedby="token-hint"
            aria-invalid={problem !== null}
          />
          <button type="button" className="button quiet small" onClick={() => setShown(!isShown)}>
            {isShown ? "Hide" : "Show"}
          </button>
        </div>
        {problem === null ? (
          <p id="token-hint" className="dimmer hint">
            On the hub’s machine, <span className="mono">writ open</span> makes a link that signs you in. The
            administrator’s token is in <span className="mono">admin.token</span> in the hub’s home.
          </p>
        ) : (
          <p id="token-hint" className="problem hint" role="alert">
            {problem}.
          </p>
        )}
        <button type="submit" className="button main" disabled={isBusy}>
          Sign in
        </button>
        <p className="dimmer row hint">
          <Icon name={isSecure || isHere ? "lock" : "warning"} />
          <span>
            {location.host} · {isSecure ? "encrypted" : isHere ? "on this machine" : "not encrypted"}
          </span>
        </p>
      </div>
    </form>
  );
}
