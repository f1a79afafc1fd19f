/** The help sheet: every key that does something on this page. */
import { useLayoutEffect, useMemo, useState } from "react";
import { useStore } from "../live/use-store";
import { IconButton } from "../ui/button";
import { Dialog } from "../ui/dialog";
import { Icon } from "../ui/icon";
import { paths } from "../navigation/paths";
import { navigate } from "../navigation/router";
import { listenForKeys, type Shortcut, shortcuts, useShortcuts } from "./shortcuts";
import "./shortcut-help.css";

const GO: readonly Shortcut[] = [
  { keys: "g r", what: "Go to runs", group: "Everywhere", run: () => navigate(paths.runs()) },
  { keys: "g a", what: "Go to approvals", group: "Everywhere", run: () => navigate(paths.approvals()) },
  { keys: "n", what: "New run", group: "Everywhere", run: () => navigate(paths.start()) },
];

const itself = (value: readonly Shortcut[]) => value;

export function ShortcutHelp() {
  const [open, setOpen] = useState(false);
  const own = useMemo<readonly Shortcut[]>(
    () => [...GO, { keys: "?", what: "This sheet", group: "Everywhere", run: () => setOpen(true) }],
    [],
  );
  useShortcuts(own);
  useLayoutEffect(listenForKeys, []);
  return (
    <>
      <IconButton label="Keyboard shortcuts" className="help-button" onClick={() => setOpen(true)}>
        <Icon name="help" />
      </IconButton>
      {open && (
        <Dialog title="Keyboard shortcuts" onClose={() => setOpen(false)}>
          <Sheet />
        </Dialog>
      )}
    </>
  );
}

function Sheet() {
  const known = useStore(shortcuts, itself);
  const groups = Map.groupBy(known, (one) => one.group);
  return (
    <div className="keys">
      {[...groups].map(([group, ones]) => (
        <section key={group}>
          <h3>{group}</h3>
          <dl>
            {ones.map((one) => (
              <div key={one.keys}>
                <dt>{one.what}</dt>
                <dd>
                  {one.keys.split(" ").map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}
