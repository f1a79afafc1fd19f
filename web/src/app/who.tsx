/** Who is here, and the way out where somebody has logged in. */
import { getSession, logOut } from "../api/request";
import { useAsked } from "../live/use-asked";
import { IconButton } from "../ui/button";
import { Icon } from "../ui/icon";
import { failed } from "../ui/toasts";

const ask = () => getSession();

export function Who() {
  const { value } = useAsked(ask);
  if (value === null) return null;
  return (
    <span className="who">
      <span title={`You are ${value.name}, as ${value.role}`}>{value.name}</span>
      {value.csrfToken !== null && (
        <IconButton label="Log out" onClick={() => void logOut().catch(failed)}>
          <Icon name="out" />
        </IconButton>
      )}
    </span>
  );
}
