// The longer tour of the query language, executed.
import { describeTour } from "./tour.js";

await describeTour("docs/tour.md", { demo: true, least: 13 });
