import { useState } from "react";
import { Icon } from "../parts/icon.tsx";
import { PlainText } from "../parts/plain-text.tsx";
import { askFirst } from "../shell/confirm.tsx";

/** A picture that a job has stored: small here, and larger when it is opened. */
export function Picture({ name, src }: { name: string; src: string }) {
  const [isBroken, setBroken] = useState(false);
  if (isBroken)
    return (
      <span className="broken-picture dimmer">
        <Icon name="warning" />
        <PlainText text={name} /> is not a picture that this browser can draw
      </span>
    );
  const open = () =>
    askFirst({
      title: name,
      body: <img className="whole-picture" src={src} alt={name} />,
      acts: [],
      keep: "Close",
    });
  return (
    <button type="button" className="picture" aria-label={`Show ${name}`} title={name} onClick={open}>
      <img src={src} alt={name} loading="lazy" decoding="async" onError={() => setBroken(true)} />
    </button>
  );
}
