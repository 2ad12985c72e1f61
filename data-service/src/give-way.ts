// Makes a thread give way to others when there is too little processor time.
import { getPriority, setPriority } from "node:os";

/**
 * Of the calling thread and of those that it starts, no others. Does nothing but on Linux, where alone this can be said
 * of a thread.
 * @param niceness as for nice(2), 0 to 19
 */
export function giveWay(niceness: number): void {
  if (process.platform === "linux" && getPriority() < niceness) setPriority(niceness);
}
