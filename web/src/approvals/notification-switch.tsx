/** Turns browser notifications about new approvals on and off. */
import { Button } from "../ui/button";
import { Icon } from "../ui/icon";
import { toggleNotifications, useNotificationWish, type Wish } from "./notifications";

const TEXT: Record<Wish, string> = {
  off: "Notify me",
  on: "Notifications on",
  blocked: "Notifications blocked",
  impossible: "",
};

export function NotificationSwitch() {
  const wish = useNotificationWish();
  if (wish === "impossible") return null;
  return (
    <Button
      look={wish === "on" ? "plain" : "quiet"}
      aria-pressed={wish === "on"}
      disabled={wish === "blocked"}
      title={
        wish === "blocked" ? "Your browser blocks them for this address" : "Tell me when a run asks for an approval"
      }
      onClick={() => void toggleNotifications()}
    >
      <Icon name="bell" size={14} />
      {TEXT[wish]}
    </Button>
  );
}
