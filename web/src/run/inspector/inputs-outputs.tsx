/** What the node was given and what it gave. */
import type { Json } from "../../api/json";
import { CopyButton } from "../../ui/copy-button";
import { JsonTree } from "../../ui/json-tree";
import { Answer, Nothing, type PanelProps, Section } from "./panel";
import { useWholeNode } from "./use-node-record";

export function Data({ id, node }: PanelProps) {
  const whole = useWholeNode(id, node);
  return (
    <Answer asked={whole}>
      {(found) => (
        <>
          <Value title="Inputs" value={found.inputs ?? null} none="No inputs yet." />
          <Value title="Outputs" value={found.outputs ?? null} none="No outputs." />
        </>
      )}
    </Answer>
  );
}

function Value({ title, value, none }: { title: string; value: Json; none: string }) {
  if (value === null) {
    return (
      <Section title={title}>
        <Nothing>{none}</Nothing>
      </Section>
    );
  }
  const copy = <CopyButton text={() => JSON.stringify(value, null, 2)} what={title.toLowerCase()} />;
  return (
    <Section title={title} aside={copy}>
      <JsonTree value={value} label={title} />
    </Section>
  );
}
