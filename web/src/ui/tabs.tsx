/** Tabs: one of several views of the same thing, chosen by pointer or by the arrow keys. The caller draws the panel. */
import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";
import { bringInSight } from "./scroll-into-view";
import "./tabs.css";

export interface Tab<T extends string> {
  id: T;
  name: string;
  /** Shown beside the name when there are any. */
  count?: number;
}

interface Props<T extends string> {
  /** What the tabs are about, for those who do not see them. */
  label: string;
  tabs: readonly Tab<T>[];
  chosen: T;
  onChoose: (id: T) => void;
  /** Makes the ids of tabs and panels; unique on the page. */
  name: string;
}

export function Tabs<T extends string>({ label, tabs, chosen, onChoose, name }: Props<T>) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    bringInSight(list.current?.querySelector(`[data-tab="${chosen}"]`), list.current);
  }, [chosen]);
  const onKey = (event: KeyboardEvent) => {
    const next = neighbour(tabs, chosen, event.key);
    if (next === null) return;
    event.preventDefault();
    onChoose(next);
    list.current?.querySelector<HTMLElement>(`[data-tab="${next}"]`)?.focus();
  };
  return (
    <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKey}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          id={`${name}-tab-${tab.id}`}
          data-tab={tab.id}
          className="tab"
          aria-selected={tab.id === chosen}
          aria-controls={tab.id === chosen ? `${name}-panel` : undefined}
          tabIndex={tab.id === chosen ? 0 : -1}
          onClick={() => onChoose(tab.id)}
        >
          {tab.name}
          {tab.count !== undefined && tab.count > 0 && <span className="tab-count number">{tab.count}</span>}
        </button>
      ))}
    </div>
  );
}

/** The panel of the chosen tab; `name` and `chosen` are those of its tabs. */
export function TabPanel(props: { name: string; chosen: string; className?: string; children: ReactNode }) {
  const { name, chosen, className = "", children } = props;
  return (
    <div
      role="tabpanel"
      id={`${name}-panel`}
      aria-labelledby={`${name}-tab-${chosen}`}
      className={`tab-panel ${className}`}
      tabIndex={0}
    >
      {children}
    </div>
  );
}

function neighbour<T extends string>(tabs: readonly Tab<T>[], chosen: T, key: string): T | null {
  const at = tabs.findIndex((tab) => tab.id === chosen);
  const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
  const step = steps[key];
  return step === undefined ? null : (tabs[(step + tabs.length) % tabs.length]?.id ?? null);
}
