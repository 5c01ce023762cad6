import { countLabel, useCounts } from "../hub/counts.ts";
import { mayOf, usePerson } from "../hub/session.ts";
import { Icon } from "../parts/icon.tsx";
import { isIn, navigation, openPalette } from "./navigation.ts";
import { usePageAddress } from "./router.ts";

const tabsMax = 4;

/** The navigation of a phone; what does not fit is in the palette. */
export function TabBar() {
  const address = usePageAddress();
  const counts = useCounts();
  const may = mayOf(usePerson());
  return (
    <nav className="tabbar" aria-label="Main, phone">
      {navigation(may)
        .slice(0, tabsMax)
        .map(({ path, label, icon }) => (
          <a key={path} href={path} aria-current={isIn(address, path) ? "page" : undefined}>
            <Icon name={icon} />
            {label}
            {path === "/jobs" && counts !== undefined && counts.quarantined.count > 0 ? (
              <span className="dot">
                {countLabel(counts.quarantined)}
                <span className="only-read">
                  {" "}
                  dead {counts.quarantined.count === 1 ? "letter" : "letters"}
                </span>
              </span>
            ) : null}
          </a>
        ))}
      <button type="button" onClick={openPalette}>
        <Icon name="more" />
        More
      </button>
    </nav>
  );
}
