/** The signed-in user, with a logout button where a login is required. */
import { logOut } from "../api/request";
import { useSession } from "../live/use-session";
import { IconButton } from "../ui/button";
import { Icon } from "../ui/icon";
import { failed } from "../ui/toasts";

export function Who() {
  const value = useSession();
  if (value === null) return null;
  return (
    <span className="who">
      <span className="who-name" title={`You are ${value.name}, as ${value.role}`}>
        {value.name}
      </span>
      {value.csrfToken !== null && (
        <IconButton label="Log out" onClick={() => void logOut().catch(failed)}>
          <Icon name="out" />
        </IconButton>
      )}
    </span>
  );
}
