// The recipes, executed.
import { describeTour } from "./tour.js";

await describeTour("docs/recipes.md", { demo: false, least: 10 });
