/** Puts a text on the clipboard, and says that it did; also where the page did not come over HTTPS. */
import { done, failed } from "./toasts";

export async function copy(text: string, words = "Copied."): Promise<void> {
  try {
    if (window.isSecureContext) await navigator.clipboard.writeText(text);
    else copySelected(text);
    done(words);
  } catch (error) {
    failed(error);
  }
}

/** The old way: browsers give a page the clipboard itself only over HTTPS or from this machine. */
function copySelected(text: string): void {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("The browser did not let this page copy anything.");
}
