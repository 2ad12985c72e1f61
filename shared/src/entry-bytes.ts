// What each file in memory counts for, beside its bytes.

/** What a kept file takes besides its bytes and name; counted because it adds up with many small ones. */
export const ENTRY_BYTES = 1024;
