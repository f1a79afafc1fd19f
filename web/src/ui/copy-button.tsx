/** Copies a text, and says that it did. */
import { IconButton } from "./button";
import { copy } from "./clipboard";
import { Icon } from "./icon";

export function CopyButton({ text, what }: { text: () => string; what: string }) {
  return (
    <IconButton label={`Copy ${what}`} className="copy-button" onClick={() => void copy(text())}>
      <Icon name="copy" size={14} />
    </IconButton>
  );
}
