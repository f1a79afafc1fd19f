/** The blocks of a workflow in the order they can run, and what leads from one to another. */
import { useId, useLayoutEffect, useMemo, useRef } from "react";
import type { Explanation } from "../api/explanation";
import { BOX, draw, type Placed } from "../model/outline";
import { modeOf } from "../model/labels";
import { ModeBadge } from "../ui/badge";

export function OutlineGraph({ explanation }: { explanation: Explanation }) {
  const drawing = useMemo(() => draw(explanation), [explanation]);
  const arrow = useId();
  const sheet = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const [first] = drawing.boxes;
    if (sheet.current === null || first === undefined) return;
    // What it begins with is in sight, also where there is much more above and below of what comes after.
    const column = drawing.boxes.filter((box) => box.x === first.x).length * (BOX.height + BOX.gapY);
    sheet.current.scrollTop = first.y - Math.max(0, (sheet.current.clientHeight - column) / 2);
  }, [drawing]);
  return (
    <div ref={sheet} className="outline" tabIndex={0} role="group" aria-label="The blocks in the order they can run">
      <div className="outline-sheet" style={{ width: drawing.width, height: drawing.height }}>
        <svg width={drawing.width} height={drawing.height} aria-hidden="true">
          <marker id={arrow} viewBox="0 0 6 6" refX="5.5" refY="3" markerWidth="6" markerHeight="6" orient="auto">
            <path d="M0 0 6 3 0 6z" className="outline-head" />
          </marker>
          {drawing.lines.map((line) => (
            <path
              key={`${line.from} ${line.to} ${line.label}`}
              d={line.path}
              className={line.back ? "outline-line outline-back" : "outline-line"}
              markerEnd={`url(#${arrow})`}
            >
              {line.label !== "" && <title>{line.label}</title>}
            </path>
          ))}
        </svg>
        {drawing.boxes.map((placed) => (
          <Box key={placed.block.id} {...placed} />
        ))}
      </div>
    </div>
  );
}

function Box({ block, x, y }: Placed) {
  const mode = modeOf(block);
  return (
    <div
      className={`outline-box outline-${mode}`}
      style={{ left: x, top: y, width: BOX.width, height: BOX.height }}
      title={block.name === block.id ? block.id : `${block.name} (${block.id})`}
    >
      <ModeBadge mode={mode} />
      <span className="outline-name">{block.name}</span>
      {block.foreach !== null && (
        <span className="outline-mark" title={`once for each of ${block.foreach.items}`}>
          ×n
        </span>
      )}
    </div>
  );
}
