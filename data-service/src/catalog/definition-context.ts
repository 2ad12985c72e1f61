// What a table definition is checked against.
import type { Catalog } from "./catalog.js";
import type { TableDefinition } from "./definition.js";

export interface DefinitionContext {
  readonly catalog: Catalog;
  readonly systemPrefix: string;
  /** Makes an id for the table, a column or a relation. */
  readonly newId: () => string;
  /** The table that the definition changes; then `catalog` is that of all others. Its members keep their ids. */
  readonly existing?: TableDefinition;
  /** New members may bring their ids along, as in a schema file. */
  readonly ownIds?: boolean;
}
