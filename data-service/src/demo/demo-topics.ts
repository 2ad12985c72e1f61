// What the demo posts are about: titles, sentences and remarks by topic, written by hand and mixed by seed.
import { COOKING } from "./topics/cooking.js";
import { CYCLING } from "./topics/cycling.js";
import { GARDENING } from "./topics/gardening.js";
import { PHOTOGRAPHY } from "./topics/photography.js";
import { READING } from "./topics/reading.js";
import { SOFTWARE } from "./topics/software.js";
import type { Topic } from "./topics/topic.js";
import { TRAVEL } from "./topics/travel.js";
import { WORKSHOP } from "./topics/workshop.js";

export const TOPICS: readonly Topic[] = [
  COOKING,
  CYCLING,
  GARDENING,
  PHOTOGRAPHY,
  READING,
  SOFTWARE,
  TRAVEL,
  WORKSHOP,
];

/** Tags that fit any topic; each topic brings its own besides. */
export const GENERAL_TAGS: readonly string[] = ["beginners", "budget", "how-to", "mistakes", "notes"];

/** The colour of every tag, by name: 24 in all. */
export const TAG_COLORS: Readonly<Record<string, string>> = {
  allotment: "#5d7a3a",
  baking: "#b8763e",
  beginners: "#3b7f8c",
  bikepacking: "#8a5a44",
  books: "#6b4f7c",
  budget: "#8c7a2f",
  commuting: "#4a6fa5",
  cooking: "#b4532a",
  cycling: "#2f6f4f",
  databases: "#33658a",
  fermentation: "#7a6a2f",
  film: "#4b4b57",
  gardening: "#4f7d3a",
  "how-to": "#2e7d6b",
  mistakes: "#a63d40",
  notes: "#6c6f7d",
  photography: "#3d3d5c",
  repair: "#7d5a3c",
  software: "#2b5f9e",
  testing: "#5a7d2b",
  trains: "#8c3f3f",
  translation: "#7c5f8a",
  travel: "#1f7a8c",
  workshop: "#8a6a3b",
};
