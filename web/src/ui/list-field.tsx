/** A list in a form: its elements one under the other, each of which can be taken out, and one more added. */
import { initial, schemaOf } from "../model/form";
import { Button, IconButton } from "./button";
import { Icon } from "./icon";
import { Field, type FieldProps } from "./schema-form";

export function ListField(props: FieldProps & { name: string }) {
  const { schema, value, onChange, pointer, disabled, name } = props;
  const items = Array.isArray(value) ? value : [];
  const inner = schemaOf(schema["items"]);
  const full = typeof schema["maxItems"] === "number" && items.length >= schema["maxItems"];
  return (
    <div className="list-field">
      {items.map((item, at) => (
        // An element has no name but its place.
        <div className="list-item" key={`${at} of ${items.length}`}>
          <Field
            {...props}
            name={`${name} ${at + 1}`}
            schema={inner}
            value={item}
            pointer={`${pointer}/${at}`}
            required
            onChange={(to) => onChange(items.map((one, index) => (index === at ? (to ?? null) : one)))}
          />
          <IconButton
            label={`Remove ${name} ${at + 1}`}
            disabled={disabled}
            onClick={() => onChange(items.filter((_, index) => index !== at))}
          >
            <Icon name="close" size={14} />
          </IconButton>
        </div>
      ))}
      <Button
        look="quiet"
        disabled={disabled || full}
        onClick={() => onChange([...items, initial(inner) ?? (inner["type"] === "string" ? "" : null)])}
      >
        <Icon name="plus" size={14} />
        Add
      </Button>
    </div>
  );
}
