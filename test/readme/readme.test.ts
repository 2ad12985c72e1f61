// The README's tour, executed.
import { describeTour } from "./tour.js";

await describeTour("README.md", { demo: true, least: 13 });
