// The shape of one topic of the demo content. In every text `{x}` is the subject and `{n}` a small number.

export type TopicName =
  | "cooking"
  | "cycling"
  | "gardening"
  | "photography"
  | "reading"
  | "software"
  | "travel"
  | "workshop";

export interface Subject {
  /** A noun phrase as it stands inside a sentence. */
  readonly name: string;
  readonly tag?: string;
  /** Sentences that are true of this subject only. */
  readonly details: readonly [string, string];
}

export interface Topic {
  readonly name: TopicName;
  readonly tag: string;
  readonly subjects: readonly Subject[];
  /** Titles; `{X}` is the subject with a capital letter. */
  readonly titles: readonly string[];
  readonly openings: readonly string[];
  readonly middles: readonly string[];
  readonly closings: readonly string[];
  /** What readers of this topic say. */
  readonly remarks: readonly string[];
}
