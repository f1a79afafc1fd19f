/** A long list of rows of one height, of which only those in sight are drawn; moved through by pointer and arrow keys. */
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useId, useRef, useState } from "react";
import "./virtual-list.css";

interface Props {
  label: string;
  count: number;
  rowHeight: number;
  /** The chosen row, or -1. */
  chosen: number;
  onChoose: (index: number) => void;
  row: (index: number) => ReactNode;
}

/** So many rows are drawn beyond the edges, so that scrolling shows no gaps. */
const BEYOND = 8;

export function VirtualList({ label, count, rowHeight, chosen, onChoose, row }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [top, setTop] = useState(0);
  const height = useHeight(box);
  useEffect(() => {
    const element = box.current;
    if (element === null || chosen < 0) return;
    const at = chosen * rowHeight;
    const seen = at >= element.scrollTop && at + rowHeight <= element.scrollTop + element.clientHeight;
    if (!seen) element.scrollTop = at - element.clientHeight / 2;
  }, [chosen, rowHeight, height]);
  const first = Math.max(0, Math.floor(top / rowHeight) - BEYOND);
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + BEYOND);
  const onKey = (event: KeyboardEvent) => {
    const to = target(event.key, chosen, count, Math.max(1, Math.floor(height / rowHeight) - 1));
    if (to === null) return;
    event.preventDefault();
    onChoose(to);
  };
  const drawn = Array.from({ length: Math.max(0, last - first) }, (_, by) => first + by);
  return (
    <div
      ref={box}
      className="virtual"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={chosen >= first && chosen < last ? `${id}-${chosen}` : undefined}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKey}
    >
      <div className="virtual-whole" role="presentation" style={{ height: count * rowHeight }}>
        {drawn.map((index) => (
          <div
            key={index}
            id={`${id}-${index}`}
            className="virtual-row"
            role="option"
            aria-selected={index === chosen}
            aria-setsize={count}
            aria-posinset={index + 1}
            style={{ transform: `translateY(${index * rowHeight}px)`, height: rowHeight }}
            onClick={() => onChoose(index)}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}

function useHeight(box: RefObject<HTMLDivElement | null>): number {
  const [height, setHeight] = useState(600);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  return height;
}

function target(key: string, chosen: number, count: number, page: number): number | null {
  const steps: Record<string, number> = {
    ArrowDown: chosen + 1,
    ArrowUp: chosen - 1,
    PageDown: chosen + page,
    PageUp: chosen - page,
    Home: 0,
    End: count - 1,
  };
  const to = steps[key];
  return to === undefined || count === 0 ? null : Math.max(0, Math.min(count - 1, to));
}
