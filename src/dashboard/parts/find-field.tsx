import { useRef } from "react";
import { useKeys } from "../shell/keys.ts";
import { go, usePageAddress, withQuery } from "../shell/router.ts";
import { Icon } from "./icon.tsx";

/** Filters a table while the person types; the words are in the address as `q`. */
export function FindField({ label, placeholder }: { label: string; placeholder: string }) {
  const address = usePageAddress();
  const input = useRef<HTMLInputElement>(null);
  useKeys({ "/": () => input.current?.focus() });
  return (
    <label className="find">
      <Icon name="search" />
      <input
        ref={input}
        value={address.query.get("q") ?? ""}
        placeholder={placeholder}
        aria-label={label}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => go(withQuery(address, { q: event.target.value }), { replace: true })}
        onKeyDown={(event) => {
          if (event.key === "Escape") input.current?.blur();
        }}
      />
      <kbd className="not-phone">/</kbd>
    </label>
  );
}

export function useWords(): string {
  return (usePageAddress().query.get("q") ?? "").trim().toLowerCase();
}
