/** One button that goes round: as the system has it, light, dark. */
import { useStore } from "../live/use-store";
import { IconButton } from "../ui/button";
import { Icon, type IconName } from "../ui/icon";
import { chooseTheme, type Theme, theme } from "./theme";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const ICONS: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };
const itself = (value: Theme) => value;

export function ThemeSwitch() {
  const chosen = useStore(theme, itself);
  return (
    <IconButton label={`Theme: ${chosen}. Change to ${NEXT[chosen]}`} onClick={() => chooseTheme(NEXT[chosen])}>
      <Icon name={ICONS[chosen]} />
    </IconButton>
  );
}
