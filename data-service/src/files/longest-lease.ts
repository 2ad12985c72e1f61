// How long content that nobody claims may be left alone: the most that UPLOAD_LEASE_SECONDS may be.

export const LONGEST_LEASE_SECONDS = 3_600;
