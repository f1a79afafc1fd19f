/** The title of the browser's tab. */
import { useEffect } from "react";

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · OpenSkelo`;
  }, [title]);
}
