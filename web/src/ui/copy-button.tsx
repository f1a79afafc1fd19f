/** Copies a text, and says that it did. */
import { IconButton } from "./button";
import { Icon } from "./icon";
import { done, failed } from "./toasts";

export function CopyButton({ text, what }: { text: () => string; what: string }) {
  return (
    <IconButton
      label={`Copy ${what}`}
      className="copy-button"
      onClick={() => void navigator.clipboard.writeText(text()).then(() => done("Copied."), failed)}
    >
      <Icon name="copy" size={14} />
    </IconButton>
  );
}
