/** Says that what is shown may be old, when the stream has been away for more than a moment. */
import { useEffect, useState } from "react";
import { useConnection } from "../live/hooks";
import { comeBack } from "../live/streams";
import { Button } from "../ui/button";

/** A restart of the server takes about so long; a banner that only flashes says nothing. */
const PATIENCE_MS = 1_500;

export function Banner() {
  const state = useConnection();
  const away = state === "waiting" || state === "connecting" || state === "refused";
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (!away) {
      setShown(false);
      return undefined;
    }
    const timer = setTimeout(() => setShown(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [away]);
  return (
    <div role="status">
      {shown && (
        <div className="banner">
          Connection lost. What you see may be old; it is brought up to date as soon as the server answers.
          <Button onClick={comeBack}>Try now</Button>
        </div>
      )}
    </div>
  );
}
