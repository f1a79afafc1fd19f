/** A node, looked at closely. */
export default function Inspector({ nodeKey }: { id: string; nodeKey: string; onClose: () => void }) {
  return <aside>{nodeKey}</aside>;
}
