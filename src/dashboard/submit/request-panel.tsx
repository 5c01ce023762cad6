import { Icon } from "../parts/icon.tsx";
import { labelAt, type Problems } from "./submission.ts";

type Props = { body: unknown; problems: Problems; refusal: string | null };

/** The request that would be sent, and its problems. */
export function RequestPanel({ body, problems, refusal }: Props) {
  return (
    <div className="stack">
      <section className="panel">
        <header>
          <h2>Request</h2>
          <span className="grow">what is sent to POST /jobs</span>
        </header>
        <pre className="request mono">{JSON.stringify(body, null, 2)}</pre>
      </section>
      {problems.length > 0 ? (
        <ul className="problems" role="alert">
          {problems.map(({ path, message }) => (
            <li key={path + message}>
              <Icon name="warning" />
              <span>
                <b className="strong">{labelAt(path)}</b> {message}
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
  );
}
